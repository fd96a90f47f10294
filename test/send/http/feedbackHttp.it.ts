/** Other mail systems report with a site credential, over HTTP (docs/platform.md, 9.17). */
import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { promisify } from "node:util"
import { Effect } from "effect"
import { describe, expect, it, vi } from "vitest"
import { OutcomeUnknown, Overloaded, PartitionUnavailable } from "../../../src/engine/errors.ts"
import { senderKey } from "../../../src/send/account/actors/index.ts"
import { SendSender } from "../../../src/send/index.ts"
import { until } from "../../cli/support.ts"
import { devils } from "../../http/contract/devils.ts"
import type { Ask } from "../../webhooks/platform.ts"
import { type Account, mail, senderDomain, useSendPlatform } from "./emailsPlatform.ts"

const platform = useSendPlatform()
const path = "/v1/send/feedback"

/** An email that the relay has, of some recipients. */
const handedOver = async ({ sent, tell }: Account, recipients: ReadonlyArray<string>): Promise<string> => {
  const id = await sent({ to: recipients })
  await tell({ _tag: "Dispatch", emails: [{ id, sender: senderDomain, recipients }] })
  await tell({ _tag: "Report", reports: [{ id, sender: senderDomain, what: "handedOver" }] })
  return id
}

const reportOf = (id: string, more: object = {}) => ({
  id,
  from: mail.from,
  recipient: "bob@two.test",
  what: "delivered",
  ...more
})

const outcomes = async (site: Ask, body: unknown): Promise<ReadonlyArray<string>> => {
  const answer = await site("POST", path, body)
  expect(answer.status, JSON.stringify(answer.body)).toBe(202)
  const { data } = answer.body as { readonly data: ReadonlyArray<{ readonly id: string; readonly outcome: string }> }
  const given = [body].flat() as ReadonlyArray<{ readonly id: string }>
  expect(data.map(({ id }) => id)).toEqual(given.map(({ id }) => id))
  return data.map(({ outcome }) => outcome)
}

const suppressed = async ({ ask }: Account): Promise<ReadonlyArray<string>> => {
  const { data } = (await ask("GET", "/v1/send/suppressions?limit=100")).body as {
    readonly data: ReadonlyArray<{ readonly email: string }>
  }
  return data.map(({ email }) => email).sort()
}

describe("feedback", () => {
  it("[platform 9.17] reaches the email, the suppression list and whoever sends there next, once", async () => {
    const account = await platform().account()
    const site = await account.site()
    const id = await handedOver(account, ["bob@two.test", "cara@two.test"])
    const bounce = reportOf(id, { what: "bounced", code: "5.1.1", reason: "No such user", subject: mail.subject })
    const body = [reportOf(id, { recipient: "cara@two.test" }), bounce]
    expect(await outcomes(site, body)).toEqual(["taken", "taken"])
    expect(await account.stateOf(id)).toBe("bounced")
    expect(await outcomes(site, bounce)).toEqual(["taken"])
    expect(await outcomes(site, [...body, ...body])).toEqual(["taken", "taken", "taken", "taken"])
    await until(async () => (await suppressed(account)).join() === "bob@two.test")
    const shown = async () =>
      (await account.ask("GET", `/v1/send/emails/${id}`)).body as {
        readonly history: ReadonlyArray<{ readonly state: string; readonly recipient?: string }>
      }
    await until(async () => (await shown()).history.at(-1)?.recipient === "bob@two.test")
    expect((await shown()).history.slice(3).map(({ recipient, state }) => [state, recipient])).toEqual([
      ["delivered", "cara@two.test"],
      ["bounced", "bob@two.test"]
    ])
    const next = await account.ask("POST", "/v1/send/emails", mail)
    expect(next.body).toMatchObject({ state: "suppressed", suppressed: ["bob@two.test"] })
  })

  it("of a temporary bounce suppresses nobody, and a complaint does", async () => {
    const account = await platform().account()
    const site = await account.site()
    const id = await handedOver(account, ["bob@two.test", "cara@two.test"])
    expect(await outcomes(site, reportOf(id, { what: "bounced", kind: "temporary" }))).toEqual(["taken"])
    expect(await outcomes(site, reportOf(id, { what: "complained", recipient: "cara@two.test" }))).toEqual(["taken"])
    expect(await account.stateOf(id)).toBe("complained")
    await until(async () => (await suppressed(account)).join() === "cara@two.test")
  })

  it("is of the test account where it says so", async () => {
    const account = await platform().account({ mode: "test" })
    const site = await account.site()
    const id = await handedOver(account, ["bob@two.test"])
    expect(await outcomes(site, reportOf(id))).toEqual(["unknown"])
    expect(await outcomes(site, reportOf(id, { mode: "test" }))).toEqual(["taken"])
    expect(await account.stateOf(id)).toBe("delivered")
  })

  it("takes a hundred reports of the longest texts", async () => {
    const account = await platform().account()
    const site = await account.site()
    const recipients = Array.from({ length: 50 }, (_, at) => `bob${at}@two.test`)
    const ids = [await handedOver(account, recipients), await handedOver(account, recipients)]
    const reports = ids.flatMap((id) =>
      recipients.map((recipient) =>
        reportOf(id, { recipient, what: "bounced", subject: "s", reason: "r".repeat(1_000) })
      )
    )
    expect(new Set(await outcomes(site, reports))).toEqual(new Set(["taken"]))
    await until(async () => (await suppressed(account)).length === recipients.length)
    expect(await account.stateOf(ids[1]!)).toBe("bounced")
    // Texts of which each is many bytes in the log.
    const long = "\u0001".repeat(1_000)
    const more = recipients
      .slice(0, 15)
      .map((recipient) =>
        reportOf(ids[0]!, { recipient, what: "complained", reason: long, subject: "\u0001".repeat(1_500) })
      )
    expect(new Set(await outcomes(site, more))).toEqual(new Set(["taken"]))
  })

  it("of an email that is nobody's, another organization's, another sender's or was not sent does nothing", async () => {
    const one = await platform().account()
    const other = await platform().account()
    const [site, otherSite] = [await one.site(), await other.site()]
    const id = await handedOver(one, ["bob@two.test"])
    const waiting = await one.sent()
    const bounced = (of: string, more: object = {}) => reportOf(of, { what: "bounced", ...more })
    expect(await outcomes(otherSite, bounced(id))).toEqual(["unknown"])
    const body = [
      bounced("em_none"),
      bounced(waiting),
      bounced(id, { from: "eve@else.test" }),
      bounced(id, { mode: "test" })
    ]
    expect(await outcomes(site, body)).toEqual(["unknown", "unsent", "unknown", "unknown"])
    expect([await one.stateOf(id), await one.stateOf(waiting)]).toEqual(["sent", "queued"])
    expect([await suppressed(one), await suppressed(other)]).toEqual([[], []])
  })
})

describe("feedback while it cannot be counted", () => {
  const faults = [
    new PartitionUnavailable({ partition: 0, reason: "it restarts", retryAfterMillis: 1_500 }),
    new Overloaded({ partition: 0, retryAfterMillis: 1_500 }),
    new OutcomeUnknown({ partition: 0 })
  ]
  it.each(faults)("is 503 for $_tag, says when to come again, and counts once then", async (fault) => {
    const account = await platform().account()
    const site = await account.site()
    const id = await handedOver(account, ["bob@two.test"])
    const report = reportOf(id, { what: "bounced", subject: mail.subject })
    // What a report is told by; what emails are looked at by answers as ever.
    const away = vi.spyOn(platform().engine, "ask").mockReturnValue(Effect.fail(fault) as never)
    try {
      const answer = await site("POST", path, report)
      expect([answer.status, answer.body]).toMatchObject([503, { error: { code: "unavailable" } }])
      expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0)
      expect(JSON.stringify(answer.body)).not.toMatch(/partition|engine/i)
      expect(away).toHaveBeenCalled()
    } finally {
      away.mockRestore()
    }
    expect(await account.stateOf(id)).toBe("sent")
    expect(await outcomes(site, report)).toEqual(["taken"])
    expect(await account.stateOf(id)).toBe("bounced")
  })
})

describe("the documented example", () => {
  it("runs as it stands, for an email of one's own", async () => {
    const text = readFileSync(new URL("../../../docs/platform/send.md", import.meta.url), "utf8")
    const section = /^### 9\.17 [\s\S]*/m.exec(text)![0]
    const [, command, answer] = /```sh\n(curl [\s\S]*?)```\n\n```json\n([\s\S]*?)```/.exec(section)!
    const account = await platform().account()
    const sender = { organization: account.organization, key: senderKey("live", "demo.test") }
    await Effect.runPromise(platform().engine.ask(SendSender, sender, { _tag: "Verify" }))
    const recipients = ["bob@example.com"]
    const id = await account.sent({ from: "Ann <ann@demo.test>", to: recipients })
    await account.tell({ _tag: "Dispatch", emails: [{ id, sender: "demo.test", recipients }] })
    await account.tell({ _tag: "Report", reports: [{ id, sender: "demo.test", what: "handedOver" }] })
    const [documented] = /em_\w+/.exec(command!)!
    const environment = { PATH: process.env.PATH, SITE: await account.siteCredential(), API: platform().url }
    const own = command!.replaceAll(documented, id)
    const { stdout } = await promisify(execFile)("bash", ["-c", own], { env: environment })
    expect(JSON.parse(stdout)).toEqual(JSON.parse(answer!.replaceAll(documented, id)))
    expect(await account.stateOf(id)).toBe("bounced")
  })
})

describe("feedback that is refused", () => {
  it("comes without a good site credential", async () => {
    const account = await platform().account()
    const body = reportOf(await handedOver(account, ["bob@two.test"]))
    const refused = { error: { code: "unauthorized", message: "Invalid or missing site credential" } }
    const none = await account.ask("POST", path, body, { authorization: "" })
    for (const answer of [none, await account.ask("POST", path, body)])
      expect([answer.status, answer.body]).toEqual([401, refused])
    // It opens nothing else.
    expect((await (await account.site())("GET", "/v1/send/emails")).status).toBe(401)
    expect(await account.stateOf(body.id)).toBe("sent")
  })

  it("is malformed, and then nothing of it was done", async () => {
    const account = await platform().account()
    const site = await account.site()
    const id = await handedOver(account, ["bob@two.test"])
    const good = reportOf(id)
    const { what: _, ...without } = good
    const expected = "Expected a report, or a list of 1 to 100"
    const cases: ReadonlyArray<readonly [body: unknown, message: string]> = [
      [without, "Missing required field 'what'."],
      [{ ...good, what: "opened" }, "Invalid field 'what'. Expected one of delivered, bounced, complained."],
      [[good, { ...good, mode: "dry" }], "Invalid field '1.mode'. Expected one of live, test."],
      [{ ...good, kind: "soft" }, "Invalid field 'kind'. Expected one of permanent, temporary, reputation."],
      [{ ...good, recipient: "two.test" }, "Invalid field 'recipient'. Expected an address such as bob@example.com."],
      [{ ...good, id: "" }, "Invalid field 'id'. Expected one line of 1 to 64 characters."],
      [
        { ...good, reason: "a\u0000" },
        "Invalid field 'reason'. Expected text without U+0000 and without half a surrogate pair."
      ],
      [{ ...good, recipiant: 1 }, "Unknown field \"recipiant\". Did you mean 'recipient'?"],
      [[good, { ...good, wat: 1 }], "Unknown field \"1.wat\". Did you mean '1.what'?"],
      [[], `Invalid request body. ${expected}.`],
      [Array.from({ length: 101 }, () => good), `Invalid request body. ${expected}.`],
      ["null", "Invalid request body. Expected a JSON object."]
    ]
    for (const [body, message] of cases) {
      const answer = await site("POST", path, body)
      expect([answer.status, answer.body], JSON.stringify(body)).toEqual([
        400,
        { error: { code: "invalid_request", message } }
      ])
    }
    expect((await site("POST", `${path}?a=1`, good)).status).toBe(400)
    const large = await site("POST", path, { ...good, reason: "x".repeat(300_000) })
    expect([large.status, large.body]).toMatchObject([413, { error: { code: "payload_too_large" } }])
    expect(await account.stateOf(id)).toBe("sent")
    expect(await outcomes(site, good)).toEqual(["taken"])
  })

  it("holds whatever, in whatever field: it is taken or 400, and what is read from it goes on", async () => {
    const account = await platform().account()
    const site = await account.site()
    const id = await handedOver(account, ["bob@two.test"])
    for (const field of ["id", "from", "recipient", "what", "code", "complaint", "reason", "subject"])
      for (const devil of devils) {
        const body = reportOf(id, { what: "complained", subject: "Hello", [field]: devil })
        const { status } = await site("POST", path, body)
        expect([202, 400], `${field} ${JSON.stringify(devil)}`).toContain(status)
      }
    // Behind all of them.
    await outcomes(site, reportOf(id, { what: "complained", recipient: "last@two.test", subject: "Hello" }))
    await until(async () => (await suppressed(account)).includes("last@two.test"))
  })
})
