/** Helpers of the sections on events: organizations of their own, their keys, and waits for projections. */
import { expect, vi } from "vitest"
import { patienceMillis } from "../../support/patience.ts"
import { type Reached, type Reply, request } from "../harness.ts"

export interface Shown {
  readonly eventId: string
  readonly type: string
  readonly service: string
  readonly data: Record<string, unknown>
  readonly livemode: boolean
  readonly createdAt: number
}

export interface Page {
  readonly data: ReadonlyArray<Shown>
  readonly pagination: { readonly hasMore: boolean; readonly nextCursor?: string }
}

export interface Tenant {
  readonly id: string
  /** A key with telco and every scope. */
  readonly key: string
  readonly get: (path: string, init?: RequestInit) => Promise<Reply>
  readonly newKey: (key: {
    readonly services?: ReadonlyArray<string>
    readonly scopes?: ReadonlyArray<string>
    readonly mode?: "live" | "test"
  }) => Promise<{ readonly id: string; readonly key: string }>
  readonly trigger: (type: string) => Promise<Reply>
  /** The newest events, once there are at least so many. */
  readonly events: (count: number, query?: string) => Promise<ReadonlyArray<Shown>>
}

export const makeTenant = async (platform: Reached, name: string, plan = "team"): Promise<Tenant> => {
  const created = await platform.admin("POST", "/admin/v1/organizations", { name, plan })
  const { id } = created.body as { readonly id: string }
  const newKey: Tenant["newKey"] = async ({ mode = "live", scopes = [], services = [] }) => {
    const reply = await platform.admin("POST", `/admin/v1/organizations/${id}/keys`, { mode, scopes, services })
    expect(reply.status).toBe(201)
    const made = reply.body as { readonly id: string; readonly key: string }
    platform.secrets.add(made.key)
    return made
  }
  const { key } = await newKey({ services: ["telco"], scopes: ["*"] })
  const get: Tenant["get"] = (path, init) =>
    request(`${platform.url}${path}`, { headers: { authorization: `Bearer ${key}` }, ...init })
  return {
    id,
    key,
    get,
    newKey,
    trigger: (type) => platform.admin("POST", `/admin/v1/organizations/${id}/events`, { type }),
    events: async (count, query = "limit=100") => {
      let found: ReadonlyArray<Shown> = []
      await vi.waitFor(
        async () => {
          const { body, status } = await get(`/v1/events?${query}`)
          expect(status).toBe(200)
          found = (body as Page).data
          expect(found.length).toBeGreaterThanOrEqual(count)
        },
        { timeout: patienceMillis, interval: 20 }
      )
      return found
    }
  }
}
