/** Helpers of the tests of deliveries and replays over HTTP: an endpoint with its paths, pages of a list, and the rows behind them. */
import { expect } from "vitest"
import { query } from "../../cli/support.ts"
import type { Tenant, WebhookPlatform } from "../platform.ts"

export const dayMillis = 24 * 60 * 60 * 1000

/** An endpoint of an organization of its own. */
export const withEndpointOf = async (platform: WebhookPlatform, more: object = {}) => {
  const tenant = await platform.tenant()
  const endpointId = await tenant.endpoint(more)
  return { ...tenant, tenant, endpointId, path: `/v1/webhooks/${endpointId}` }
}

export type Page = {
  readonly data: ReadonlyArray<{ readonly id: string; readonly eventId: string }>
  readonly pagination: { readonly hasMore: boolean; readonly nextCursor?: string }
}

/** All pages of a list. */
export const pagesOf = async (
  ask: Tenant["ask"],
  path: string,
  limit: number,
  filter = ""
): Promise<ReadonlyArray<Page>> => {
  const pages: Array<Page> = []
  let cursor: string | undefined
  do {
    const after = cursor === undefined ? "" : `&cursor=${cursor}`
    const reply = await ask("GET", `${path}?limit=${limit}${filter}${after}`)
    expect(reply.status).toBe(200)
    const page = reply.body as Page
    pages.push(page)
    cursor = page.pagination.nextCursor
    expect(page.pagination.hasMore).toBe(cursor !== undefined)
  } while (cursor !== undefined)
  return pages
}

export const jobsOf = (url: string, endpointId: string) =>
  query<{ id: string; lane: number; payload: string; attempts: number }>(
    url,
    "select id, lane, payload, attempts from webhook_jobs where group_key = $1 order by id",
    [endpointId]
  )

export const deliveriesOf = (url: string, endpointId: string) =>
  query<{ id: string; event_id: string; status: string; origin: string }>(
    url,
    "select id, event_id, status, origin from webhook_deliveries where endpoint_id = $1 order by event_created_at, event_id",
    [endpointId]
  )

export const refused = (status: number, error: string, message: unknown = expect.any(String)) => ({
  status,
  body: { error, message }
})
