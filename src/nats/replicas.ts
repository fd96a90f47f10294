/**
 * Raises the number of copies of a deployment's streams that were created when there was one NATS server
 * (docs/cluster.md). Needs a connection to the servers, which continue meanwhile: the leader copies a stream to the
 * others while it takes frames.
 */
import type { NatsConnection as Client } from "@nats-io/transport-node"
import { Duration, Effect, Schedule } from "effect"
import * as Api from "./jetStreamApi.ts"
import { streamNameOf } from "./logStream.ts"
import * as Requests from "./requests.ts"

/** The fewest servers that keep a stream through the loss of one. */
export const clusterReplicas = 3

/** The result for a stream. */
export interface RaisedStream {
  readonly stream: string
  readonly from: number
  readonly to: number
  /**
   * Whether every copy holds what the leader does. Until then the loss of the leader's server can be the loss of the
   * stream.
   */
  readonly isComplete: boolean
}

/** How often a server that elects a leader is asked again, and the pause between. */
const attempts = 20
const pauseMillis = 500

/** How often a stream that is being copied is looked at: for half an hour, at the pause above. */
const maximumLooks = 3_600

/** Whether that number of copies is up to date with the leader. */
const isComplete = ({ cluster }: Api.StreamInfo, replicas: number): boolean =>
  (cluster?.replicas ?? []).filter(({ current, offline }) => current && offline !== true).length >= replicas - 1

/** All streams of a deployment: its logs, external signals and contents of emails, in this order. */
export const streamsOf = (partitions: number, namespace: string | undefined): ReadonlyArray<string> => [
  ...Array.from({ length: partitions }, (_, partition) => streamNameOf(partition, namespace)),
  ...["signals", "contents"].map((name) => (namespace === undefined ? name : `${namespace}-${name}`))
]

/**
 * Gives every stream that has fewer copies this many, and waits until they are complete; streams that are not there are
 * passed over. Answers what was changed, and what was begun before and is not complete yet.
 */
export const raiseReplicas = (
  client: Client,
  {
    namespace,
    partitions,
    replicas
  }: { readonly namespace: string | undefined; readonly partitions: number; readonly replicas: number }
): Effect.Effect<ReadonlyArray<RaisedStream>, Requests.RequestFailed | Api.ApiRefused> =>
  Effect.scoped(
    Effect.gen(function* () {
      const api = Api.make(yield* Requests.make(client))
      const raised: Array<RaisedStream> = []
      const patiently = <A>(effect: Effect.Effect<A, Requests.RequestFailed | Api.ApiRefused>) =>
        Effect.retry(effect, {
          while: (error) => error._tag === "RequestFailed" || !Api.isTerminal(error),
          schedule: Schedule.spaced(Duration.millis(pauseMillis)),
          times: attempts
        })
      for (const stream of streamsOf(partitions, namespace)) {
        const found = yield* patiently(api.streamInfo(stream)).pipe(
          Effect.catchIf(
            (error) => error._tag === "ApiRefused" && error.errorCode === Api.errorCodes.streamNotFound,
            () => Effect.undefined
          )
        )
        if (found === undefined) continue
        const from = found.config.num_replicas
        if (from >= replicas && isComplete(found, replicas)) continue
        if (from < replicas) yield* patiently(api.updateStream({ ...found.config, num_replicas: replicas }))
        // One after the other, so that the servers copy one stream at a time.
        let isDone = false
        for (let looks = 0; looks < maximumLooks && !isDone; looks++) {
          if (looks > 0) yield* Effect.sleep(Duration.millis(pauseMillis))
          isDone = isComplete(yield* patiently(api.streamInfo(stream)), replicas)
        }
        raised.push({ stream, from, to: replicas, isComplete: isDone })
      }
      return raised
    })
  )

/** Whether the server belongs to a cluster that can keep three copies. */
export const isClustered = ({ info }: Client): boolean =>
  info?.cluster !== undefined && (info.connect_urls?.length ?? 0) >= clusterReplicas
