/**
 * Sends asks between processes: a NATS request to `ask.<partition>`, to which only owners of the partition are
 * subscribed (docs/architecture.md, "Placement"). Needs `NatsConnection`.
 */
import type { NatsConnection as Client, Msg } from "@nats-io/transport-node"
import { Duration, Effect, FiberSet, Layer, type Scope } from "effect"
import { Remote, type RemoteKind, RemoteUnavailable } from "../engine/ports/Remote.ts"
import { NatsConnection } from "./connection.ts"
import * as Requests from "./requests.ts"

/** How long a new owner waits until the server knows its subscription. */
const subscribeMillis = 1_000

/** How long a partition that goes has to answer what it was asked. */
const farewellMillis = 1_000

/** Bytes of the server's `max_payload` that are left for headers. */
const headerReserveBytes = 1024

/** The same where a server has not said it yet. */
const usualPayloadBytes = 1024 * 1024

export interface RemoteOptions {
  /** Put before the subject (`<namespace>.ask.0`), for several deployments on one account. */
  readonly namespace?: string | undefined
}

export const make = (
  client: Client,
  options: RemoteOptions = {}
): Effect.Effect<Remote["Service"], never, Scope.Scope> =>
  Effect.gen(function* () {
    const requests = yield* Requests.make(client)
    const subjectOf = (partition: number, of: RemoteKind = "asks") =>
      `${options.namespace === undefined ? "" : `${options.namespace}.`}ask.${partition}${of === "asks" ? "" : `.${of}`}`
    return Remote.of({
      maximumBytes: () => (client.info?.max_payload ?? usualPayloadBytes) - headerReserveBytes,
      request: (partition, payload, { accept, of, timeoutMillis }) =>
        requests
          .request(subjectOf(partition, of), payload, {
            timeoutMillis,
            accept: (message) => accept(message.data),
            whenDisconnected: "fail"
          })
          .pipe(
            Effect.map((message) => message.data),
            Effect.mapError(
              (cause) =>
                new RemoteUnavailable({
                  message: `the owner of partition ${partition} did not answer: ${cause.message}`,
                  sent: cause.reason === "timeout" || cause.reason === "disconnected",
                  cause
                })
            )
          ),
      serve: (partition, handle, of) =>
        Effect.gen(function* () {
          const fibers = yield* FiberSet.make<void>()
          const run = yield* FiberSet.runtime(fibers)<never>()
          const respond = (message: Msg, reply: Uint8Array) =>
            Effect.try({ try: () => message.respond(reply), catch: String }).pipe(
              Effect.catch((reason) =>
                Effect.logWarning("A reply to another process could not be sent", {
                  subject: message.subject,
                  bytes: reply.length,
                  reason
                })
              )
            )
          const answer = (message: Msg) =>
            Effect.flatMap(
              handle(message.data, (part) => void run(respond(message, part))),
              (reply) => respond(message, reply)
            )
          yield* Effect.acquireRelease(
            Effect.try({
              try: () =>
                client.subscribe(subjectOf(partition, of), {
                  callback: (error, message) => {
                    if (error === null) run(answer(message))
                  }
                }),
              // The connection is closed or about to be.
              catch: (cause) =>
                new RemoteUnavailable({
                  message: `partition ${partition} cannot be asked: ${cause instanceof Error ? cause.message : String(cause)}`,
                  sent: false,
                  cause
                })
            }),
            // Answer what the server still hands over before the subscription is gone.
            (subscription) =>
              Effect.tryPromise(() => subscription.drain()).pipe(
                Effect.andThen(FiberSet.awaitEmpty(fibers)),
                Effect.timeout(Duration.millis(farewellMillis)),
                Effect.ignore
              )
          )
          // While disconnected the client subscribes when it is connected again.
          if (requests.isConnected()) {
            yield* Effect.ignore(
              Effect.timeout(
                Effect.tryPromise(() => client.flush()),
                Duration.millis(subscribeMillis)
              )
            )
          }
        })
    })
  })

export const layer = (options: RemoteOptions = {}): Layer.Layer<Remote, never, NatsConnection> =>
  Layer.effect(
    Remote,
    Effect.flatMap(NatsConnection, ({ client }) => make(client, options))
  )
