/**
 * The owner's side of what crosses processes: a partition is subscribed to its requests only while it serves, and works only on those that are
 * meant for its epoch (docs/architecture.md, "Placement").
 */
import { Effect, Exit, Scope } from "effect"
import type { AnyActor } from "../Actor.ts"
import { describe } from "../describe.ts"
import { CommandInvalid, Overloaded } from "../errors.ts"
import type { AnyLane } from "../Lane.ts"
import { retryAfterMillis } from "../limits.ts"
import { onceGuard } from "../once.ts"
import type { Remote } from "../Remote.ts"
import { Wakeup } from "../Wakeup.ts"
import { actHere } from "./acting.ts"
import { handlePost, postOf } from "./delivering.ts"
import type { Partition } from "./Partition.ts"
import { maximumAnswers, parse, write } from "./remoteAnswers.ts"
import { type Answer, answerOf, decodeWith, encodeError, type Payload } from "./remoteAsk.ts"

/** The pause before a subscription that failed is tried again. */
const subscribePauseMillis = 500

/** Answers other processes while the partition serves, until the scope ends. Without a subscription local asks go on. */
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
    const scope = yield* Scope.fork(outer)
    const subscribed = yield* remote
      .serve(partition.id, (bytes) => handle(partition, epoch, bytes))
      .pipe(
        Scope.provide(scope),
        Effect.tapError((error) =>
          Effect.logWarning(`partition ${partition.id} cannot be asked from other processes`, error)
        ),
        Effect.isSuccess
      )
    if (!subscribed) yield* Effect.sleep(subscribePauseMillis)
    while (subscribed && isServing(partition, epoch)) yield* changed.wait
    // It waits for answers that are due, and the next life must not wait for it.
    yield* Effect.forkIn(Scope.close(scope, Exit.void), outer)
  }
})

const handle = (partition: Partition, epoch: number, bytes: Uint8Array): Effect.Effect<Uint8Array> =>
  Effect.suspend(() => {
    const { traffic } = partition.parts
    let request: unknown
    try {
      request = parse(bytes)
    } catch (cause) {
      return Effect.succeed(write({ epoch, error: encodeError(invalid("?", cause)) }))
    }
    const { epoch: meant, who } = (request ?? {}) as { readonly epoch?: unknown; readonly who?: unknown }
    if (meant !== epoch) return Effect.succeed(write({ epoch, elsewhere: true }))
    if (who !== undefined) return Effect.succeed(write({ epoch }))
    // The asker may have turned to another owner meanwhile, so what was asked of one life is nothing for the next.
    if (!isServing(partition, epoch))
      return Effect.succeed(write({ epoch, error: encodeError(partition.notServing()) }))
    if (traffic.answers >= maximumAnswers)
      return Effect.succeed(
        write({ epoch, error: encodeError(new Overloaded({ partition: partition.id, retryAfterMillis })) })
      )
    traffic.answers++
    return Effect.ensuring(
      Effect.map(answer(partition, request), (said) => write({ ...said, epoch })),
      Effect.sync(() => void traffic.answers--)
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
  const payload = request as Payload
  return payload.lane === undefined ? answerAsk(partition, payload) : answerLane(partition, payload, payload.lane)
}

const answerAsk = (partition: Partition, payload: Payload): Effect.Effect<Answer> => {
  const { registry } = partition.parts
  const index = registry.actorIndex(payload.kind ?? "")
  const actor: AnyActor | undefined = registry.actors[index]
  try {
    if (actor === undefined) throw new Error("it is not among the engine's actors")
    const { fresh, key, organization } = payload
    if (payload.state === true) {
      const state = Effect.callback<unknown, unknown>((resume) => partition.peek(organization, index, key, resume))
      return Effect.map(Effect.exit(state), (exit) => answerOf(partition.id, actor, payload, exit))
    }
    const command = decodeWith(actor, "command", payload.command)
    const guard = payload.once === undefined ? undefined : onceGuard(actor, key, payload.once)
    if (guard instanceof CommandInvalid) return Effect.succeed({ error: encodeError(guard) })
    const ask = Effect.callback<unknown, unknown>((resume) =>
      partition.offer(organization, index, key, command, resume, fresh === true, guard)
    )
    return Effect.map(Effect.exit(ask), (exit) => answerOf(partition.id, actor, payload, exit))
  } catch (cause) {
    return Effect.succeed({ error: encodeError(invalid(actor?.kind ?? "?", cause)) })
  }
}

const answerLane = (partition: Partition, payload: Payload, kind: string): Effect.Effect<Answer> => {
  const { registry } = partition.parts
  const laneIndex = registry.laneIndex(kind)
  const lane: AnyLane | undefined = registry.lanes[laneIndex]
  try {
    if (lane === undefined) throw new Error("it is not among the engine's lanes")
    const command = decodeWith(lane, "command", payload.command)
    const { key, organization } = payload
    const ask = Effect.callback<unknown, unknown>((resume) => {
      const said = partition.askLane({ organization, laneIndex, key, command, caller: resume })
      if (said !== undefined) resume(said.accepted ? Effect.succeed(said.value) : Effect.fail(said.value))
    })
    return Effect.map(Effect.exit(ask), (exit) => answerOf(partition.id, lane, payload, exit))
  } catch (cause) {
    return Effect.succeed({ error: encodeError(invalid(lane?.kind ?? "?", cause)) })
  }
}
