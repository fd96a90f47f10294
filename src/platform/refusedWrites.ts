/**
 * Tracks NATS stores that refuse writes although they answer: their disk was full, or failed. nats-server says so once
 * or not at all, and then answers reads of such a stream alone. It does not reopen the stream before it is restarted, so
 * room alone does not repair it. Pure: the time is an argument. Needs
 * nothing.
 */
import type { PublishAnswer } from "../engine/ports/Journal.ts"

/** How long a store must have refused before it counts: a single answer may be one of a server that stops. */
export const countsAfterMillis = 5_000

/**
 * The same for a store that gives no answer to writes, and answers reads: a write may wait for a slow disk.
 */
export const silentCountsAfterMillis = 15_000

/** After this time without a further attempt nothing is known of a store any more. */
const forgottenAfterMillis = 180_000

/** The number of the server's failures to store, at the end of its text, and the words of its storage. */
const storageFailure = /, 10077\)$|write error|no space left|input\/output error|read-only file system/i

/** The server's text if it has refused to store; undefined for every other answer. */
export const refusedToStore = (answer: PublishAnswer): string | undefined =>
  answer._tag === "Refused" && storageFailure.test(answer.message) ? answer.message : undefined

/** The state of a store since it stored nothing. */
interface Refusing {
  readonly sinceMillis: number
  readonly lastMillis: number
  readonly message: string
  /** The end of the log, where the store gives no answer; undefined where it says that it refuses. */
  readonly lastSequence: number | undefined
}

/** nats-server does not answer once it has met a failed write of a stream. */
const silent = "it answers reads, and no write"

/** The refusing stores, with the beginning and the last text. */
export class RefusedWrites {
  private readonly stores = new Map<string, Refusing>()
  /** Stores whose last write got no answer. */
  private readonly unanswered = new Set<string>()

  /** Notes an answer to a write. Only a stored frame proves that a store accepts frames again. */
  note(store: string, answer: PublishAnswer, nowMillis: number): void {
    const message = refusedToStore(answer)
    if (answer._tag === "NoAnswer" && answer.reason === "timeout") this.unanswered.add(store)
    else this.unanswered.delete(store)
    if (answer._tag === "Acked") this.stores.delete(store)
    else if (message !== undefined) this.set(store, message, undefined, nowMillis)
  }

  /** Notes that a read was answered with the log's end. Behind a write without an answer it shows what came of that. */
  read(store: string, lastSequence: number, nowMillis: number): void {
    const before = this.stores.get(store)?.lastSequence
    if (before !== undefined && lastSequence > before) this.stores.delete(store)
    else if (this.unanswered.has(store)) this.set(store, silent, lastSequence, nowMillis)
  }

  /** The fault, for people; undefined while there is none, or not for long enough. */
  finding(nowMillis: number): string | undefined {
    const lasting = this.lasting(nowMillis)
    const [first] = lasting
    if (first === undefined) return undefined
    const sinceMillis = Math.min(...lasting.map(([, one]) => one.sinceMillis))
    return `NATS refuses writes for ${Math.round((nowMillis - sinceMillis) / 1_000)} s, of ${lasting.length === 1 ? first[0] : `${lasting.length} logs`} (${first[1].message}). Make room on its disk, then restart nats-server: it does not take writes again by itself`
  }

  /** How many stores refuse, as far as is known. */
  count(nowMillis: number): number {
    return this.lasting(nowMillis, 0).length
  }

  private set(store: string, message: string, lastSequence: number | undefined, nowMillis: number): void {
    const sinceMillis = this.stores.get(store)?.sinceMillis ?? nowMillis
    this.stores.set(store, { sinceMillis, lastMillis: nowMillis, message, lastSequence })
  }

  private lasting(nowMillis: number, refusedMillis = countsAfterMillis): ReadonlyArray<[string, Refusing]> {
    if (this.stores.size === 0) return []
    return [...this.stores].filter(
      ([, { lastMillis, lastSequence, sinceMillis }]) =>
        nowMillis - lastMillis < forgottenAfterMillis &&
        nowMillis - sinceMillis >= (lastSequence === undefined ? refusedMillis : silentCountsAfterMillis)
    )
  }
}
