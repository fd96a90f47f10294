/**
 * Tracks NATS stores that refuse writes although they answer: their disk was full, or failed. nats-server does not
 * reopen such a stream before it is restarted, so room alone does not repair it. Pure: the time is an argument. Needs
 * nothing.
 */
import type { PublishAnswer } from "../engine/ports/Journal.ts"

/** How long a store must have refused before it counts: a single answer may be one of a server that stops. */
export const countsAfterMillis = 5_000

/** The number of the server's failures to store, at the end of its text, and the words of its storage. */
const storageFailure = /, 10077\)$|write error|no space left|input\/output error|read-only file system/i

/** The server's text if it has refused to store; undefined for every other answer. */
export const refusedToStore = (answer: PublishAnswer): string | undefined =>
  answer._tag === "Refused" && storageFailure.test(answer.message) ? answer.message : undefined

/** The refusing stores, with the beginning and the last text. */
export class RefusedWrites {
  private readonly stores = new Map<string, { readonly sinceMillis: number; message: string }>()

  /** Notes an answer. Only a stored frame proves that a store accepts frames again. */
  note(store: string, answer: PublishAnswer, nowMillis: number): void {
    const message = refusedToStore(answer)
    if (answer._tag === "Acked") this.stores.delete(store)
    else if (message !== undefined) {
      const known = this.stores.get(store)
      if (known === undefined) this.stores.set(store, { sinceMillis: nowMillis, message })
      else known.message = message
    }
  }

  /** The fault, for people; undefined while there is none, or not for long enough. */
  finding(nowMillis: number): string | undefined {
    const lasting = [...this.stores].filter(([, { sinceMillis }]) => nowMillis - sinceMillis >= countsAfterMillis)
    const [first] = lasting
    if (first === undefined) return undefined
    const sinceMillis = Math.min(...lasting.map(([, one]) => one.sinceMillis))
    return `NATS refuses writes for ${Math.round((nowMillis - sinceMillis) / 1_000)} s, of ${lasting.length === 1 ? first[0] : `${lasting.length} logs`} (${first[1].message}). Make room on its disk, then restart nats-server: it does not take writes again by itself`
  }

  get count(): number {
    return this.stores.size
  }
}
