/** Figures of an endpoint's attempts over HTTP (docs/platform.md, 7.11). Rows are written as the dispatcher leaves them. */
import { describe, expect, it } from "vitest"
import { query } from "../../cli/support.ts"
import { useWebhookPlatform } from "../platform.ts"
import { refused, withEndpointOf } from "./deliveriesSupport.ts"

const platform = useWebhookPlatform()
const hour = 3_600_000

const insert = (endpointId: string, at: number, [attempts, succeeded, failed, retried]: ReadonlyArray<number>) =>
  query(
    platform().databaseUrl,
    "insert into webhook_hours select $1, $2, $3, $4, $5, $6, 0, 0, $4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, $5",
    [endpointId, at, attempts, succeeded, failed, retried]
  )

describe("GET /v1/webhooks/{id}/metrics", () => {
  it("[platform 7.11] counts the endpoint's attempts by hour, with their success and latency", async () => {
    const { ask, endpointId, path, tenant } = await withEndpointOf(platform())
    const now = Date.now() - (Date.now() % hour)
    await insert(endpointId, now, [4, 3, 1, 1])
    await insert(endpointId, now - 2 * hour, [2, 0, 2, 1])
    await insert(endpointId, now - 40 * hour, [9, 9, 0, 0])
    const { body, status } = await ask("GET", `${path}/metrics`)
    expect({ status, body }).toMatchObject({
      status: 200,
      body: {
        id: endpointId,
        interval: "hour",
        totals: {
          attempts: 6,
          succeeded: 3,
          failed: 3,
          retried: 2,
          successRate: 0.5,
          latency: { p50: 25, p95: 30_000 }
        }
      }
    })
    const { series } = body as { readonly series: ReadonlyArray<{ readonly at: number; readonly attempts: number }> }
    expect(series.slice(-3).map(({ at, attempts }) => [at, attempts])).toEqual([
      [now - 2 * hour, 2],
      [now - hour, 0],
      [now, 4]
    ])
    expect((await ask("GET", `${path}/metrics?interval=day`)).body).toMatchObject({ totals: { attempts: 15 } })
    const other = await tenant.endpoint()
    expect((await ask("GET", `/v1/webhooks/${other}/metrics`)).body).toMatchObject({
      totals: { attempts: 0, successRate: null, latency: { p50: null, p95: null } }
    })
  })

  it("is nobody else's, and refuses times that make no period", async () => {
    const { ask, path } = await withEndpointOf(platform())
    const stranger = await platform().tenant()
    const reply = await stranger.ask("GET", `${path}/metrics`)
    expect({ status: reply.status, body: reply.body }).toStrictEqual(refused(404, "not_found"))
    const old = await ask("GET", `${path}/metrics?since=5`)
    expect({ status: old.status, body: old.body }).toStrictEqual(
      refused(400, "invalid_request", `Invalid parameter 'since': "5". Figures are kept for 30 days.`)
    )
  })
})
