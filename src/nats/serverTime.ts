/** Reads the time of a NATS server, which it returns with the state of a stream. Needs no service. */
import type { NatsConnection as Client } from "@nats-io/transport-node"
import { Effect } from "effect"
import { streamNameOf } from "./logStream.ts"

const timeoutMillis = 1_000

/**
 * In milliseconds since the Unix epoch; undefined where the first log is not there yet, and where the server does not
 * answer.
 */
export const serverTime = (client: Client, namespace: string | undefined): Effect.Effect<number | undefined> =>
  Effect.tryPromise(async () => {
    const answer = await client.request(`$JS.API.STREAM.INFO.${streamNameOf(0, namespace)}`, "", {
      timeout: timeoutMillis
    })
    const millis = Date.parse(answer.json<{ readonly ts?: string }>().ts ?? "")
    return Number.isNaN(millis) ? undefined : millis
  }).pipe(Effect.catch(() => Effect.undefined))
