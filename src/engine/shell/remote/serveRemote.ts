/**
 * Serves requests of other processes: a partition is subscribed to them only while it serves, and works only on those
 * that are meant for its epoch (docs/architecture.md, "Placement").
 */
import { Effect, Exit, Scope, Tracer } from "effect"
import type { AnyActor } from "../../Actor.ts"
import { describe } from "../../describe.ts"
import { type AskError, CommandInvalid, Overloaded } from "../../errors.ts"
import type { AnyLane } from "../../Lane.ts"
import { retryAfterMillis } from "../../limits.ts"
import { onceGuard } from "../../once.ts"
import type { Remote } from "../../ports/Remote.ts"
import { Wakeup } from "../../Wakeup.ts"
import { actHere } from "../operatorActs.ts"
import type { Partition, Resume } from "../partition/Partition.ts"
import { listKeys } from "../stores/listKeys.ts"
import { listOrganizations } from "../stores/listOrganizations.ts"
import { answerOf, decodeWith, encodeError, type RemoteAnswer, type RemoteRequest } from "./askRemote.ts"
import { handlePost, postOf } from "./deliverMessages.ts"
import { maximumAnswers, parse, type RequestId, write } from "./ownerCalls.ts"
import { replyText } from "./replyText.ts"
import { maximumTogetherBytes } from "./requestBatch.ts"

/** The pause before a subscription that failed is tried again. */
const subscribePauseMillis = 500

/**
 * Answers other processes while the partition serves, until the scope ends. Without a subscription local asks continue.
 */
export const serveRemote = Effect.fnUntraced(function* (remote: Remote["Service"], partition: Partition) {
  const outer = yield* Effect.scope
  const changed = new Wakeup()
  yield* Effect.acquireRelease(
    Effect.sync(() => partition.watch(() => changed.notify())),
    (stop) => Effect.sync(stop)
  )
  while (true) {
    while (partition.status._tag !== "Serving") yield* changed.wait
    const { epoch } = partition.core.head
    const subscription: Subscription = { epoch, since: undefined, remote }
    const scope = yield* Scope.fork(outer)
    const subscribed = yield* remote
      .serve(partition.id, (bytes, more) => handle(partition, subscription, bytes, more))
      .pipe(
        Scope.provide(scope),
        Effect.tapError((error) =>
          Effect.logWarning(`partition ${partition.id} cannot be asked from other processes`, error)
        ),
        Effect.isSuccess
      )
    subscription.since = partition.now().monotonic
    if (!subscribed) yield* Effect.sleep(subscribePauseMillis)
    while (subscribed && isServing(partition, epoch)) yield* changed.wait
    // It waits for answers that are due, and the next life must not wait for it.
    yield* Effect.forkIn(Scope.close(scope, Exit.void), outer)
  }
})

/** The fields of every request. */
interface Envelope {
  /** The epoch that it is meant for. */
  readonly epoch?: unknown
  readonly who?: unknown
  readonly id?: unknown
  /** Several requests, each with its number, and the engine that asks them. */
  readonly many?: unknown
  readonly from?: unknown
}

/** An older program numbers no requests. */
const isId = (id: unknown): id is RequestId =>
  Array.isArray(id) && typeof id[0] === "string" && Number.isSafeInteger(id[1]) && id[1] > 0

/** One subscription of a partition. */
interface Subscription {
  readonly epoch: number
  /** When it began, on the monotonic clock; undefined while it is being made. */
  since: number | undefined
  readonly remote: Remote["Service"]
}

const handle = (
  partition: Partition,
  { epoch, remote, since }: Subscription,
  bytes: Uint8Array,
  more: (part: Uint8Array) => void
): Effect.Effect<Uint8Array> =>
  Effect.suspend(() => {
    let request: unknown
    try {
      request = parse(bytes)
    } catch (cause) {
      return Effect.succeed(write({ epoch, error: encodeError(invalid("?", cause)) }))
    }
    const { epoch: meant, from, id, many, who } = (request ?? {}) as Envelope
    if (meant !== epoch) {
      const forMillis = since === undefined ? 0 : partition.now().monotonic - since
      return Effect.succeed(write({ epoch, elsewhere: true, forMillis, takesMany: true }))
    }
    if (who !== undefined) return Effect.succeed(write({ epoch, takesMany: true }))
    if (Array.isArray(many)) return answerMany(partition, { epoch, from: String(from), remote }, many, more)
    // Before any refusal, which would say of a request that is being worked on that nothing was done.
    if (isId(id) && !partition.context.traffic.isFirst(id)) return Effect.succeed(write({ epoch, repeated: true }))
    const refused = refusal(partition, epoch)
    if (refused !== undefined) return Effect.succeed(write({ epoch, ...refused }))
    return counted(
      partition,
      Effect.map(answer(partition, request), (said) =>
        Buffer.from(replyText(remote, partition.id, request, { ...said, epoch }))
      )
    )
  })

/** The reason why a request is refused. */
const refusal = (partition: Partition, epoch: number): RemoteAnswer | undefined => {
  // The caller may have turned to another owner meanwhile, so requests to one life are void for the next.
  if (!isServing(partition, epoch)) return { error: encodeError(partition.notServing()) }
  if (partition.context.traffic.answers < maximumAnswers) return undefined
  return { error: encodeError(new Overloaded({ partition: partition.id, retryAfterMillis })) }
}

const counted = <A>({ context: { traffic } }: Partition, answering: Effect.Effect<A>): Effect.Effect<A> => {
  traffic.answers++
  return Effect.ensuring(
    answering,
    Effect.sync(() => void traffic.answers--)
  )
}

/** Several requests of one message. */
interface Asked {
  readonly epoch: number
  /** The engine that asks. */
  readonly from: string
  readonly remote: Remote["Service"]
}

/** Answers that leave in one message. */
class Answers {
  private readonly partition: Partition
  private readonly epoch: number
  private readonly remote: Remote["Service"]
  private ready: Array<string> = []
  private isAbandoned = false
  private bytes = 0
  private readonly send: (part: Uint8Array) => void
  readonly changed = new Wakeup()
  /** Requests in work. */
  left = 0

  constructor(partition: Partition, { epoch, remote }: Asked, send: (part: Uint8Array) => void) {
    this.partition = partition
    this.epoch = epoch
    this.remote = remote
    this.send = send
  }

  /** Begins to work on a request; what is given to the function answers it, once. */
  begin(number: number, request: RemoteRequest): (said: RemoteAnswer) => void {
    this.left++
    this.partition.context.traffic.answers++
    let isAnswered = false
    return (said) => {
      if (isAnswered || this.isAbandoned) return
      isAnswered = true
      this.end()
      this.add(number, request, said)
      this.changed.notify()
    }
  }

  private end(): void {
    this.left--
    this.partition.context.traffic.answers--
  }

  add(number: number, request: RemoteRequest, said: RemoteAnswer): void {
    const text = `[${number},${replyText(this.remote, this.partition.id, request, said)}]`
    if (this.bytes > 0 && this.bytes + text.length > maximumTogetherBytes) this.send(this.take())
    this.ready.push(text)
    this.bytes += text.length
  }

  get isEmpty(): boolean {
    return this.ready.length === 0
  }

  take(): Uint8Array {
    const message = `{"epoch":${this.epoch},"many":[${this.ready.join(",")}]}`
    this.ready = []
    this.bytes = 0
    return Buffer.from(message)
  }

  /** Drops the rest, because the caller has given up. */
  abandon(): void {
    this.isAbandoned = true
    while (this.left > 0) this.end()
  }
}

/**
 * Handles several requests in one message: each is treated as if it had come alone, and answers of one turn leave
 * together.
 */
const answerMany = (
  partition: Partition,
  asked: Asked,
  many: ReadonlyArray<unknown>,
  more: (part: Uint8Array) => void
): Effect.Effect<Uint8Array> =>
  Effect.suspend(() => {
    const { epoch, from } = asked
    const answers = new Answers(partition, asked, more)
    for (const one of many) {
      if (!Array.isArray(one) || !isId([from, one[0]])) continue
      const [number, request] = one as [number, RemoteRequest]
      if (!partition.context.traffic.isFirst([from, number])) continue
      const refused = refusal(partition, epoch)
      if (refused !== undefined) answers.add(number, request, refused)
      else ask(partition, request, answers.begin(number, request))
    }
    const rest = Effect.gen(function* () {
      while (answers.left > 0) {
        yield* answers.changed.wait
        if (answers.left > 0 && !answers.isEmpty) more(answers.take())
      }
      return answers.take()
    })
    return Effect.ensuring(
      rest,
      Effect.sync(() => answers.abandon())
    )
  })

const isServing = (partition: Partition, epoch: number): boolean =>
  partition.status._tag === "Serving" && partition.core.head.epoch === epoch

const invalid = (kind: string, cause: unknown) => new CommandInvalid({ kind, reason: describe(cause) })

const answer = (partition: Partition, request: unknown): Effect.Effect<object> => {
  const post = postOf(request)
  if (post !== undefined) return handlePost(partition, post)
  const { act, asked } = request as { readonly act?: unknown; readonly asked?: unknown }
  if (typeof act === "string") return actHere(partition, act, asked)
  const payload = request as RemoteRequest
  const { keys, organizations } = payload
  if (keys !== undefined)
    return answerPage(partition, payload, (index) => listKeys(partition, payload.organization, index, keys))
  if (organizations !== undefined)
    return answerPage(partition, payload, (index) => listOrganizations(partition, index, organizations))
  return Effect.callback<RemoteAnswer>((resume) => ask(partition, payload, (said) => resume(Effect.succeed(said))))
}

/** The asked actor. Throws if it is not one of this engine's. */
const actorOf = ({ context: { registry } }: Partition, kind: string): readonly [AnyActor, number] => {
  const index = registry.actorIndex(kind)
  const actor: AnyActor | undefined = registry.actors[index]
  if (actor === undefined) throw new Error("it is not among the engine's actors")
  return [actor, index]
}

/** Asks an actor or a lane of this process, or for a state; `told` gets the answer, perhaps immediately. */
const ask = (partition: Partition, payload: RemoteRequest, told: (said: RemoteAnswer) => void): void => {
  const kind = payload?.kind ?? payload?.lane ?? "?"
  try {
    if (payload.lane === undefined) askActor(partition, payload, kind, told)
    else askLane(partition, payload, kind, told)
  } catch (cause) {
    told({ error: encodeError(invalid(kind, cause)) })
  }
}

const isSpan = (span: unknown): span is readonly [traceId: string, spanId: string] =>
  Array.isArray(span) &&
  span.length === 2 &&
  span.every((part) => typeof part === "string" && /^[0-9a-f]{16,32}$/.test(part))

const askActor = (
  partition: Partition,
  payload: RemoteRequest,
  kind: string,
  told: (said: RemoteAnswer) => void
): void => {
  const [actor, index] = actorOf(partition, kind)
  const { fresh, key, organization } = payload
  const resume: Resume = (exit) => told(answerOf(partition.id, actor, payload, exit))
  const { span } = payload
  if (partition.context.isTraced && isSpan(span))
    partition.traces.asked(resume, Tracer.externalSpan({ traceId: span[0], spanId: span[1] }))
  if (payload.state === true) {
    partition.core.intake.peek(organization, index, key, resume, partition.now())
    return
  }
  const command = decodeWith(actor, "command", payload.command)
  const guard = payload.once === undefined ? undefined : onceGuard(actor, key, payload.once)
  if (guard instanceof CommandInvalid) told({ error: encodeError(guard) })
  else partition.core.intake.offer(organization, index, key, command, resume, fresh === true, guard)
}

const askLane = (
  partition: Partition,
  payload: RemoteRequest,
  kind: string,
  told: (said: RemoteAnswer) => void
): void => {
  const { registry } = partition.context
  const laneIndex = registry.laneIndex(kind)
  const lane: AnyLane | undefined = registry.lanes[laneIndex]
  if (lane === undefined) throw new Error("it is not among the engine's lanes")
  const command = decodeWith(lane, "command", payload.command)
  const { key, organization } = payload
  const caller: Resume = (exit) => told(answerOf(partition.id, lane, payload, exit))
  const said = partition.core.intake.askLane({ organization, laneIndex, key, command, caller }, partition.now())
  if (said !== undefined) caller(said.accepted ? Exit.succeed(said.value) : Exit.fail(said.value))
}

const answerPage = (
  partition: Partition,
  payload: RemoteRequest,
  list: (actorIndex: number) => Effect.Effect<unknown, AskError>
): Effect.Effect<RemoteAnswer> =>
  Effect.suspend(() => {
    const [actor, index] = actorOf(partition, payload.kind ?? "?")
    const page = Effect.exit(list(index))
    return Effect.map(page, (exit) => answerOf(partition.id, actor, payload, exit))
  }).pipe(Effect.catchDefect((cause) => Effect.succeed({ error: encodeError(invalid(payload.kind ?? "?", cause)) })))
