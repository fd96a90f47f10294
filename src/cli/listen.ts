/**
 * Implements `sluice listen --forward-to URL`: follows the organization's events and posts each, signed like a
 * delivery, to a local address, for developing a receiver. The signing secret is derived from the key, so it stays the
 * same from run to run. After a lost connection the command reconnects and continues after the last event.
 */
import { createHash } from "node:crypto"
import { Clock, Console, Data, Duration, Effect, Option, Redacted, Result, Stream } from "effect"
import { Command, Flag } from "effect/cli"
import { FetchHttpClient, HttpClientError } from "effect/http"
import { make as makeClient } from "../api/client.ts"
import { Pauses } from "../common/backoff.ts"
import type { Config } from "../config/settings.ts"
import { findRunning } from "../embedded/dataFolder.ts"
import { type Event, encodeEvent, parsePatterns } from "../events/index.ts"
import { deliveryHeaders, secretPrefix } from "../webhooks/secret/signature.ts"
import { configuration, settingFlags } from "./flags.ts"
import { explained } from "./output.ts"

/** How long the receiver may take, as for a delivery. */
const forwardTimeoutMillis = 15_000

/** Most events in transit to the receiver. */
const forwardConcurrency = 8

const firstPauseMillis = 500
const lastPauseMillis = 10_000

/** The command lacks an argument that it needs. */
export class ListenRefused extends Data.TaggedError("ListenRefused")<{ readonly message: string }> {}

const refuse = (message: string) => Effect.fail(new ListenRefused({ message }))

/**
 * Derives a signing secret from a key. A holder of the key can derive the secret, but the secret tells nothing about
 * the key.
 */
const secretOf = (key: Redacted.Redacted<string>): string =>
  secretPrefix +
  createHash("sha256")
    .update(`sluice listen ${Redacted.value(key)}`)
    .digest("base64")

const clock = (millis: number): string => new Date(millis).toISOString().slice(11, 19).concat("Z")

/** Posts an event and prints a line about it. */
const forward = Effect.fnUntraced(function* (to: URL, secret: string, event: Event) {
  const rawBody = encodeEvent(event)
  const startedAt = yield* Clock.currentTimeMillis
  const headers = deliveryHeaders({ eventId: event.eventId, nowMillis: startedAt, rawBody, secrets: [secret] })
  const outcome = yield* Effect.tryPromise(async (signal) => {
    const timeout = AbortSignal.timeout(forwardTimeoutMillis)
    const response = await fetch(to, {
      method: "POST",
      headers,
      body: rawBody,
      redirect: "manual",
      signal: AbortSignal.any([signal, timeout])
    })
    await response.body?.cancel()
    return String(response.status)
  }).pipe(
    Effect.catch(({ cause }) => {
      const reason =
        cause instanceof Error ? ((cause.cause as NodeJS.ErrnoException | undefined)?.code ?? cause.name) : ""
      return Effect.succeed(reason === "TimeoutError" ? "no answer in time" : `failed (${reason})`)
    })
  )
  const millis = (yield* Clock.currentTimeMillis) - startedAt
  yield* Console.log(`${clock(startedAt)}  ${outcome}  ${millis} ms  ${event.type}  ${event.eventId}`)
})

/** The platform's address: the configured one, else that of the platform in the data folder. */
const addressOf = Effect.fnUntraced(function* (config: Config) {
  if (config.apiUrl !== undefined) return config.apiUrl
  const running = yield* findRunning(config.dataDir)
  return Option.isSome(running)
    ? running.value.apiUrl
    : yield* refuse("No platform is running in the data folder; name one with --url or SLUICE_API_URL.")
})

/**
 * Whether another attempt makes sense: the platform was not reached, is not ready, or the stream broke off. Any other
 * error is a refusal.
 */
const isPassing = (error: unknown): boolean => {
  if (HttpClientError.isHttpClientError(error)) return true
  const tag = typeof error === "object" && error !== null && "_tag" in error ? error._tag : undefined
  return tag === "EnvelopeUnavailable" || tag === "EnvelopeRateLimited" || tag === "EnvelopeInternalError"
}

const run = Effect.fnUntraced(function* (
  config: Config,
  given: { readonly forwardTo: string; readonly events: string; readonly apiKey: string | undefined }
) {
  const key = given.apiKey === undefined ? config.apiKey : Redacted.make(given.apiKey)
  if (key === undefined) return yield* refuse("A key is needed to read events: give --api-key or set SLUICE_API_KEY.")
  const to = URL.parse(given.forwardTo)
  if (to === null || !/^https?:$/.test(to.protocol)) {
    return yield* refuse(`--forward-to must be an address such as http://localhost:3000/hook, not ${given.forwardTo}`)
  }
  const patterns = parsePatterns(given.events.split(",").map((pattern) => pattern.trim()))
  if (Result.isFailure(patterns)) return yield* patterns.failure
  const types = given.events.replaceAll(/\s/g, "")
  const baseUrl = yield* addressOf(config)
  const client = yield* makeClient({ baseUrl, apiKey: key })
  const secret = secretOf(key)

  let last: string | undefined
  const pauses = new Pauses(firstPauseMillis, lastPauseMillis)
  let connected = false
  let lost = false
  const once = Effect.gen(function* () {
    const events = yield* client.events.stream({
      query: { types },
      headers: last === undefined ? {} : { "last-event-id": last }
    })
    if (!connected) yield* Console.error(`Ready: forwarding ${types} to ${to.href}\nSigning secret ${secret}`)
    connected = true
    if (lost) yield* Console.error("Connected again.")
    lost = false
    pauses.reset()
    yield* events.pipe(
      Stream.tap((event) => Effect.sync(() => (last = event.eventId))),
      Stream.mapEffect((event) => forward(to, secret, event), { concurrency: forwardConcurrency, unordered: true }),
      Stream.runDrain
    )
  })
  while (true) {
    const result = yield* Effect.result(once)
    if (Result.isFailure(result)) {
      // Before the first connection an error is most likely a wrong address, so report it immediately.
      if (!connected || !isPassing(result.failure)) return yield* Effect.fail(result.failure)
      if (!lost) yield* Console.error("The connection to the platform is lost; trying again …")
      lost = true
    }
    yield* Effect.sleep(Duration.millis(pauses.afterFailure()))
  }
})

export const listen = Command.make(
  "listen",
  {
    forwardTo: Flag.String("forward-to").pipe(
      Flag.withDescription("Where events are posted, such as http://localhost:3000/hook")
    ),
    events: Flag.String("events").pipe(
      Flag.withDescription("Patterns of event types, separated by commas, such as 'telco.*'"),
      Flag.withDefault("*")
    ),
    apiKey: Flag.String("api-key").pipe(
      Flag.withDescription("Key of the organization, with platform:events:read; better in SLUICE_API_KEY"),
      Flag.optional
    ),
    apiUrl: Flag.String("url").pipe(
      Flag.withDescription("Where the platform's API listens; SLUICE_API_URL"),
      Flag.optional
    ),
    dataDir: settingFlags.dataDir
  },
  ({ apiKey, apiUrl, dataDir, events, forwardTo }) =>
    Effect.flatMap(configuration({ apiUrl, dataDir }), (config) =>
      explained(
        run(config, { forwardTo, events, apiKey: Option.getOrUndefined(apiKey) }).pipe(
          Effect.provide(FetchHttpClient.layer)
        )
      )
    )
).pipe(Command.withDescription("Forward the organization's events to a local address, signed, as they come"))
