/**
 * Serves operators' acts on a partition that another process has and does not serve: a partition that has stopped, or
 * waits for its clock, cannot be asked for decisions, and that is when an operator inspects it. Only the process that
 * has the partition, confirmed by placement, answers.
 */
import { Effect } from "effect"
import type { Remote } from "../../ports/Remote.ts"
import { actHere, type Done } from "../operatorActs.ts"
import { ownsNow } from "../ownsNow.ts"
import type { EngineContext } from "../partition/EngineContext.ts"
import type { Partition } from "../partition/Partition.ts"
import { parse, remoteTimeoutMillis, write } from "./ownerCalls.ts"
import { replyText } from "./replyText.ts"

/** The pause before a subscription that failed is tried again. */
const subscribePauseMillis = 1_000

/** Answers operators for as long as the partition is in this process. */
export const serveOperators = (remote: Remote["Service"], partition: Partition) => {
  const handle = (bytes: Uint8Array): Effect.Effect<Uint8Array> =>
    Effect.gen(function* () {
      const request = parse(bytes) as { readonly act?: unknown; readonly asked?: unknown }
      if (partition.status._tag === "Closed" || (yield* ownsNow(partition)) !== true) return write({})
      const done = yield* actHere(partition, String(request.act), request.asked)
      return Buffer.from(replyText(remote, partition.id, { act: String(request.act) }, done))
    }).pipe(Effect.catchDefect(() => Effect.succeed(write({}))))
  const subscribe: ReturnType<typeof remote.serve> = Effect.catch(remote.serve(partition.id, handle, "operators"), () =>
    Effect.andThen(
      Effect.sleep(subscribePauseMillis),
      Effect.suspend(() => subscribe)
    )
  )
  return Effect.andThen(subscribe, Effect.never)
}

/** Asks the process that has a partition; undefined if none answers. */
export const askHolder = (
  { remote }: Pick<EngineContext, "remote">,
  partition: number,
  act: string,
  asked: unknown
): Effect.Effect<Done | undefined> => {
  if (remote === undefined) return Effect.succeed(undefined)
  const read = (bytes: Uint8Array): Done | undefined => {
    try {
      const done = parse(bytes) as Done
      return "done" in done || "refused" in done ? done : undefined
    } catch {
      return undefined
    }
  }
  const accept = (bytes: Uint8Array) => read(bytes) !== undefined
  const request = remote.request(partition, write({ act, asked }), {
    timeoutMillis: remoteTimeoutMillis,
    accept,
    of: "operators"
  })
  return Effect.match(request, { onSuccess: read, onFailure: () => undefined })
}
