/** Emails found by their texts over HTTP, and rows that were written without terms (docs/platform.md, 9.20). */
import { Context, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { describe, expect, it } from "vitest"
import { MessageContents } from "../../../src/send/emails/contents/MessageContents.ts"
import { sweepTerms } from "../../../src/send/emails/layerTermsSweep.ts"
import { query, until } from "../../cli/support.ts"
import { useSharedApi } from "../../support/sharedApi.ts"
import { askAt } from "../../webhooks/platform.ts"
import { type Account, useSendPlatform } from "../http/emailsPlatform.ts"

const platform = useSendPlatform()
const shared = useSharedApi((api) => api)

interface Page {
  readonly data: ReadonlyArray<{ readonly id: string; readonly subject: string; readonly key_id: string | null }>
  readonly pagination: {
    readonly hasMore: boolean
    readonly nextCursor?: string
    readonly total?: { readonly count: number; readonly isExact: boolean }
  }
}

const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString()

const page = async ({ ask }: Pick<Account, "ask">, parameters: string): Promise<Page> => {
  const answer = await ask("GET", `/v1/send/emails?${parameters}`)
  expect([parameters, answer.status]).toEqual([parameters, 200])
  return answer.body as Page
}

const subjects = async (account: Pick<Account, "ask">, parameters: string) =>
  (await page(account, parameters)).data.map(({ subject }) => subject).join(", ")

const rowsOf = (organization: string) =>
  query(
    platform().databaseUrl,
    "select terms from send_email_terms where organization_id = $1 order by accepted_at, id",
    [organization]
  ) as Promise<ReadonlyArray<{ readonly terms: ReadonlyArray<number> | null }>>

const written = (organization: string, count: number) =>
  until(async () => (await rowsOf(organization)).length === count)

describe("[platform 9.20] emails", () => {
  it("are found by recipients, sender, subject and key, alone and together", async () => {
    const account = await platform().account()
    const { organization, sent } = account
    const second = { ...account, ask: askAt(platform().url, await account.newKey()) }
    await sent({ to: "Ada Lovelace <ada@two.test>", subject: "Order 1" })
    await sent({ to: ["bob@two.test"], cc: "ada@three.test", subject: "Order 2", scheduled_at: inAnHour() })
    await second.ask("POST", "/v1/send/emails", {
      from: "Shop <x@one.test>",
      to: "eve@four.test",
      subject: "Bill 3",
      text: "."
    })
    await written(organization, 3)
    for (const [parameters, expected] of [
      ["to=ada", "Order 2, Order 1"],
      ["to=ada%40two.test", "Order 1"],
      ["to=LOVE", "Order 1"],
      ["from=shop", "Bill 3"],
      ["from=one.test&subject=order", "Order 2, Order 1"],
      ["subject=order%202", "Order 2"],
      ["search=ada%20order%201", "Order 1"],
      ["search=shop", "Bill 3"],
      ["to=ada&state=scheduled", "Order 2"],
      ["subject=order&domain=one.test&state=queued", "Order 1"],
      ["subject=order&domain=two.test", ""],
      [`subject=order&until=${Date.now() - 3_600_000}`, ""],
      ["subject=nothing", ""]
    ] as const)
      expect([parameters, await subjects(account, parameters)]).toEqual([parameters, expected])
    const [bill] = (await page(account, "from=shop")).data
    expect(await subjects(account, `key=${bill!.key_id}`)).toBe("Bill 3")
    expect(await subjects(account, "key=key_of_nobody")).toBe("")
  })

  it("come in pages, newest first and both ways, with their number", async () => {
    const account = await platform().account()
    for (let number = 1; number <= 5; number++) await account.sent({ subject: `Letter ${number}` })
    await account.sent({ subject: "Other" })
    await written(account.organization, 6)
    const first = await page(account, "subject=let&limit=2&include=total")
    expect(first.pagination).toMatchObject({ hasMore: true, total: { count: 5, isExact: true } })
    const next = `subject=let&limit=2&cursor=${first.pagination.nextCursor}`
    expect(await subjects(account, next)).toBe("Letter 3, Letter 2")
    expect(await subjects(account, `subject=let&before=${first.data[1]!.id}`)).toBe("Letter 5")
    expect(await subjects(account, `subject=let&after=${first.data[1]!.id}`)).toBe("Letter 3, Letter 2, Letter 1")
    // The terms alone do not tell `lette` from `letter`.
    expect((await page(account, "subject=letter&include=total")).pagination.total).toEqual({ count: 5, isExact: false })
    const answer = await account.ask("GET", `/v1/send/emails?subject=other&cursor=${first.pagination.nextCursor}`)
    expect(answer.status).toBe(400)
  })

  it("of another organization or mode are not found", async () => {
    const one = await platform().account()
    const other = await platform().account()
    await one.sent({ subject: "Secret" })
    await other.sent({ subject: "Plain" })
    await written(one.organization, 1)
    await written(other.organization, 1)
    expect(await subjects(other, "subject=secret")).toBe("")
    const test = { ask: askAt(platform().url, await one.newKey({ mode: "test" })) }
    expect(await subjects(test, "subject=secret")).toBe("")
    expect(await subjects(one, "subject=secret")).toBe("Secret")
  })

  it("refuse what is no text to search for", async () => {
    const account = await platform().account()
    for (const parameters of [
      "to=%20",
      "subject=%40",
      `search=${"a%20".repeat(17)}`,
      `from=${"a".repeat(201)}`,
      "key=a%20b"
    ])
      expect([parameters, (await account.ask("GET", `/v1/send/emails?${parameters}`)).status]).toEqual([
        parameters,
        400
      ])
  })

  it("whose terms were lost are found after the sweep", async () => {
    const account = await platform().account()
    await account.sent({ subject: "Lost" })
    await written(account.organization, 1)
    await query(platform().databaseUrl, "update send_email_terms set terms = null where organization_id = $1", [
      account.organization
    ])
    expect(await subjects(account, "subject=lost")).toBe("")
    const { services } = shared()
    await Effect.runPromise(
      sweepTerms(Context.get(services, SqlClient.SqlClient), Context.get(services, MessageContents))
    )
    expect(await subjects(account, "subject=lost")).toBe("Lost")
  })
})
