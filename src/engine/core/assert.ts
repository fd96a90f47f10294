/**
 * Asserts the engine's assumptions, in production too. When one fails, the partition must not continue from its memory.
 */

/** An assertion about the engine's own state is false. The partition drops its memory and recovers from the log. */
export class Broken extends Error {
  override readonly name = "Broken"
}

/** Throws `Broken` with the sentence unless it holds. */
export function assert(holds: boolean, sentence: string): asserts holds {
  if (!holds) throw new Broken(sentence)
}
