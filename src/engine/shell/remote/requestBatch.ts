/**
 * Batches asks of one turn to the same owner into one message, and the owner's answers of one turn into another. Each
 * is decided, refused and recognized as if it had come alone (`serveRemote.ts` is the owner's side). An owner of an
 * older program gets every ask in a message of its own. No ask waits for others: a message leaves at the end of the
 * turn.
 */
import { Effect } from "effect"
import type { OutcomeUnknown, PartitionUnavailable } from "../../errors.ts"
import { type Asking, maximumRequests, type OwnerAnswer, readSaid, unanswered, unlessReplaced } from "./ownerCalls.ts"

/** The bounds of one message. A single ask may be larger. */
const maximumAsks = 512
export const maximumTogetherBytes = 256 * 1024

/** Receives the owner's answer to an ask, or the reason why there is none. */
type Told = (said: OwnerAnswer | PartitionUnavailable | OutcomeUnknown) => void

/** The asks of one message. */
export class RequestBatch {
  readonly partition: number
  readonly epoch: number
  readonly timeoutMillis: number
  private readonly waiting = new Map<number, Told>()
  private readonly asks: Array<string> = []
  private bytes = 0

  constructor(partition: number, epoch: number, timeoutMillis: number) {
    this.partition = partition
    this.epoch = epoch
    this.timeoutMillis = timeoutMillis
  }

  get isEmpty(): boolean {
    return this.waiting.size === 0
  }

  hasRoomFor(ask: string): boolean {
    return this.asks.length < maximumAsks && this.bytes + ask.length <= maximumTogetherBytes
  }

  add(number: number, ask: string, told: Told): void {
    this.asks.push(`[${number},${ask}]`)
    this.bytes += ask.length
    this.waiting.set(number, told)
  }

  /** Drops an ask whose caller has given up. Returns whether it was still waiting. */
  forget(number: number): boolean {
    return this.waiting.delete(number)
  }

  message(instance: string): Uint8Array {
    return Buffer.from(`{"epoch":${this.epoch},"from":${JSON.stringify(instance)},"many":[${this.asks.join(",")}]}`)
  }

  settle(number: number, said: Parameters<Told>[0]): void {
    const told = this.waiting.get(number)
    this.waiting.delete(number)
    told?.(said)
  }

  settleAll(said: Parameters<Told>[0]): void {
    for (const number of [...this.waiting.keys()]) this.settle(number, said)
  }
}

/** An owner's answer to several asks. */
interface SaidMany extends OwnerAnswer {
  /** Answers without the owner's epoch, which is next to all of them. */
  readonly many?: ReadonlyArray<readonly [number: number, answer: { epoch: number }]>
}

/** Sends the collected asks, and gives each its answer. */
const send = ({ remote, traffic }: Asking, together: RequestBatch): Effect.Effect<void> =>
  Effect.suspend(() => {
    const { epoch, partition, timeoutMillis } = together
    if (together.isEmpty) return Effect.void
    /** Whether everything is answered. */
    const accept = (bytes: Uint8Array): boolean => {
      const said: SaidMany | undefined = readSaid(bytes)
      if (said === undefined || said.repeated === true) return false
      traffic.saw(partition, said)
      if (said.elsewhere === true) {
        if (said.epoch <= epoch) return false
        together.settleAll(said)
      } else if (said.epoch === epoch)
        for (const [number, answer] of said.many ?? []) {
          answer.epoch = epoch
          together.settle(number, answer)
        }
      return together.isEmpty
    }
    const request = Effect.mapError(
      remote.request(partition, together.message(traffic.instance), { timeoutMillis, accept }),
      (error) => unanswered(partition, error)
    )
    return Effect.match(unlessReplaced({ remote, traffic }, partition, epoch, request), {
      onSuccess: () => {},
      onFailure: (error) => together.settleAll(error)
    })
  })

/**
 * Adds an ask to the message that leaves for the owner of an epoch at the end of this turn; `told` gets its result,
 * once. Returns the function that gives it up, or undefined if the owner gets each ask in a message of its own, or none
 * is known, or too many wait.
 */
export const joinBatch = (
  asking: Asking,
  partition: number,
  request: object,
  timeoutMillis: number,
  told: Told
): (() => void) | undefined => {
  const { traffic } = asking
  const epoch = traffic.epochOf(partition)
  if (!traffic.takesMany(partition, epoch) || traffic.requests >= maximumRequests) return undefined
  const ask = JSON.stringify(request)
  const where = `${partition} ${epoch} ${timeoutMillis}`
  let together = traffic.leaving.get(where)
  if (together?.hasRoomFor(ask) !== true) {
    const next = new RequestBatch(partition, epoch, timeoutMillis)
    together = next
    traffic.leaving.set(where, next)
    const leave = Effect.suspend(() => {
      if (traffic.leaving.get(where) === next) traffic.leaving.delete(where)
      return send(asking, next)
    })
    Effect.runForkWith(traffic.context)(Effect.andThen(Effect.yieldNow, leave))
  }
  const [, number] = traffic.nextId()
  traffic.requests++
  together.add(number, ask, (said) => {
    traffic.requests--
    told(said)
  })
  const joined = together
  return () => {
    if (joined.forget(number)) traffic.requests--
  }
}
