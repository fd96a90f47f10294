/**
 * A request that each endpoint takes. Bodies come from the examples of its description; where that has none, and for ids, they are named here. An endpoint that has
 * neither makes the contract fail.
 */
import type { Endpoint, JsonSchema } from "./endpoints.ts"
import { namesOf } from "./endpoints.ts"
import { type Account, type Given, voice, type World } from "./world.ts"

/** What stands for a parameter of a path, and an id of the same kind that nothing has. */
interface Place {
  readonly path: RegExp
  readonly name: string
  readonly value: (account: Account) => string | Promise<string>
  /** Undefined where each that is well-formed is something. */
  readonly unknown: string | undefined
}

const place = (path: RegExp, name: string, value: Place["value"], unknown: string | undefined): Place => ({
  path,
  name,
  value,
  unknown
})

const places: ReadonlyArray<Place> = [
  place(/carrier/, "ocn", () => "9104", "ZZZ9"),
  place(/npa/, "npa", () => "212", "999"),
  place(/npa/, "nxx", () => "200", undefined),
  place(/lookup/, "tn", () => "2125550100", "9999990100"),
  place(/^\/v1\/events/, "id", ({ has }) => has.event(), "evt_none"),
  place(/^\/v1\/webhooks/, "id", ({ has }) => has.endpoint(), "we_none"),
  place(/^\/v1\/webhooks/, "deliveryId", ({ has }) => has.delivery(), "dlv_none"),
  place(/^\/v1\/webhooks/, "replayId", ({ has }) => has.replay(), "rpl_none"),
  place(/^\/v1\/send\/emails/, "id", ({ has }) => has.email(), "em_none"),
  place(/^\/v1\/send\/domains/, "id", ({ has }) => has.domain(), "dom_none"),
  place(/^\/v1\/send\/senders/, "id", ({ has }) => has.sender(), "sen_none"),
  place(/^\/v1\/send\/suppressions/, "idOrEmail", ({ has }) => has.suppression(), "sup_none"),
  place(/^\/v1\/requests/, "id", ({ has }) => has.request(), "rq_none"),
  place(/^\/admin\/v1\/organizations/, "recordId", ({ has }) => has.request(), "rq_none"),
  place(/^\/(admin\/)?v1\/members/, "id", ({ has }) => has.member(), "mem_none"),
  place(/^\/v1\/console\/sessions/, "id", ({ has }) => has.session(), "ses_none"),
  place(/^\/(admin\/)?v1\/keys/, "id", ({ has }) => has.apiKey(), "key_none"),
  place(/^\/admin\/v1\/organizations/, "id", ({ organization }) => organization, "org_none"),
  place(/^\/admin\/v1\/organizations/, "tn", ({ has }) => has.number(), "9995550100"),
  place(
    /^\/admin\/v1\/organizations/,
    "domain",
    async ({ has, sendsFrom }) => {
      await has.domain()
      return sendsFrom
    },
    "nothing.example"
  ),
  place(/^\/admin\/v1\/site-credentials/, "id", ({ has }) => has.site(), "sic_none"),
  place(/^\/admin\/v1\/invoices/, "id", ({ has }) => has.invoice(), "in_none"),
  place(/^\/admin\/v1\/partitions/, "partition", () => "0", "4095"),
  place(/^\/admin\/v1\/partitions/, "sequence", () => "1", "4000000000"),
  place(/^\/admin\/v1\/actors/, "kind", () => "organization", "nobody"),
  place(/^\/admin\/v1\/cluster/, "name", () => "here", "nobody")
]

/** What stands for a parameter; throws where the table has nothing. */
export const placeOf = ({ name, path }: Endpoint, parameter: string): Place => {
  const found = places.find((one) => one.name === parameter && one.path.test(path))
  if (found === undefined) throw new Error(`${name}: nothing stands for {${parameter}} in the table of places`)
  return found
}

/** What an endpoint is given beyond what its description says, and the status that it answers with where that is not its success. */
interface Special extends Given {
  readonly status?: number
}

const mailFrom = ({ has, sendsFrom }: Account) =>
  Promise.resolve(has.domain()).then(() => ({
    from: `ann@${sendsFrom}`,
    to: "bob@two.test",
    subject: "Hello",
    text: "Hi"
  }))

const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString()
const pages = { successUrl: "https://shop.example/thanks", cancelUrl: "https://shop.example/" }

/** A bounce that means nobody here. */
const bounce = Buffer.from("Subject: bounce\r\n\r\nNo such user").toString("base64")

const specials: Readonly<Record<string, (account: Account, world: World) => Special | Promise<Special>>> = {
  "GET /v1/carrier": () => ({ query: { ocn: "9104" } }),
  "GET /.well-known/webhook-keys": async ({ has }) => ({ query: { endpoint: await has.endpoint() } }),
  "GET /v1/npa": () => ({ query: { npa: "212" } }),
  "GET /v1/billing/entitlement": () => ({ query: { product: "send" } }),
  "POST /v1/talk/speech": () => ({ body: { text: "Hello", voice } }),
  "POST /v1/webhooks/{id}/replay": () => ({ body: { since: Date.now() - 1_000 } }),
  "POST /v1/send/emails": async (account) => ({ body: await mailFrom(account) }),
  "POST /v1/send/emails/send": async (account) => ({ body: await mailFrom(account) }),
  "POST /v1/send/emails/batch": async (account) => ({ body: [await mailFrom(account)] }),
  "PATCH /v1/send/emails/{id}": () => ({ body: { scheduled_at: inAnHour() } }),
  "POST /v1/send/domains": ({ sendsFrom }) => ({ body: { name: `other${sendsFrom}` } }),
  "POST /v1/send/senders": ({ sendsFrom }) => ({ body: { email: `cara@${sendsFrom}` } }),
  "POST /v1/send/suppressions/batch/remove": () => ({ body: { emails: ["bob@example.com"] } }),
  "POST /v1/send/feedback": () => ({
    body: { id: "em_none", from: "a@one.test", recipient: "b@two.test", what: "bounced" }
  }),
  "POST /v1/billing/checkout": () => ({ body: { priceId: "team_pro", ...pages } }),
  "POST /v1/billing/cancel": async ({ has }, world) => {
    const paid = `/admin/v1/invoices/${await has.invoice()}/pay`
    await world.request(true, { method: "POST", target: paid, headers: { authorization: `Bearer ${world.adminKey}` } })
    return { body: {} }
  },
  "POST /v1/billing/resume": async ({ has }, world) => {
    const paid = `/admin/v1/invoices/${await has.invoice()}/pay`
    await world.request(true, { method: "POST", target: paid, headers: { authorization: `Bearer ${world.adminKey}` } })
    return {}
  },
  "POST /v1/console/sessions": ({ key }) => ({ body: { key }, headers: { "x-sluice-console": "1" } }),
  "POST /v1/members": ({ sendsFrom }) => ({ body: { email: `dora@${sendsFrom}`, role: "viewer" } }),
  "POST /admin/v1/organizations/{id}/members": ({ sendsFrom }) => ({
    body: { email: `emil@${sendsFrom}`, role: "viewer" }
  }),
  "POST /v1/console/sign-in-links": () => ({ body: { email: "ann@one.test" } }),
  // A key is no member.
  "POST /v1/console/session/organization": ({ organization }) => ({
    body: { organizationId: organization },
    status: 404
  }),
  // A key is no portal.
  "GET /v1/console/portal": () => ({ status: 404 }),
  // A key has no session to end.
  "DELETE /v1/console/session": () => ({ status: 404 }),
  "POST /admin/v1/organizations": () => ({ body: { name: "Acme" } }),
  "PUT /admin/v1/organizations/{id}/limits": () => ({ body: { requestsPerMinute: 1_000_000 } }),
  "POST /admin/v1/ingestions": () => ({ body: { sources: ["/nowhere"], dryRun: true } }),
  "POST /admin/v1/organizations/{id}/numbers": () => ({ body: { numbers: ["2125550123"] } }),
  "POST /admin/v1/partitions/{partition}/recover": () => ({ body: { acceptLoss: false, acceptClock: false } }),
  "GET /admin/v1/actors/{kind}": ({ organization }) => ({ query: { organization, key: organization } }),
  // The last frame, since the first ones are removed.
  "GET /admin/v1/partitions/{partition}/frames/{sequence}": async (_, { adminKey, request }) => {
    const headers = { authorization: `Bearer ${adminKey}` }
    const { body } = await request(true, { method: "GET", target: "/admin/v1/partitions", headers })
    const [{ sequence }] = (body as { readonly data: readonly [{ readonly sequence: number }] }).data
    return { params: { partition: "0", sequence: `${sequence}` } }
  },
  // There is no cluster.
  "POST /admin/v1/cluster/nodes/{name}/drain": () => ({ status: 404 }),
  // Nothing is parked.
  "POST /admin/v1/organizations/{id}/parked/dismiss": () => ({ body: { sequence: 1, index: 0 }, status: 404 }),
  // Sending is not paused.
  "POST /admin/v1/organizations/{id}/send/lift": () => ({ status: 400 }),
  "PUT /admin/v1/organizations/{id}/send/risk": () => ({ body: { risk: "higher" } }),
  "PUT /admin/v1/organizations/{id}/send/limits": () => ({ body: { emailsPerMonth: 5, probation: null } }),
  "PUT /admin/v1/organizations/{id}/send/cap": async ({ has, sendsFrom }) => {
    await has.domain()
    return { body: { mode: "test", sender: sendsFrom, dailyCap: 5 } }
  },
  "POST /admin/v1/send/feedback": () => ({ body: { mail: bounce } }),
  "POST /admin/v1/organizations/{id}/send/domains/verify": async ({ has, sendsFrom }) => {
    await has.domain()
    return { body: { mode: "test", domain: sendsFrom, unchecked: true } }
  },
  "GET /admin/v1/organizations/{id}/send/domains/{domain}": () => ({ query: { mode: "test" } }),
  "GET /admin/v1/organizations/{id}/send/domains/{domain}/reports": async ({ has }) => {
    await has.domain()
    return { query: { mode: "test" } }
  },
  "POST /admin/v1/console/sessions": (_, { adminKey }) => ({
    body: { key: adminKey },
    headers: { "x-sluice-console": "1" }
  }),
  "POST /admin/v1/console-links": ({ organization }) => ({ body: { organization } })
}

/** A value that a schema's own examples, enumerations and bounds give; undefined where they give none. */
const exampleOf = (schema: JsonSchema): unknown => {
  if (schema.examples !== undefined) return schema.examples[0]
  if (schema.enum !== undefined) return schema.enum[0]
  if (schema.anyOf !== undefined) return exampleOf(schema.anyOf.find(({ type }) => type !== "null")!)
  if (schema.type === "array") {
    const items = Array.from({ length: schema.minItems ?? 0 }, () => exampleOf(schema.items!))
    return items.includes(undefined) ? undefined : items
  }
  if (schema.type === "integer") return schema.minimum !== undefined && schema.minimum >= 0 ? schema.minimum : undefined
  if (schema.type === "boolean") return false
  if (schema.type !== "object") return undefined
  const fields = (schema.required ?? []).map((name) => [name, exampleOf(schema.properties![name]!)] as const)
  return fields.some(([, value]) => value === undefined) ? undefined : Object.fromEntries(fields)
}

/** A request that the endpoint takes from this organization. Throws where neither its description nor the tables have one. */
export const givenFor = async (endpoint: Endpoint, account: Account, world: World): Promise<Special> => {
  const special = await specials[endpoint.name]?.(account, world)
  const params: Record<string, string> = {}
  for (const name of namesOf(endpoint, "path")) params[name] = await placeOf(endpoint, name).value(account)
  const body = special?.body ?? (endpoint.body === undefined ? undefined : exampleOf(endpoint.body))
  if (endpoint.body !== undefined && body === undefined)
    throw new Error(
      `${endpoint.name}: its description has no example of a body, and the table of special requests none`
    )
  return { params, ...special, ...(body === undefined ? {} : { body }) }
}

/** Names of the table that no endpoint has. */
export const strangers = (endpoints: ReadonlyArray<Endpoint>): ReadonlyArray<string> =>
  Object.keys(specials).filter((name) => !endpoints.some((endpoint) => endpoint.name === name))
