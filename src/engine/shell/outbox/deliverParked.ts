/**
 * Delivers parked messages (docs/outbox.md): those that failed, those behind them at the same receiver, and those whose
 * receiver could not be reached for long. The last kind is tried again automatically, the others by an operator. A
 * message delivered twice is accepted once, so it is delivered first and removed afterwards, without a transaction that
 * waits for its receiver.
 */
import { Effect } from "effect"
import type { ActorAddress } from "../../address.ts"
import { describe } from "../../describe.ts"
import type { AskError } from "../../errors.ts"
import { maximumSentMessages, transactionDeadlineMillis } from "../../limits.ts"
import { type MessageRecord, outboxName } from "../../outbox.ts"
import { CursorsUnavailable, type ParkedRecord } from "../../ports/Cursors.ts"
import { deadline } from "../deadline.ts"
import type { Partition } from "../partition/Partition.ts"
import { lookup, showParked } from "../reactors/parkRecords.ts"
import { type Delivered, deliver, type Letter } from "../remote/deliverMessages.ts"

const behindText = "behind a parked message to its receiver"
const waitingPrefix = "waits for its receiver: "

/** The error of a message that is tried again automatically. */
export const waitingText = (error: AskError): string => `${waitingPrefix}${error.message}`

/** Whether the first parked message of a receiver may be sent again without an operator: it has not failed itself. */
export const isWaiting = ({ error }: ParkedRecord): boolean => error === behindText || error.startsWith(waitingPrefix)

/** A message as a parked record keeps it. */
interface ParkedMessage extends Omit<MessageRecord, "bytes" | "sender">, ActorAddress {
  readonly _tag: "Message"
}

/** Messages as parked records; the first one with the error, the others with theirs. */
export const parkedOf = (
  partition: Partition,
  messages: ReadonlyArray<MessageRecord>,
  errors: { readonly first: string; readonly others: string } = { first: behindText, others: behindText }
): ReadonlyArray<ParkedRecord> =>
  messages.map(({ message, now, origin, sender }, at): ParkedRecord => {
    const [, sequence, index] = origin
    const place = { partition: partition.id, reactor: outboxName, organization: message.organization, sequence, index }
    const record: ParkedMessage = { _tag: "Message", ...sender, origin, now, message }
    return { ...place, record: JSON.stringify(record), error: at === 0 ? errors.first : errors.others }
  })

/** The errors of a message that failed and of those behind it. */
export const failedWith = (error: AskError) => ({ first: describe(error), others: behindText })

const isDone = (delivered: Delivered): boolean =>
  delivered === "accepted" || delivered === "rejected" || delivered === "repeated"

/**
 * The number of finished messages from the first on, and why the next one is not; undefined if it should be sent again
 * immediately.
 */
export const settled = (
  delivered: ReadonlyArray<Delivered>
): { readonly done: number; readonly error: AskError | undefined } => {
  const found = delivered.findIndex((one) => !isDone(one))
  const done = found === -1 ? delivered.length : found
  const stopped = delivered[done]
  return { done, error: typeof stopped === "object" ? stopped : undefined }
}

/**
 * Whether a message that failed like this may succeed without an operator. A receiver out of service counts as away.
 */
export const isForNow = (error: AskError): boolean =>
  error.retryable ||
  error._tag === "OutcomeUnknown" ||
  error._tag === "Quarantined" ||
  error._tag === "PartitionStopped"

/** An effect in the transaction that removes records. */
type Alongside<E> = (records: ReadonlyArray<ParkedRecord>) => Effect.Effect<void, E>

const late = () => new CursorsUnavailable({ message: "the cursors do not answer" })

/** Delivers one receiver's parked messages in order, until none is left, one fails, or `limit` is reached. */
export const deliverParked = Effect.fnUntraced(function* <E>(
  partition: Partition,
  receiver: string,
  limit: number,
  alongside: Alongside<E>
): Effect.fn.Return<{ readonly delivered: number; readonly error: AskError | undefined }, CursorsUnavailable | E> {
  const { id, context } = partition
  const { cursors } = context
  let delivered = 0
  let error: AskError | undefined
  while (error === undefined && delivered < limit) {
    const size = Math.min(maximumSentMessages, limit - delivered)
    const records = yield* lookup(cursors.parked(id, outboxName, receiver, size))
    if (records.length === 0) break
    // They were written by this engine.
    const letters = records.map(({ record }) => JSON.parse(record) as Letter)
    const answers = yield* deliver(context, id, receiver, letters)
    const { done, error: failed } = settled(answers)
    partition.metrics.messages(letters, answers.slice(0, done))
    error = failed
    const taken = records.slice(0, done)
    if (done > 0) yield* deadline(cursors.unpark(taken, alongside(taken)), transactionDeadlineMillis, late)
    delivered += done
    const stopped = records[done]
    if (error === undefined || stopped === undefined || isForNow(error)) continue
    // Shows people why it is parked now.
    const again = cursors.park([{ ...stopped, error: describe(error) }])
    yield* deadline(cursors.unpark([stopped], again), transactionDeadlineMillis, late)
  }
  yield* showParked(partition, outboxName)
  return { delivered, error }
})
