/**
 * The whole platform with a receiver, for tests that see events delivered: `sluice serve` on the run's servers, with short waits and a short time
 * for answers, organizations of each test's own, and looks at what was delivered.
 */
import { randomBytes, randomUUID } from "node:crypto"
import { Effect, Exit, Scope } from "effect"
import { afterAll, beforeAll, expect, inject, vi } from "vitest"
import { useDatabases, useFolders } from "../cli/support.ts"
import { adminUrlOf } from "../http/harness.ts"
import { patienceMillis } from "../support/patience.ts"
import { type Platform, startPlatform } from "../support/platform.ts"
import { type Ask, askAt } from "./platform.ts"
import { type Received, type Receiver, startReceiver } from "./receiver.ts"

/** The waits before the retries, and how long an endpoint has for its answer. */
export const retryDelaysMillis = [20, 40, 60, 80, 100]
export const timeoutMillis = 2_000

/** On a machine that does much else. */
const patience = { timeout: patienceMillis, interval: 20 }

/** Returns what the look answers once it throws no more. */
export const eventually = <A>(look: () => A | Promise<A>): Promise<A> => vi.waitFor(look, patience)

export interface ShownEvent {
  readonly eventId: string
  readonly type: string
  readonly createdAt: number
  readonly data: Readonly<Record<string, unknown>>
}

export interface ShownEndpoint {
  readonly id: string
  readonly is_active: boolean
  readonly is_paused: boolean
  readonly consecutive_failures: number
  readonly last_delivery_at: number | null
  readonly last_delivery_status: number | null
  readonly pending: number
  readonly oldest_pending_at: number | null
}

export interface ShownDelivery {
  readonly id: string
  readonly eventId: string
  readonly eventType: string
  readonly origin: string
  readonly status: string
  readonly attemptCount: number
  readonly nextAttemptAt: number | null
  readonly attempts: ReadonlyArray<{
    readonly at: number
    readonly status: number
    readonly duration: number
    readonly response: string | null
    readonly error: string | null
  }>
}

/** An endpoint at the receiver. */
export interface Hook {
  readonly id: string
  readonly secret: string
  /** Its path at the receiver. */
  readonly to: string
  /** Its path in the API. */
  readonly path: string
  readonly received: () => ReadonlyArray<Received>
  /** What it received once that is so many, and it must not be more. */
  readonly receives: (count: number) => Promise<ReadonlyArray<Received>>
  readonly shown: () => Promise<ShownEndpoint>
  /** Its deliveries, newest first, once there are so many of that status. */
  readonly deliveries: (count: number, status?: string) => Promise<ReadonlyArray<ShownDelivery>>
}

/** An organization of a test's own. */
export interface WholeTenant {
  readonly id: string
  readonly key: string
  readonly ask: Ask
  /** Asks with a test key. */
  readonly askTest: Ask
  /** Has the catalogue's example of a type happen. */
  readonly happens: (type: string, count?: number) => Promise<void>
  /** The same for one endpoint. */
  readonly triggers: (type: string, endpoint: string) => ReturnType<Ask>
  /** Makes an endpoint; `base` is the receiver's address, unless given. */
  readonly hook: (enabledEvents?: ReadonlyArray<string>, base?: string) => Promise<Hook>
  /** The same with the test key. */
  readonly testHook: (enabledEvents?: ReadonlyArray<string>) => Promise<Hook>
  /** The newest events of the log, once there are so many that match. */
  readonly events: (count: number, query?: string) => Promise<ReadonlyArray<ShownEvent>>
}

export interface Whole {
  readonly url: string
  readonly databaseUrl: string
  readonly receiver: Receiver
  /** What the platform has printed. */
  readonly output: () => string
  readonly tenant: () => Promise<WholeTenant>
}

/** The body of an answer that must have this status. */
export const bodyOf = async <A>(asking: ReturnType<Ask>, status = 200): Promise<A> => {
  const reply = await asking
  expect(reply.status, JSON.stringify(reply.body)).toBe(status)
  return reply.body as A
}

/** The event in a delivery's body. */
export const eventIn = ({ body }: Received): ShownEvent => JSON.parse(body) as ShownEvent

const hookOf = (
  ask: Ask,
  receiver: Receiver,
  to: string,
  made: { readonly id: string; readonly secret: string }
): Hook => {
  const path = `/v1/webhooks/${made.id}`
  return {
    ...made,
    to,
    path,
    received: () => receiver.of(to),
    receives: async (count) => {
      await eventually(() => expect(receiver.of(to).length).toBeGreaterThanOrEqual(count))
      expect(receiver.of(to)).toHaveLength(count)
      return receiver.of(to)
    },
    shown: () => bodyOf(ask("GET", path)),
    deliveries: (count, status) =>
      eventually(async () => {
        const page = await bodyOf<{ readonly data: ReadonlyArray<ShownDelivery> }>(
          ask("GET", `${path}/deliveries?limit=100`)
        )
        const found = page.data.filter((one) => status === undefined || one.status === status)
        expect(found).toHaveLength(count)
        return Promise.all(found.map(({ id }) => bodyOf<ShownDelivery>(ask("GET", `${path}/deliveries/${id}`))))
      })
  }
}

const tenantOf = async (platform: Platform, admin: Ask, receiver: Receiver): Promise<WholeTenant> => {
  const { id } = await bodyOf<{ readonly id: string }>(
    admin("POST", "/admin/v1/organizations", { name: "whole", plan: "team" }),
    201
  )
  const keyOf = async (mode: string) =>
    (
      await bodyOf<{ readonly key: string }>(
        admin("POST", `/admin/v1/organizations/${id}/keys`, { mode, services: ["telco"], scopes: ["*"] }),
        201
      )
    ).key
  const key = await keyOf("live")
  const ask = askAt(platform.url, key)
  const askTest = askAt(platform.url, await keyOf("test"))
  const hookBy = async (by: Ask, enabledEvents: ReadonlyArray<string> = ["telco.*"], base = receiver.url("")) => {
    const to = `/${randomUUID()}`
    const made = await bodyOf<{ readonly id: string; readonly signing_secret: string }>(
      by("POST", "/v1/webhooks", { url: `${base}${to}`, enabled_events: enabledEvents }),
      201
    )
    return hookOf(by, receiver, to, { id: made.id, secret: made.signing_secret })
  }
  return {
    id,
    key,
    ask,
    askTest,
    happens: async (type, count = 1) => {
      for (let at = 0; at < count; at++)
        await bodyOf(admin("POST", `/admin/v1/organizations/${id}/events`, { type }), 202)
    },
    triggers: (type, endpoint) => admin("POST", `/admin/v1/organizations/${id}/events`, { type, endpoint }),
    hook: (enabledEvents, base) => hookBy(ask, enabledEvents, base),
    testHook: (enabledEvents) => hookBy(askTest, enabledEvents),
    events: (count, query = "") =>
      eventually(async () => {
        const page = await bodyOf<{ readonly data: ReadonlyArray<ShownEvent> }>(
          ask("GET", `/v1/events?limit=100${query}`)
        )
        expect(page.data.length).toBeGreaterThanOrEqual(count)
        return page.data
      })
  }
}

/** Starts platform and receiver for the tests of the file; to be asked for inside tests and hooks only. */
export const useWhole = (environment: Readonly<Record<string, string>> = {}): (() => Whole) => {
  const database = useDatabases()
  const newFolder = useFolders()
  const scope = Scope.makeUnsafe()
  let whole: Whole | undefined
  let platform: Platform | undefined
  beforeAll(async () => {
    const databaseUrl = await database("seeded")
    const receiver = await Effect.runPromise(startReceiver.pipe(Scope.provide(scope)))
    const adminKey = `adm_${randomBytes(24).toString("hex")}`
    const started = await startPlatform(
      {
        DATABASE_URL: databaseUrl,
        NATS_URL: inject("natsUrl"),
        SLUICE_ADMIN_KEY: adminKey,
        SLUICE_WEBHOOK_TARGETS: "any",
        SLUICE_WEBHOOK_RETRY_DELAYS: retryDelaysMillis.map((millis) => `${millis}ms`).join(","),
        SLUICE_WEBHOOK_TIMEOUT_MILLIS: String(timeoutMillis),
        ...environment
      },
      await newFolder()
    )
    platform = started
    const admin = askAt(await adminUrlOf(started), adminKey)
    const output = () => `${started.stdout()}${started.stderr()}`
    whole = { url: started.url, databaseUrl, receiver, output, tenant: () => tenantOf(started, admin, receiver) }
  })
  afterAll(async () => {
    await platform?.stop()
    await Effect.runPromise(Scope.close(scope, Exit.void))
  })
  return () => whole!
}
