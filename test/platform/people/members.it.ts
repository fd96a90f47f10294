/** Members of an organization over HTTP on a real database (docs/platform.md, 2.13, 12.4 and 12.5). */
import { Context, Effect, Exit, Scope } from "effect"
import { HttpApi, type HttpApiEndpoint } from "effect/http-api"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { SluiceApi } from "../../../src/api/SluiceApi.ts"
import { ApiKeys } from "../../../src/platform/ApiKeys.ts"
import { Organizations } from "../../../src/platform/Organizations.ts"
import type { PersonalMail } from "../../../src/platform/people/MemberMail.ts"
import { query, until } from "../../cli/support.ts"
import { type Answer, askAt, buildApi } from "../../support/api.ts"
import { patienceMillis } from "../../support/patience.ts"

const mails: Array<PersonalMail> = []
const scope = Scope.makeUnsafe()
let api: Effect.Success<ReturnType<typeof buildApi>>
const adminKey = "adm_people"

beforeAll(async () => {
  api = await Effect.runPromise(buildApi(scope, { memberMails: mails, adminKey }))
}, patienceMillis)
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

/** Runs with the platform's services. */
const run = <A, E>(effect: Effect.Effect<A, E, ApiKeys | Organizations>) =>
  Effect.runPromise(Effect.provideContext(effect, api.services))

let made = 0
/** An organization, whose key of all rights asks. */
const makeTenant = async () => {
  const name = `Tenant ${++made}`
  const { organization } = await run(
    Context.get(api.services, Organizations).create({
      name,
      email: null,
      plan: "team",
      sendPlan: "pro",
      risk: "standard"
    })
  )
  const keyWith = async (scopes: ReadonlyArray<"*" | "platform:people:manage">, mode: "live" | "test" = "live") => {
    const { key } = await run(
      Context.get(api.services, ApiKeys).create(organization.id, {
        name: null,
        mode,
        services: ["directory", "send", "telco", "talk", "voip", "transcribe"],
        scopes,
        expiresAtMillis: null
      })
    )
    return askAt(api.url, key!)
  }
  return { id: organization.id, name, ask: await keyWith(["*"]), keyWith }
}
type Tenant = Awaited<ReturnType<typeof makeTenant>>

type AskAs = (method: string, path: string, body?: unknown, isTest?: boolean) => Promise<Answer>

/** Asks with the cookie of a session. */
const asSession =
  (cookie: string): AskAs =>
  async (method, path, body, isTest = false) => {
    const answer = await fetch(`${api.url}${path}`, {
      method,
      headers: {
        cookie,
        "x-sluice-console": isTest ? "test" : "1",
        ...(body === undefined ? {} : { "content-type": "application/json" })
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
    return { status: answer.status, headers: answer.headers, body: await answer.json() }
  }

const linkIn = (text: string) => /#link=(ml_\w+)/.exec(text)![1]!

const openLink = (link: string) =>
  fetch(`${api.url}/v1/console/sessions`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-sluice-console": "1",
      "user-agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
    },
    body: JSON.stringify({ link })
  })

const cookieOf = (answer: Response) => answer.headers.get("set-cookie")!.split(";")[0]!

/** Opens a link, and asks with its session. */
const enter = async (link: string): Promise<AskAs> => {
  const answer = await openLink(link)
  expect(answer.status).toBe(201)
  return asSession(cookieOf(answer))
}

const lastMailTo = (email: string) => mails.findLast(({ to }) => to === email)!

/** Invites an address, and accepts. */
const join = async ({ ask }: Pick<Tenant, "ask">, email: string, role: string) => {
  const invited = await ask("POST", "/v1/members", { email, role })
  expect([invited.status, invited.body.delivery]).toEqual([201, "mailed"])
  return { id: invited.body.id as string, session: await enter(linkIn(lastMailTo(email).text)) }
}

/** Asks for a link by address, and waits for its mail. */
const signInLink = async (email: string) => {
  const before = mails.length
  expect((await askAt(api.url, "")("POST", "/v1/console/sign-in-links", { email })).status).toBe(202)
  await until(async () => mails.slice(before).some(({ to }) => to === email.toLowerCase()))
  return linkIn(lastMailTo(email.toLowerCase()).text)
}

describe("[platform 2.13] an invitation", () => {
  it("is mailed, opens the console once with the rights of the role, and is kept in the audit log", async () => {
    const tenant = await makeTenant()
    const invited = await tenant.ask("POST", "/v1/members", { email: "Ann@One.test", role: "developer" })
    expect(invited.body).toMatchObject({ email: "ann@one.test", role: "developer", state: "invited", link: null })
    const link = linkIn(lastMailTo("ann@one.test").text)
    // A scanner of links only reads.
    expect((await fetch(`${api.url}/console`)).headers.get("referrer-policy")).toBe("no-referrer")
    const session = await enter(link)
    expect((await session("GET", "/v1/console/session")).body).toMatchObject({
      organization: { id: tenant.id },
      member: { email: "ann@one.test", role: "developer" },
      modes: ["live", "test"]
    })
    expect((await openLink(link)).status).toBe(401)
    expect((await session("GET", "/v1/members")).status).toBe(403)
    expect((await session("POST", "/v1/billing/cancel", {})).status).toBe(403)
    expect((await session("POST", "/v1/keys", { services: ["send"], scopes: [] })).status).toBe(201)
    expect((await session("POST", "/v1/keys", { services: [], scopes: ["*"] })).status).toBe(403)
    const { body } = await tenant.ask("GET", "/v1/audit")
    expect(body.data.map(({ act, actor, mode }: Record<string, unknown>) => [act, actor, mode])).toEqual([
      ["key.created", { type: "member", id: invited.body.id }, "live"],
      ["member.joined", { type: "member", id: invited.body.id }, null],
      ["member.invited", { type: "key", id: expect.stringMatching(/^key_/) }, null]
    ])
  })

  it("is stored as a digest only, ends at its time, and works once for two who open it together", async () => {
    const tenant = await makeTenant()
    await tenant.ask("POST", "/v1/members", { email: "late@one.test", role: "viewer" })
    const link = linkIn(lastMailTo("late@one.test").text)
    const rows = await query<{ row: string }>(api.databaseUrl, "select t::text as row from member_links t")
    expect(rows.map(({ row }) => row).join()).not.toContain(link.slice(3))
    const expire = (millis: number) =>
      query(api.databaseUrl, "update member_links set expires_at = expires_at + $1 where email = 'late@one.test'", [
        millis
      ])
    await expire(-7 * 86_400_000)
    expect((await openLink(link)).status).toBe(401)
    await expire(7 * 86_400_000)
    const both = await Promise.all([openLink(link), openLink(link)])
    expect(both.map(({ status }) => status).sort()).toEqual([201, 401])
  })

  it("sent again ends the link before, and is limited by its address", async () => {
    const tenant = await makeTenant()
    const { body } = await tenant.ask("POST", "/v1/members", { email: "again@one.test", role: "viewer" })
    const first = linkIn(lastMailTo("again@one.test").text)
    const resend = () => tenant.ask("POST", `/v1/members/${body.id}/resend`)
    expect((await resend()).body).toMatchObject({ delivery: "mailed", state: "invited" })
    expect((await openLink(first)).status).toBe(401)
    expect((await resend()).status).toBe(200)
    const refused = await resend()
    expect([refused.status, refused.body.error.code]).toEqual([429, "rate_limited"])
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(3_000)
    // Neither does a new invitation get past it, after the first one is revoked.
    expect((await tenant.ask("DELETE", `/v1/members/${body.id}`)).status).toBe(200)
    const other = await makeTenant()
    expect((await other.ask("POST", "/v1/members", { email: "again@one.test", role: "viewer" })).status).toBe(429)
    expect((await openLink(linkIn(lastMailTo("again@one.test").text))).status).toBe(401)
  })

  it("of an address that is a member already is 409, and none gives a role with rights that the inviter lacks", async () => {
    const tenant = await makeTenant()
    const invite = (email: string, role: string, ask = tenant.ask) => ask("POST", "/v1/members", { email, role })
    await invite("ben@one.test", "viewer")
    const again = await invite("BEN@one.test", "owner")
    expect([again.status, again.body.error.code]).toEqual([409, "conflict"])
    for (const body of [{ email: "ben", role: "viewer" }, { email: "ben@one.test", role: "king" }, {}])
      expect((await tenant.ask("POST", "/v1/members", body)).status).toBe(400)
    const lesser = await tenant.keyWith(["platform:people:manage"])
    expect((await invite("cara@one.test", "owner", lesser)).body.error.message).toContain("you lack the scope *")
    const { body } = await tenant.ask("GET", "/v1/members")
    expect((await lesser("PATCH", `/v1/members/${body.data[0].id}`, { role: "owner" })).status).toBe(403)
  })
})

describe("[platform 2.13] a member", () => {
  it("who is a viewer reads, changes nothing, and sees no contents of mail", async () => {
    const tenant = await makeTenant()
    const { session } = await join(tenant, "viewer@one.test", "viewer")
    const closed: Array<string> = []
    HttpApi.reflect(SluiceApi, {
      onGroup: () => {},
      onEndpoint: ({ endpoint }: { readonly endpoint: HttpApiEndpoint.Top }) => {
        if (endpoint.method !== "GET") closed.push(`${endpoint.method} ${endpoint.path}`)
      }
    })
    const own = [
      "DELETE /v1/console/session",
      "DELETE /v1/console/sessions/:id",
      "POST /v1/console/session/organization"
    ]
    const open = [
      "POST /v1/console/sessions",
      "POST /v1/console/sign-in-links",
      "POST /api/billing/usage",
      "POST /v1/send/feedback"
    ]
    for (const name of closed.filter((one) => ![...own, ...open].includes(one))) {
      const [method, path] = name.split(" ") as [string, string]
      const answer = await session(method, path.replace(/:\w+/g, "x"), method === "DELETE" ? undefined : {})
      expect([name, answer.status]).toEqual([name, 403])
    }
    expect((await session("GET", "/v1/events")).status).toBe(200)
    expect((await session("GET", "/v1/send/emails")).status).toBe(200)
    expect((await session("GET", "/v1/keys")).status).toBe(403)
    const program = await tenant.keyWith(["*"], "test")
    await program("POST", "/v1/send/domains", { name: "letters.test" })
    const mail = { from: "a@letters.test", to: "b@two.test", subject: "Hello", text: "a private letter" }
    const { body } = await program("POST", "/v1/send/emails", mail)
    const path = `/v1/send/emails/${body.id}`
    await until(async () => (await program("GET", path)).status === 200)
    expect((await program("GET", path)).body).toMatchObject({ subject: "Hello", text: mail.text })
    const seen = await session("GET", path, undefined, true)
    expect(seen.body).toMatchObject({ subject: "Hello", text: null, html: null })
  })

  it("has less rights from the request after the change on, and none after the removal", async () => {
    const tenant = await makeTenant()
    const { id, session } = await join(tenant, "changing@one.test", "developer")
    expect((await session("GET", "/v1/keys")).status).toBe(200)
    expect((await tenant.ask("PATCH", `/v1/members/${id}`, { role: "viewer" })).body).toMatchObject({ role: "viewer" })
    for (const isTest of [false, true]) expect((await session("GET", "/v1/keys", undefined, isTest)).status).toBe(403)
    expect((await session("GET", "/v1/console/session")).body).toMatchObject({ member: { role: "viewer" } })
    expect((await tenant.ask("DELETE", `/v1/members/${id}`)).status).toBe(200)
    for (const isTest of [false, true])
      expect((await session("GET", "/v1/console/session", undefined, isTest)).status).toBe(401)
  })

  it("who is the last owner stays one, also of two who remove each other together", async () => {
    const tenant = await makeTenant()
    const ann = await join(tenant, "ann@owners.test", "owner")
    await tenant.ask("POST", "/v1/members", { email: "invited@owners.test", role: "owner" })
    for (const ask of [tenant.ask, ann.session]) {
      expect((await ask("DELETE", `/v1/members/${ann.id}`)).body.error.message).toContain("last owner")
      expect((await ask("PATCH", `/v1/members/${ann.id}`, { role: "viewer" })).status).toBe(409)
    }
    const ben = await join(tenant, "ben@owners.test", "owner")
    const both = await Promise.all([
      ann.session("DELETE", `/v1/members/${ben.id}`),
      ben.session("DELETE", `/v1/members/${ann.id}`)
    ])
    expect(both.filter(({ status }) => status === 200)).toHaveLength(1)
    const { body } = await tenant.ask("GET", "/v1/members")
    const owners = body.data.filter((one: { role: string; state: string }) => one.state === "active")
    expect(owners).toHaveLength(1)
  })

  it("of another organization is one that does not exist", async () => {
    const [tenant, other] = [await makeTenant(), await makeTenant()]
    const { id } = await join(tenant, "hidden@one.test", "viewer")
    for (const [method, path, body] of [
      ["PATCH", `/v1/members/${id}`, { role: "viewer" }],
      ["DELETE", `/v1/members/${id}`, undefined],
      ["POST", `/v1/members/${id}/resend`, undefined]
    ] as const) {
      const answer = await other.ask(method, path, body)
      expect([answer.status, answer.body.error.message]).toEqual([404, `No member has the id "${id}".`])
    }
    expect((await other.ask("GET", "/v1/members")).body.data).toEqual([])
  })

  it("acts in both modes in one session, whose keys outlive it", async () => {
    const tenant = await makeTenant()
    const { session } = await join(tenant, "modes@one.test", "owner")
    const key = { services: ["telco"], scopes: [] }
    for (const [mode, isTest] of [
      ["live", false],
      ["test", true]
    ] as const) {
      expect((await session("GET", "/v1/console/session", undefined, isTest)).body.mode).toBe(mode)
      expect((await session("POST", "/v1/keys", key, isTest)).body).toMatchObject({ mode, expiresAt: null })
    }
    await session("DELETE", "/v1/console/session", undefined, true)
    for (const isTest of [false, true])
      expect((await session("GET", "/v1/console/session", undefined, isTest)).status).toBe(401)
  })
})

describe("[platform 12.4] a link to sign in", () => {
  it("is mailed to members, with the same answer for everybody, a few times in a quarter of an hour", async () => {
    const tenant = await makeTenant()
    await join(tenant, "daily@one.test", "viewer")
    const ask = (email: string) => askAt(api.url, "")("POST", "/v1/console/sign-in-links", { email })
    const before = mails.length
    const answers = []
    for (const email of ["nobody@one.test", "daily@one.test", "daily@one.test", "daily@one.test", "daily@one.test"])
      answers.push(await ask(email))
    expect(new Set(answers.map(({ body, status }) => `${status} ${JSON.stringify(body)}`)).size).toBe(1)
    await ask("nobody@one.test")
    // The queue is in order, so this one comes behind all others.
    const other = await makeTenant()
    await join(other, "behind@one.test", "viewer")
    const link = await signInLink("behind@one.test")
    expect(mails.slice(before).filter(({ to }) => to === "daily@one.test")).toHaveLength(3)
    expect(mails.filter(({ to }) => to === "nobody@one.test")).toEqual([])
    await enter(link)
    expect((await openLink(link)).status).toBe(401)
    expect((await ask("no address")).status).toBe(400)
  })

  it("is not mailed to somebody who was invited and has not accepted, nor works after a removal", async () => {
    const tenant = await makeTenant()
    const { id } = await join(tenant, "leaving@one.test", "viewer")
    const link = await signInLink("leaving@one.test")
    await tenant.ask("DELETE", `/v1/members/${id}`)
    expect((await openLink(link)).status).toBe(401)
  })

  it("[platform 2.13] lets a member of several organizations choose, and nobody else", async () => {
    const [one, two, three] = [await makeTenant(), await makeTenant(), await makeTenant()]
    await join(one, "both@one.test", "owner")
    await join(two, "both@one.test", "viewer")
    await join(three, "third@one.test", "owner")
    const session = await enter(await signInLink("both@one.test"))
    const { body } = await session("GET", "/v1/console/session")
    expect(body.organizations).toEqual([
      { id: one.id, name: one.name, role: "owner" },
      { id: two.id, name: two.name, role: "viewer" }
    ])
    const choose = (id: string) => session("POST", "/v1/console/session/organization", { organizationId: id })
    expect((await choose(three.id)).status).toBe(404)
    const chosen = await choose(two.id)
    expect(chosen.status).toBe(201)
    expect((await session("GET", "/v1/console/session")).status).toBe(401)
    const next = asSession(chosen.headers.get("set-cookie")!.split(";")[0]!)
    expect((await next("GET", "/v1/console/session")).body).toMatchObject({
      organization: { id: two.id },
      member: { role: "viewer" }
    })
  })

  it("[platform 2.13] a link that was shown to the inviter leads to no other organization of the address", async () => {
    const [victim, thief] = [await makeTenant(), await makeTenant()]
    await join(victim, "victim@one.test", "owner")
    await thief.ask("POST", "/v1/members", { email: "victim@one.test", role: "viewer" })
    await query(api.databaseUrl, "update member_links set is_shown = true where organization_id = $1", [thief.id])
    const session = await enter(linkIn(lastMailTo("victim@one.test").text))
    const { body } = await session("GET", "/v1/console/session")
    expect(body.organizations.map(({ id }: { id: string }) => id)).toEqual([thief.id])
    const answer = await session("POST", "/v1/console/session/organization", { organizationId: victim.id })
    expect(answer.status).toBe(404)
  })
})

describe("[platform 12.5] sessions", () => {
  it("are listed with where they come from, own ones to everybody and all to owners, and are ended", async () => {
    const tenant = await makeTenant()
    const owner = await join(tenant, "owner@list.test", "owner")
    const viewer = await join(tenant, "viewer@list.test", "viewer")
    const own = (await viewer.session("GET", "/v1/console/sessions")).body.data
    expect(own).toEqual([
      {
        id: expect.stringMatching(/^ses_/),
        member: { id: viewer.id, email: "viewer@list.test", role: "viewer" },
        keyId: null,
        mode: null,
        createdAt: expect.any(Number),
        lastUsedAt: null,
        expiresAt: expect.any(Number),
        address: expect.stringMatching(/127\.0\.0\.1$/),
        browser: "Firefox on Linux",
        current: true
      }
    ])
    const all = (await owner.session("GET", "/v1/console/sessions")).body.data as ReadonlyArray<{
      readonly id: string
      readonly current: boolean
    }>
    expect(all.map(({ current }) => current).sort()).toEqual([false, true])
    const ownerId = all.find(({ current }) => current)!.id
    expect((await viewer.session("DELETE", `/v1/console/sessions/${ownerId}`)).status).toBe(404)
    const other = await makeTenant()
    expect((await other.ask("DELETE", `/v1/console/sessions/${ownerId}`)).status).toBe(404)
    expect((await owner.session("DELETE", `/v1/console/sessions/${own[0].id}`)).body).toMatchObject({ id: own[0].id })
    for (const isTest of [false, true])
      expect((await viewer.session("GET", "/v1/console/session", undefined, isTest)).status).toBe(401)
    const { body } = await tenant.ask("GET", "/v1/audit?act=session.ended")
    expect(body.data).toMatchObject([{ actor: { type: "member", id: owner.id }, object: own[0].id }])
  })
})

describe("[platform 8.3] operators", () => {
  it("list, invite and remove members, and cannot remove the last owner either", async () => {
    const tenant = await makeTenant()
    const admin = askAt(api.adminUrl!, adminKey)
    const path = `/admin/v1/organizations/${tenant.id}/members`
    const made = await admin("POST", path, { email: "first@owner.test", role: "owner" })
    expect(made.body).toMatchObject({ delivery: "mailed", role: "owner" })
    await enter(linkIn(lastMailTo("first@owner.test").text))
    expect((await admin("GET", path)).body.data).toMatchObject([{ id: made.body.id, state: "active" }])
    expect((await admin("DELETE", `/admin/v1/members/${made.body.id}`)).status).toBe(409)
    const second = await admin("POST", path, { email: "second@owner.test", role: "viewer" })
    expect((await admin("DELETE", `/admin/v1/members/${second.body.id}`)).status).toBe(200)
    expect((await admin("DELETE", `/admin/v1/members/${second.body.id}`)).status).toBe(404)
    expect((await admin("GET", "/admin/v1/organizations/org_none/members")).status).toBe(404)
    const { body } = await tenant.ask("GET", "/v1/audit")
    const acts = body.data.map(({ act, actor }: { act: string; actor: { type: string } }) => `${act} ${actor.type}`)
    expect(acts).toContain("member.invited operator")
    expect(acts).toContain("member.removed operator")
  })
})
