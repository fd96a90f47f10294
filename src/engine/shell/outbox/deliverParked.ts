/**
 * Messages that are parked (docs/outbox.md): with their error, those behind them at the same receiver too, and those whose receiver could not
 * be reached for long. The latter are tried again by themselves, the others by an operator. A message that is delivered twice is taken in once, so it is
 * delivered first and taken off afterwards, without a transaction that waits for its receiver.
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

/** The error of a message that is tried again by itself. */
export const waitingText = (error: AskError): string => `${waitingPrefix}${error.message}`

/** Whether the first message that is parked for a receiver may be sent again without an operator: it has not failed itself. */
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

/** How many messages from the first on are done, and why the one behind them is not; undefined where it should be sent again at once. */
export const settled = (
  delivered: ReadonlyArray<Delivered>
): { readonly done: number; readonly error: AskError | undefined } => {
  const found = delivered.findIndex((one) => !isDone(one))
  const done = found === -1 ? delivered.length : found
  const stopped = delivered[done]
  return { done, error: typeof stopped === "object" ? stopped : undefined }
}

/** Whether a message that failed so may succeed without an operator. What is out of service for now waits like what is away. */
export const isForNow = (error: AskError): boolean =>
  error.retryable ||
  error._tag === "OutcomeUnknown" ||
  error._tag === "Quarantined" ||
  error._tag === "PartitionStopped"

/** What happens in the transaction that takes records off. */
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
    // So that people see why it is parked now.
    const again = cursors.park([{ ...stopped, error: describe(error) }])
    yield* deadline(cursors.unpark([stopped], again), transactionDeadlineMillis, late)
  }
  yield* showParked(partition, outboxName)
  return { delivered, error }
})
