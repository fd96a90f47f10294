import { readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { openApiText } from "../../src/api/openApiText.ts"
import { errorStatus } from "../../src/http/errors.ts"

const document = JSON.parse(openApiText()) as {
  readonly info: { readonly description: string }
  readonly paths: Record<
    string,
    Record<string, { readonly security?: ReadonlyArray<object>; readonly responses: Record<string, object> }>
  >
}

describe("openapi.json", () => {
  it("is what the code describes; `npm run openapi` writes it anew", () => {
    expect(readFileSync(new URL("../../openapi.json", import.meta.url), "utf8")).toBe(openApiText())
  })

  it("[platform 1.5] lists every error code with its status", () => {
    for (const [code, status] of Object.entries(errorStatus)) {
      expect(document.info.description).toContain(`| \`${code}\` | ${status} |`)
    }
  })

  it("asks for a key exactly where an answer may be 401, but where a key signs in", () => {
    const keyed = Object.entries(document.paths).flatMap(([path, operations]) =>
      Object.values(operations).flatMap((operation) => ((operation.security ?? []).length === 0 ? [] : [path]))
    )
    expect(keyed.sort()).toEqual([
      "/api/billing/usage",
      "/v1/audit",
      "/v1/billing/cancel",
      "/v1/billing/checkout",
      "/v1/billing/entitlement",
      "/v1/billing/invoices",
      "/v1/billing/prices",
      "/v1/billing/resume",
      "/v1/billing/subscription",
      "/v1/billing/usage",
      "/v1/carrier",
      "/v1/carrier/{ocn}",
      "/v1/carriers",
      "/v1/console/portal",
      "/v1/console/session",
      "/v1/console/session",
      "/v1/console/session/organization",
      "/v1/console/sessions",
      "/v1/console/sessions/{id}",
      "/v1/directory/changes",
      "/v1/events",
      "/v1/events/rates",
      "/v1/events/stream",
      "/v1/events/types",
      "/v1/events/{id}",
      "/v1/events/{id}/deliveries",
      "/v1/events/{id}/origin",
      "/v1/keys",
      "/v1/keys",
      "/v1/keys/{id}",
      "/v1/keys/{id}/rotate",
      "/v1/members",
      "/v1/members",
      "/v1/members/{id}",
      "/v1/members/{id}",
      "/v1/members/{id}/resend",
      "/v1/npa",
      "/v1/npa/{npa}",
      "/v1/npa/{npa}/nxx/{nxx}",
      "/v1/requests",
      "/v1/requests/{id}",
      "/v1/send/domains",
      "/v1/send/domains",
      "/v1/send/domains/{id}",
      "/v1/send/domains/{id}",
      "/v1/send/domains/{id}/records",
      "/v1/send/domains/{id}/reports",
      "/v1/send/domains/{id}/rotate-key",
      "/v1/send/domains/{id}/verify",
      "/v1/send/emails",
      "/v1/send/emails",
      "/v1/send/emails/batch",
      "/v1/send/emails/export",
      "/v1/send/emails/send",
      "/v1/send/emails/{id}",
      "/v1/send/emails/{id}",
      "/v1/send/emails/{id}/cancel",
      "/v1/send/feedback",
      "/v1/send/metrics",
      "/v1/send/senders",
      "/v1/send/senders",
      "/v1/send/senders/{id}",
      "/v1/send/senders/{id}",
      "/v1/send/suppressions",
      "/v1/send/suppressions",
      "/v1/send/suppressions/batch/add",
      "/v1/send/suppressions/batch/remove",
      "/v1/send/suppressions/export",
      "/v1/send/suppressions/{idOrEmail}",
      "/v1/send/suppressions/{idOrEmail}",
      "/v1/send/tenants",
      "/v1/send/tenants/facts",
      "/v1/send/tenants/reset",
      "/v1/talk/formats",
      "/v1/talk/speech",
      "/v1/talk/voices",
      "/v1/telco/lookup/{tn}",
      "/v1/telco/lookups",
      "/v1/telco/search",
      "/v1/webhooks",
      "/v1/webhooks",
      "/v1/webhooks/portal",
      "/v1/webhooks/source-addresses",
      "/v1/webhooks/{id}",
      "/v1/webhooks/{id}",
      "/v1/webhooks/{id}",
      "/v1/webhooks/{id}/deliveries",
      "/v1/webhooks/{id}/deliveries/{deliveryId}",
      "/v1/webhooks/{id}/deliveries/{deliveryId}/request",
      "/v1/webhooks/{id}/deliveries/{deliveryId}/retry",
      "/v1/webhooks/{id}/metrics",
      "/v1/webhooks/{id}/replay",
      "/v1/webhooks/{id}/replays/{replayId}",
      "/v1/webhooks/{id}/rotate-secret",
      "/v1/webhooks/{id}/skipped",
      "/v1/webhooks/{id}/test",
      "/v1/webhooks/{id}/unpause"
    ])
  })
})
