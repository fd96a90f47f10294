/**
 * How an owner in another process is asked (docs/architecture.md, "Placement"). Whoever serves a partition gets every request to it, so a request
 * names the epoch that it is meant for. Only the owner of that epoch works on it, and its word that nothing was stored is therefore true,
 * whatever another owner did. Any other owner answers with its own epoch, and the asker turns to the highest.
 */
import { Duration, Effect } from "effect"
import { OutcomeUnknown, Overloaded, PartitionUnavailable } from "../errors.ts"
import { retryAfterMillis } from "../limits.ts"
import type { EngineParts } from "../parts.ts"
import type { Remote, RemoteUnavailable } from "../Remote.ts"

/** How long a remote ask waits. Longer than an owner takes to say that an outcome is not known. */
export const remoteTimeoutMillis = 12_000

/** Sooner than for a partition that is away: its owner has most likely just moved. */
export const movedRetryMillis = 500

/** Requests to other processes that wait for their answers at once. */
export const maximumRequests = 16_384

/** Requests of other processes that this one works on at once, over all partitions. */
export const maximumAnswers = 16_384

/** How often a request turns to another owner before the partition counts as being moved. */
const maximumTurns = 4

/** How often a request that waits looks for a newer owner. A frozen process still receives requests, and answers none. */
const lookoutMillis = 1_000

/** What an owner says; the rest depends on what it was asked. */
export interface Said {
  /** The epoch of the owner that says it. */
  readonly epoch: number
  /** The request was meant for another epoch, and nothing was done about it. */
  readonly elsewhere?: true
}

/** What this process has to do with others. */
export class RemoteTraffic {
  /** The highest epoch seen of each partition of another process. */
  private readonly epochs = new Map<number, number>()
  /** Requests that wait for answers. */
  requests = 0
  /** Requests of others that are being worked on. */
  answers = 0

  /** The epoch to ask; 0 while none is known. */
  epochOf(partition: number): number {
    return this.epochs.get(partition) ?? 0
  }

  /** Notes an owner's epoch. */
  saw(partition: number, epoch: number): void {
    if (epoch > this.epochOf(partition)) this.epochs.set(partition, epoch)
  }
}

/** Reads a request or an answer. Throws on what is no JSON. */
export const parse = (bytes: Uint8Array): unknown => JSON.parse(Buffer.from(bytes).toString("utf8"))

export const write = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value))

/** What an answer says of its owner; undefined for something else. */
const readSaid = (bytes: Uint8Array): Said | undefined => {
  try {
    const said = parse(bytes) as Partial<Said> | null
    return typeof said?.epoch === "number" ? (said as Said) : undefined
  } catch {
    return undefined
  }
}

/** Sends a request to the owner of an epoch. Answers its own words, or those of a newer owner. */
const requestOf = (
  remote: Remote["Service"],
  traffic: RemoteTraffic,
  partition: number,
  request: object,
  epoch: number,
  timeoutMillis: number
): Effect.Effect<Said, RemoteUnavailable> => {
  let taken: Said | undefined
  const accept = (bytes: Uint8Array): boolean => {
    const said = readSaid(bytes)
    if (said === undefined) return false
    traffic.saw(partition, said.epoch)
    if (said.elsewhere === true ? said.epoch <= epoch : said.epoch < epoch) return false
    taken = said
    return true
  }
  return Effect.map(
    remote.request(partition, write({ ...request, epoch }), { timeoutMillis, accept }),
    // `accept` has seen the answer that came.
    () => taken as Said
  )
}

/** Completes when a newer owner than the asked one is known. */
const newerOwner = (
  remote: Remote["Service"],
  traffic: RemoteTraffic,
  partition: number,
  epoch: number
): Effect.Effect<void> =>
  Effect.sleep(Duration.millis(lookoutMillis)).pipe(
    Effect.andThen(Effect.ignore(requestOf(remote, traffic, partition, { who: true }, epoch, lookoutMillis))),
    Effect.repeat({ until: () => traffic.epochOf(partition) > epoch }),
    Effect.asVoid
  )

/**
 * Asks the owner of a partition in another process. Fails with `PartitionUnavailable` or `Overloaded` where nothing was done, and with
 * `OutcomeUnknown` where that is not sure.
 */
export const askOwner = Effect.fnUntraced(function* (
  { remote, traffic }: Pick<EngineParts, "remote" | "traffic">,
  partition: number,
  request: object,
  timeoutMillis: number = remoteTimeoutMillis
): Effect.fn.Return<Said, PartitionUnavailable | Overloaded | OutcomeUnknown> {
  const away = (reason: string, retryAfterMillis: number) =>
    new PartitionUnavailable({ partition, reason, retryAfterMillis })
  if (remote === undefined) return yield* away("it is not placed here", retryAfterMillis)
  if (traffic.requests >= maximumRequests) return yield* new Overloaded({ partition, retryAfterMillis })
  const unknown = new OutcomeUnknown({ partition })
  const nobody = (error: RemoteUnavailable) => away(error.message, movedRetryMillis)
  const say = (epoch: number): Effect.Effect<Said, PartitionUnavailable | OutcomeUnknown> =>
    epoch === 0
      ? Effect.mapError(requestOf(remote, traffic, partition, { who: true }, epoch, lookoutMillis), nobody)
      : Effect.raceFirst(
          Effect.mapError(requestOf(remote, traffic, partition, request, epoch, timeoutMillis), (error) =>
            error.sent ? unknown : nobody(error)
          ),
          Effect.andThen(newerOwner(remote, traffic, partition, epoch), Effect.fail(unknown))
        )
  const ask = Effect.gen(function* () {
    for (let turn = 0; turn < maximumTurns; turn++) {
      const said = yield* say(traffic.epochOf(partition))
      // A newer owner was subscribed when the request was sent. So the claim that ended the asked one was stored by then, and nothing of the
      // request can be.
      if (said.elsewhere === true) continue
      // What a replaced owner says from memory may be old.
      if (said.epoch < traffic.epochOf(partition)) return yield* unknown
      return said
    }
    return yield* away("it is being moved", movedRetryMillis)
  })
  traffic.requests++
  return yield* Effect.ensuring(
    ask,
    Effect.sync(() => void traffic.requests--)
  )
})
