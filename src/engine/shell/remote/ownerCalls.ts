/**
 * Asks an owner in another process (docs/architecture.md, "Placement"). Every process that serves a partition gets
 * every request to it, so a request names the epoch that it is meant for. Only the owner of that epoch works on it, and
 * its answer that nothing was stored is therefore true, whatever another owner did. Any other owner answers with its
 * own epoch, and the caller turns to the highest.
 */
import { Context, Duration, Effect } from "effect"
import { BoundedMap } from "../../../common/BoundedMap.ts"
import { OutcomeUnknown, Overloaded, PartitionUnavailable } from "../../errors.ts"
import { retryAfterMillis } from "../../limits.ts"
import type { Remote, RemoteUnavailable } from "../../ports/Remote.ts"
import type { EngineContext } from "../partition/EngineContext.ts"
import type { RequestBatch } from "./requestBatch.ts"

// Tracks a sender's numbered messages that have arrived, so that one that is delivered twice is accepted once. It
// remembers the latest numbers only; an older one counts as accepted. Needs no service.

/** Latest numbers that are remembered: a multiple of 32. */
export const rememberedArrivals = 65_536

export class Arrivals {
  /** A bit for each remembered number, at its place modulo their count. */
  private readonly bits = new Uint32Array(rememberedArrivals / 32)
  private highest = 0

  /** Notes a number, from 1 on. False where it came before, or is too old to tell. */
  add(number: number): boolean {
    if (number <= this.highest - rememberedArrivals) return false
    if (number > this.highest) {
      this.forget(Math.max(this.highest + 1, number - rememberedArrivals + 1), number)
      this.highest = number
    }
    const at = number % rememberedArrivals
    const bit = 1 << (at % 32)
    const word = this.bits[at >> 5]!
    if ((word & bit) !== 0) return false
    this.bits[at >> 5] = word | bit
    return true
  }

  /** Frees the places of numbers that have not come yet. */
  private forget(from: number, through: number): void {
    for (let number = from; number <= through; number++) {
      const at = number % rememberedArrivals
      this.bits[at >> 5] = this.bits[at >> 5]! & ~(1 << (at % 32))
    }
  }
}

/** How long a remote ask waits. Longer than an owner takes to report that an outcome is not known. */
export const remoteTimeoutMillis = 12_000

/** Sooner than for a partition that is away: its owner has most likely just moved. */
export const movedRetryMillis = 500

/** Requests to other processes that wait for their answers concurrently. */
export const maximumRequests = 16_384

/** Requests of other processes that this one works on concurrently, over all partitions. */
export const maximumAnswers = 16_384

/** Times that a request turns to another owner before the partition counts as being moved. */
const maximumTurns = 4

/**
 * How long a request waits until it looks for a newer owner. A frozen process still receives requests, and answers
 * none.
 */
const lookoutMillis = 1_000

/** The pause until it checks again. */
const lookPauseMillis = 250

/** Processes whose requests are recognized when they are delivered again. */
const maximumAskers = 256

/** The engine that asks, and the number of this request among its own. */
export type RequestId = readonly [instance: string, number: number]

export const monotonicMillis = (clock: EngineContext["clock"]): number => Number(clock.monotonicTimeNanosUnsafe()) / 1e6

/** The answer of an owner; the rest depends on the request. */
export interface OwnerAnswer {
  /** The epoch of the answering owner. */
  readonly epoch: number
  /** The request was meant for another epoch, and nothing was done about it. */
  readonly elsewhere?: true
  /** With `elsewhere`: how long the owner has been subscribed, in milliseconds. An older program does not say. */
  readonly forMillis?: number
  /** The request came before and is answered where it did; nothing more was done about it. */
  readonly repeated?: true
  /** The owner accepts several requests in one message (`requestBatch.ts`). An older program does not say so. */
  readonly takesMany?: true
}

/** The traffic of this process with others. */
export class RemoteTraffic {
  readonly instance: string
  readonly context: Context.Context<never>
  private sent = 0
  private readonly taken = new BoundedMap<string, Arrivals>(maximumAskers)
  /**
   * The highest epoch seen of each partition of another process, and whether its owner accepts several requests in one
   * message.
   */
  private readonly owners = new Map<number, { readonly epoch: number; readonly takesMany: boolean }>()
  /** Requests that are about to leave together, by their destination (`requestBatch.ts`). */
  readonly leaving = new Map<string, RequestBatch>()
  /** Requests that wait for answers. */
  requests = 0
  /** Requests of others in work. */
  answers = 0

  /**
   * `instance` is different for every engine ever started. `context` is for messages sent on behalf of several callers.
   */
  constructor(instance: string, context: Context.Context<never> = Context.empty()) {
    this.instance = instance
    this.context = context
  }

  /** The identity of a request when it is delivered again. */
  nextId(): RequestId {
    return [this.instance, ++this.sent]
  }

  /** Notes a request of another process. False for one that came before, or that is too old to tell. */
  isFirst([instance, number]: RequestId): boolean {
    let arrivals = this.taken.get(instance)
    if (arrivals === undefined) {
      arrivals = new Arrivals()
      this.taken.set(instance, arrivals)
    }
    return arrivals.add(number)
  }

  /** The epoch to ask; 0 while none is known. */
  epochOf(partition: number): number {
    return this.owners.get(partition)?.epoch ?? 0
  }

  /** Whether the owner of an epoch accepts several requests in one message. */
  takesMany(partition: number, epoch: number): boolean {
    const owner = this.owners.get(partition)
    return owner?.epoch === epoch && owner.takesMany
  }

  /** Notes an owner's answer. */
  saw(partition: number, { epoch, ...said }: Pick<OwnerAnswer, "epoch" | "takesMany">): void {
    const known = this.epochOf(partition)
    const takesMany = said.takesMany === true
    if (epoch > known || (epoch === known && takesMany)) this.owners.set(partition, { epoch, takesMany })
  }
}

/** Reads a request or an answer. Throws if it is not JSON. */
export const parse = (bytes: Uint8Array): unknown => JSON.parse(Buffer.from(bytes).toString("utf8"))

export const write = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value))

/** The owner's part of an answer; undefined for something else. */
export const readSaid = (bytes: Uint8Array): OwnerAnswer | undefined => {
  try {
    const said = parse(bytes) as Partial<OwnerAnswer> | null
    return typeof said?.epoch === "number" ? (said as OwnerAnswer) : undefined
  } catch {
    return undefined
  }
}

/** The means to ask another process. */
export interface Asking {
  readonly remote: Remote["Service"]
  readonly traffic: RemoteTraffic
}

/** Sends a request to the owner of an epoch. Returns its own answer, or that of a newer owner. */
const requestOf = (
  remote: Remote["Service"],
  traffic: RemoteTraffic,
  partition: number,
  request: object,
  epoch: number,
  timeoutMillis: number
): Effect.Effect<OwnerAnswer, RemoteUnavailable> => {
  let taken: OwnerAnswer | undefined
  const accept = (bytes: Uint8Array): boolean => {
    const said = readSaid(bytes)
    if (said === undefined || said.repeated === true) return false
    traffic.saw(partition, said)
    if (said.elsewhere === true ? said.epoch <= epoch : said.epoch < epoch) return false
    taken = said
    return true
  }
  return Effect.map(
    remote.request(partition, write({ ...request, epoch, id: traffic.nextId() }), { timeoutMillis, accept }),
    // `accept` has seen the answer that came.
    () => taken as OwnerAnswer
  )
}

/** Asks for the owner of a partition. */
export const askWho = (
  { remote, traffic }: Asking,
  partition: number,
  epoch: number
): Effect.Effect<OwnerAnswer, RemoteUnavailable> =>
  requestOf(remote, traffic, partition, { who: true }, epoch, lookoutMillis)

/** Completes when a newer owner than the asked one is known. */
export const newerOwner = (asking: Asking, partition: number, epoch: number): Effect.Effect<void> =>
  Effect.sleep(Duration.millis(lookoutMillis)).pipe(
    Effect.andThen(
      Effect.ignore(askWho(asking, partition, epoch)).pipe(
        Effect.andThen(
          Effect.suspend(() =>
            asking.traffic.epochOf(partition) > epoch ? Effect.void : Effect.sleep(Duration.millis(lookPauseMillis))
          )
        ),
        Effect.repeat({ until: () => asking.traffic.epochOf(partition) > epoch })
      )
    ),
    Effect.asVoid
  )

/** No process works on the request. */
const away = (partition: number, reason: string, retryAfterMillis: number) =>
  new PartitionUnavailable({ partition, reason, retryAfterMillis })

/** The error of an ask whose request had no answer. */
export const unanswered = (partition: number, { message, sent }: RemoteUnavailable) =>
  sent ? new OutcomeUnknown({ partition }) : away(partition, message, movedRetryMillis)

/** Gives a request up when a newer owner serves: then its outcome is unknown. */
export const unlessReplaced = <A, E>(
  asking: Asking,
  partition: number,
  epoch: number,
  request: Effect.Effect<A, E>
): Effect.Effect<A, E | OutcomeUnknown> =>
  Effect.raceFirst(
    request,
    Effect.andThen(newerOwner(asking, partition, epoch), Effect.fail(new OutcomeUnknown({ partition })))
  )

/**
 * Interprets an owner's answer to a request that was sent to the owner of the epoch `asked` at most this many
 * milliseconds ago.
 */
export const hear = (
  traffic: RemoteTraffic,
  partition: number,
  said: OwnerAnswer,
  asked: number,
  sinceMillis: number
): "answer" | "unknown" | "ask the newer owner" => {
  // A replaced owner may answer old data from memory.
  if (said.elsewhere !== true) return said.epoch < traffic.epochOf(partition) ? "unknown" : "answer"
  // A newer owner that was subscribed when the request was sent: the claim that ended the asked one was stored by then,
  // and nothing of the request can be. One that came later may have got a request that was long on its way, and the
  // asked one has stored it before.
  return asked !== 0 && said.forMillis !== undefined && said.forMillis <= sinceMillis
    ? "unknown"
    : "ask the newer owner"
}

/**
 * Asks the owner of a partition in another process. Fails with `PartitionUnavailable` or `Overloaded` if nothing was
 * done, and with `OutcomeUnknown` if that is uncertain.
 */
export const askOwner = (
  { clock, remote, traffic }: Pick<EngineContext, "clock" | "remote" | "traffic">,
  partition: number,
  request: object,
  timeoutMillis: number = remoteTimeoutMillis
): Effect.Effect<OwnerAnswer, PartitionUnavailable | Overloaded | OutcomeUnknown> =>
  Effect.suspend((): Effect.Effect<OwnerAnswer, PartitionUnavailable | Overloaded | OutcomeUnknown> => {
    if (remote === undefined) return Effect.fail(away(partition, "it is not placed here", retryAfterMillis))
    if (traffic.requests >= maximumRequests) return Effect.fail(new Overloaded({ partition, retryAfterMillis }))
    const asking = { remote, traffic }
    const ask = (turn: number): Effect.Effect<OwnerAnswer, PartitionUnavailable | OutcomeUnknown> => {
      if (turn === maximumTurns) return Effect.fail(away(partition, "it is being moved", movedRetryMillis))
      const asked = traffic.epochOf(partition)
      const sentAt = monotonicMillis(clock)
      const say =
        asked === 0
          ? Effect.mapError(askWho(asking, partition, asked), ({ message }) =>
              away(partition, message, movedRetryMillis)
            )
          : unlessReplaced(
              asking,
              partition,
              asked,
              Effect.mapError(requestOf(remote, traffic, partition, request, asked, timeoutMillis), (error) =>
                unanswered(partition, error)
              )
            )
      return Effect.flatMap(say, (said) => {
        const heard = hear(traffic, partition, said, asked, monotonicMillis(clock) - sentAt)
        return heard === "answer"
          ? Effect.succeed(said)
          : heard === "unknown"
            ? Effect.fail(new OutcomeUnknown({ partition }))
            : ask(turn + 1)
      })
    }
    traffic.requests++
    return Effect.onExit(ask(0), () => {
      traffic.requests--
      return Effect.void
    })
  })
