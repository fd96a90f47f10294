/** The requests of the documents in the order in which `requests.e2e.ts` sends them, and the answers beside them. */

/** A block that is run, or an answer with the request that gets it. */
export interface Step {
  readonly document: string
  /** A text that no other block of the document has. */
  readonly has: string
  /** The request for an answer with no command beside it: method, path, body. */
  readonly asks?: readonly [method: string, path: string, body?: unknown]
  /** The variable with the key of the request, in place of `KEY`. */
  readonly key?: "BARE" | "TEST"
  /** Fields of the answer that are others in each run. */
  readonly varying?: ReadonlyArray<string>
  /** The field of the answer that the document shows. */
  readonly field?: string
  /** Whether the lists of the answer have more than the document shows. */
  readonly isPart?: boolean
  /** Something that has to be there first. */
  readonly prepare?: Preparation
  /** The variable that gets the id of the answer. */
  readonly names?: string
  /** The variable with the organization that the command names. */
  readonly organization?: string
}

export type Preparation =
  | "a change of the directory"
  | "an organization to delete"
  | "a look-up in the event log"
  | "a domain of a live account"
  | "a verified domain of a live account"
  | "a domain of a test account"
  | "an endpoint that receives"
  | "an endpoint with a key pair"
  | "fifty emails"

const platform = (has: string, more: Partial<Step> = {}): Step => ({ document: "docs/platform.md", has, ...more })
const directory = (has: string, more: Partial<Step> = {}): Step => ({ document: "docs/directory.md", has, ...more })
const page = (name: string, has: string, more: Partial<Step> = {}): Step => ({
  document: `docs/platform/${name}.md`,
  has,
  ...more
})

export const steps: ReadonlyArray<Step> = [
  platform("API=http://127.0.0.1:8080\n"),
  platform("$API/v1/telco/lookup/12"),
  platform("Unknown parameter", { asks: ["GET", "/v1/carriers?limits=1"] }),
  platform("Insufficient scope", { asks: ["GET", "/v1/webhooks"], key: "BARE" }),
  platform(`"name": "reports"`),
  platform(`"$API/v1/audit?act=key.created`),
  platform(`"$API/v1/requests?status=4xx`),
  platform("sluice orgs delete", { prepare: "an organization to delete", organization: "ACME" }),

  directory("$API/v1/carriers?"),
  directory(`"exchanges":{"total":2901`, { asks: ["GET", "/v1/carrier/9104"] }),
  directory("$API/v1/npa/212/nxx/556"),
  directory("overlay_complexes", { asks: ["GET", "/v1/npa/212?include=details"], field: "details" }),
  directory("total_records", { asks: ["GET", "/v1/stats"] }),
  directory(`"status":"healthy"`, { asks: ["GET", "/v1/health"] }),
  directory("$API/v1/directory/changes", { prepare: "a change of the directory", varying: ["hasMore"] }),
  directory("No exchange found", { asks: ["GET", "/v1/npa/212/nxx/000"] }),
  directory("npa_report.csv.gz --dry-run"),

  page("telco", "/lookup/+1-212-556-0123"),
  page("telco", "$API/v1/telco/lookups"),
  page("events", `$API/v1/events?type=telco.*`, { prepare: "a look-up in the event log", varying: ["nextCursor"] }),
  page("events", "?object=2125560123"),
  page("events", "$API/v1/events/types"),

  page("billing", "/v1/billing/subscription"),
  page("billing", "$API/v1/billing/checkout"),
  page("billing", `"hasAccess":true`, {
    asks: ["GET", "/v1/billing/entitlement?product=send"],
    varying: ["emails", "apiCalls"]
  }),
  page("billing", "$API/api/billing/usage"),

  page("operating", "http://127.0.0.1:8124/admin/v1/organizations"),

  page("console", "sluice console --org"),

  page("webhooks", `-H 'Idempotency-Key: first-endpoint'`, { names: "ID" }),
  page("webhooks", `"success":true,"eventId"`, { asks: ["POST", "/v1/webhooks/$ID/test", {}] }),
  page("webhooks", "$API/v1/webhooks/$ID/replay", { varying: ["count"] }),
  page("webhooks", "of-my-own", {
    varying: ["consecutive_failures", "last_delivery_at", "last_delivery_status", "pending", "oldest_pending_at"]
  }),
  page("webhooks", `{"ordering": {"key": "tn"}}`),
  page("webhooks", `{"label": "customer-17"}`),
  page("webhooks", `"types": ["telco.*"]}' $API/v1/webhooks/portal`, {
    varying: ["url", "linkExpiresAt", "expiresAt"]
  }),
  page("webhooks", "/.well-known/webhook-keys", { prepare: "an endpoint with a key pair" }),
  page("webhooks", `"attempts":[{`, {
    prepare: "an endpoint that receives",
    asks: ["GET", "/v1/webhooks/$ID/deliveries/$DELIVERY"],
    varying: ["duration"]
  }),
  page("webhooks", "$ID/metrics?interval=day", { varying: ["totals"], isPart: true }),

  page("send", "X-Sluice-Unsubscribe", { prepare: "a domain of a test account", key: "TEST" }),
  page("send", "sluice domains verify", { prepare: "a domain of a live account" }),
  page("send", "sluice send show"),
  page("send", "$API/v1/send/metrics?", { varying: ["totals"], isPart: true }),

  { document: "README.md", has: "/v1/npa/212?limit=3&offset=354" },
  { document: "README.md", has: "/v1/carrier/9104'" },
  { document: "README.md", has: "127.0.0.1:8080/v1/send/emails", prepare: "a verified domain of a live account" },
  {
    document: "README.md",
    has: "probation_limit_reached",
    prepare: "fifty emails",
    asks: [
      "POST",
      "/v1/send/emails",
      { from: "ann@demo.test", to: "bob@example.com", subject: "One too many", text: "Hi" }
    ]
  }
]

/** Requests for audio, which need the programs that make it. */
export const speechSteps: ReadonlyArray<Step> = [
  page("talk", "$API/v1/talk/speech"),
  // The document shows one of many.
  page("talk", `{"voices":[`, { asks: ["GET", "/v1/talk/voices"], isPart: true }),
  page("talk", "Unknown voice", { asks: ["POST", "/v1/talk/speech", { text: "Hi", voice: "en_US" }] }),
  page("talk", `{"formats":[`, { asks: ["GET", "/v1/talk/formats"] })
]

/** Blocks that tests of their own run in `followed.e2e.ts`. */
export const followed: ReadonlyArray<Pick<Step, "document" | "has">> = [
  platform("429 Too Many Requests"),
  page("events", "curl -sN"),
  { document: "docs/operating.md", has: "?type=telco.*'" },
  { document: "docs/operating.md", has: "evt_00040000-0001" },
  { document: "docs/operating.md", has: "q.pipe(process.stdout)" },
  { document: "docs/operating.md", has: `"url": "http://localhost:3000/hook"` },
  { document: "docs/operating.md", has: `"url":"http://localhost:3000/hook"` },
  { document: "docs/operating.md", has: "evt_00040000-0002" },
  { document: "docs/operating.md", has: "sluice listen --forward-to" },
  { document: "docs/operating.md", has: "Ready: forwarding" }
]
