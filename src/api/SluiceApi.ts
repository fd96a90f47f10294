/**
 * Assembles the whole public API from the products' groups. Definitions only: the server implements it, the typed
 * client and `openapi.json` are derived from it.
 */
import { Context } from "effect"
import { OpenApi } from "effect/http-api"
import { BillingApi } from "../billing/http/billingApi.ts"
import { UsageApi, UsageReportsApi } from "../billing/http/usageApi.ts"
import { version } from "../common/version.ts"
import { DirectoryApi } from "../directory/directoryApi.ts"
import { EventsApi } from "../events/eventsApi.ts"
import { baseApi } from "../http/baseApi.ts"
import { AuditApi } from "../platform/audit/auditApi.ts"
import { ConsoleApi } from "../platform/consoleApi.ts"
import { KeysApi } from "../platform/keysApi.ts"
import { MembersApi } from "../platform/people/membersApi.ts"
import { RequestsApi } from "../platform/requests/requestsApi.ts"
import { SendDomainsApi } from "../send/http/domainsApi.ts"
import { EmailsApi } from "../send/http/emailsApi.ts"
import { SendFeedbackApi } from "../send/http/feedbackApi.ts"
import { SendMetricsApi } from "../send/http/metricsApi.ts"
import { SendSendersApi } from "../send/http/sendersApi.ts"
import { SendSuppressionsApi } from "../send/http/suppressionsApi.ts"
import { SendTenantsApi } from "../send/http/tenantsApi.ts"
import { TalkApi } from "../talk/talkApi.ts"
import { TelcoApi } from "../telco/telcoApi.ts"
import { EventDeliveriesApi } from "../webhooks/http/eventDeliveriesApi.ts"
import { WebhooksApi } from "../webhooks/http/webhooksApi.ts"
import { webhooksDocument } from "../webhooks/http/webhooksDocument.ts"
import { renamed } from "./componentNames.ts"
import { describeExamples } from "./describeExamples.ts"
import { describeSecurity } from "./describeSecurity.ts"
import { SystemApi } from "./systemApi.ts"

// Completes the API's description, which is derived from its definitions, for people, linters and client generators.

/** The platform that serves the description; clients of a file name the address of theirs. */
const servers = [{ url: "/", description: "The platform that serves this description" }]

/** The whole description of the public API. */
export const publicDescription = (spec: Record<string, unknown>): Record<string, unknown> => {
  const { components, ...described } = describeExamples(renamed(describeSecurity(spec))) as {
    readonly components: Readonly<Record<string, object>>
  }
  const { parameters, schemas, webhooks } = webhooksDocument()
  return {
    ...described,
    servers,
    components: { ...components, schemas: { ...components.schemas, ...schemas }, parameters },
    webhooks
  }
}

/** The introduction of the documentation. */
const introduction = `Look up carriers, area codes and exchanges of the United States and Canada, look up and search telephone
numbers, send email, have texts spoken, read every event that happened, and have events delivered to a server of yours, signed and retried.

The [guides](/guides/) have quick starts for curl, Node, Python, PHP and Go, and a page for each task.

## First call

Who serves area code 212? \`KEY\` is the API key that the first start of the platform prints, or one of \`sluice keys create\`:

\`\`\`sh
curl -H "Authorization: Bearer $KEY" 'http://127.0.0.1:8080/v1/npa/212?limit=3'
\`\`\`

| Purpose | Request |
|---|---|
| Who serves an exchange | \`GET /v1/npa/212/nxx/555\` |
| Who a carrier is | \`GET /v1/carrier/9104\` |
| Facts about a number | \`GET /v1/telco/lookup/+1-212-556-0123\`, which is recorded as an event |
| To send an email | \`POST /v1/send/emails\` with \`{"from": "Ann <ann@demo.test>", "to": "bob@example.com", "subject": "Hello", "text": "Hi Bob"}\` |
| Whether it may, and how many | \`GET /v1/send/tenants\` |
| Your usage | \`GET /v1/billing/usage\` |
| A text as audio | \`POST /v1/talk/speech\` with \`{"text": "Hello, world.", "voice": "en-us"}\` |
| Events of the past | \`GET /v1/events\`, or \`GET /v1/events/stream\` to follow it |
| To be told | \`POST /v1/webhooks\` with \`{"url": "https://example.com/hook", "enabled_events": ["telco.*"]}\` |
| How the platform is | \`GET /v1/health\`, without a key |

Every answer carries \`X-Request-Id\`.`

/**
 * The public API of the platform: every group with its paths, parameters, answers and errors.
 *
 * @example
 * ```ts
 * import { OpenApi } from "effect/http-api"
 * import { SluiceApi } from "sluice/client"
 *
 * console.log(OpenApi.fromApi(SluiceApi).paths["/v1/stats"] !== undefined) // true
 * ```
 */
export class SluiceApi extends baseApi
  .add(DirectoryApi)
  .add(EventsApi)
  .add(TelcoApi)
  .add(TalkApi)
  .add(WebhooksApi)
  .add(EventDeliveriesApi)
  .add(EmailsApi)
  .add(SendDomainsApi)
  .add(SendSendersApi)
  .add(SendSuppressionsApi)
  .add(SendTenantsApi)
  .add(SendMetricsApi)
  .add(SendFeedbackApi)
  .add(BillingApi)
  .add(UsageApi)
  .add(UsageReportsApi)
  .add(KeysApi)
  .add(MembersApi)
  .add(AuditApi)
  .add(RequestsApi)
  .add(ConsoleApi)
  .add(SystemApi)
  .annotateMerge(
    Context.mergeAll(
      OpenApi.annotations({
        title: "Sluice",
        version,
        description: introduction,
        license: { name: "MIT", identifier: "MIT" },
        transform: publicDescription
      })
    )
  ) {}
