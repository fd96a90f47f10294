/** Talk's endpoints on a listener of their own, with the engine in memory, keys that are their own names, and the events that were stored. */
import { Effect, Layer, Logger, ManagedRuntime } from "effect"
import { HttpServer } from "effect/http"
import { afterAll, beforeAll } from "vitest"
import * as Engine from "../../src/engine/Engine.ts"
import { type Event, eventOf } from "../../src/events/index.ts"
import { baseApi } from "../../src/http/baseApi.ts"
import { layerServer } from "../../src/http/server.ts"
import { Authentication } from "../../src/platform/Authentication.ts"
import { layerTalkAccess } from "../../src/platform/layerAccess.ts"
import type { Principal } from "../../src/platform/model.ts"
import { RequestRate } from "../../src/platform/RequestRate.ts"
import type { SpeechEngine } from "../../src/talk/SpeechEngine.ts"
import { Talk } from "../../src/talk/Talk.ts"
import { TalkActor } from "../../src/talk/TalkActor.ts"
import { TalkApi } from "../../src/talk/talkApi.ts"
import { layerTalk } from "../../src/talk/talkHttp.ts"

const principal = (keyId: string, more: Partial<Principal> = {}): Principal => ({
  keyId,
  organizationId: "org_1",
  mode: "live",
  plan: "team",
  sendPlan: "hobby",
  services: new Set(["talk"]),
  scopes: new Set(["talk:*"]),
  expiresAtMillis: null,
  ...more
})

/** Keys by their text. */
const principals: Readonly<Record<string, Principal>> = {
  good: principal("good"),
  test: principal("test", { mode: "test" }),
  other: principal("other", { organizationId: "org_2" }),
  third: principal("third", { organizationId: "org_3" }),
  speech: principal("speech", { scopes: new Set(["talk:speech"]) }),
  all: principal("all", { scopes: new Set(["*"]) }),
  unscoped: principal("unscoped", { scopes: new Set() }),
  telco: principal("telco", { services: new Set(["telco"]), scopes: new Set(["*"]) })
}

const layerKeys = Layer.mergeAll(
  Layer.succeed(
    Authentication,
    Authentication.of({
      verifyWarm: (key) => principals[key] ?? null,
      verify: (key) => Effect.succeed(principals[key] ?? null),
      forget: () => {}
    })
  ),
  // Every request passes uncounted.
  Layer.succeed(RequestRate, RequestRate.of({ take: () => undefined, look: () => undefined }))
)

export interface Spoken {
  readonly status: number
  readonly headers: Headers
  readonly bytes: Buffer
  /** The body of an error. */
  readonly json: () => unknown
}

export interface TalkServer {
  readonly url: string
  /** What was stored, oldest first. */
  readonly events: ReadonlyArray<Event>
  readonly ask: (path: string, init?: RequestInit & { readonly key?: string }) => Promise<Spoken>
  /** Speaks with the key `good`, unless another one is given. */
  readonly speak: (body: unknown, init?: RequestInit & { readonly key?: string }) => Promise<Spoken>
}

/** Asks with a key as bearer, none where it is empty. */
const ask =
  (url: string): TalkServer["ask"] =>
  async (path, { headers, key = "good", ...init } = {}) => {
    const all = new Headers(headers)
    if (key !== "") all.set("authorization", `Bearer ${key}`)
    const response = await fetch(`${url}${path}`, { ...init, headers: all })
    const bytes = Buffer.from(await response.arrayBuffer())
    return { status: response.status, headers: response.headers, bytes, json: () => JSON.parse(bytes.toString()) }
  }

export const speechInit = (body: unknown): RequestInit => ({
  method: "POST",
  headers: { "content-type": "application/json" },
  body: typeof body === "string" ? body : JSON.stringify(body)
})

/** Starts it for the tests of a file; to be asked for inside tests and hooks only. */
export const useTalkServer = (speechEngine: () => Layer.Layer<SpeechEngine>): (() => TalkServer) => {
  let server: TalkServer | undefined
  let stop: () => Promise<void> = async () => {}
  beforeAll(async () => {
    const events: Array<Event> = []
    const follower = {
      name: "follower",
      handle: (records: ReadonlyArray<Parameters<typeof eventOf>[0] & { readonly _tag?: string }>) =>
        Effect.sync(() => {
          for (const record of records) if (record._tag === "Event") events.push(eventOf(record))
        })
    }
    const options = { host: "127.0.0.1", port: 0, maxBodyBytes: 262_144, accessLog: false, failureLog: false }
    const runtime = ManagedRuntime.make(
      layerServer(baseApi.add(TalkApi), options).pipe(
        Layer.provide(layerTalk),
        Layer.provide(layerTalkAccess),
        Layer.provide(Talk.layer),
        Layer.provide(speechEngine()),
        // The follower reads only events, which are the records that `eventOf` takes.
        Layer.provide(Engine.layerMemory({ actors: [TalkActor], reactors: [follower as never] })),
        Layer.provide(layerKeys),
        Layer.provide(Logger.layer([]))
      )
    )
    stop = () => runtime.dispose()
    const { address } = await runtime.runPromise(HttpServer.HttpServer)
    const url = HttpServer.formatAddress(address)
    const asked = ask(url)
    const speak: TalkServer["speak"] = (body, init) => {
      return asked("/v1/talk/speech", { ...speechInit(body), ...init })
    }
    server = { url, events, ask: asked, speak }
  })
  afterAll(() => stop())
  return () => server!
}
