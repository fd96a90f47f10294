/** The suppression list over HTTP, and what it does to emails. */
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { Engine } from "../../../src/engine/Engine.ts"
import { SendSuppressions, suppressionPlace } from "../../../src/send/index.ts"
import { patienceMillis } from "../../support/patience.ts"
import { useSendPlatform } from "./sendersPlatform.ts"

const platform = useSendPlatform()
const path = "/v1/send/suppressions"

describe("a suppressed address", () => {
  it("is added, listed, kept from mail, and taken off by its id or itself", async () => {
    const { admitted, live } = await platform().tenant()
    const added = await live("POST", path, { email: "Bob@Example.com" })
    expect([added.status, added.body]).toEqual([201, { object: "suppression", id: expect.stringMatching(/^sup_/) }])
    expect((await live("POST", path, { email: "bob@example.com" })).body).toEqual(added.body)
    const listed = { id: added.body.id, email: "bob@example.com", origin: "manual", source_id: null }
    const { body } = await live("GET", path)
    expect(body).toMatchObject({ object: "list", has_more: false, data: [listed], pagination: { hasMore: false } })
    for (const one of [added.body.id, "bob%40example.com", "Bob@Example.com"])
      expect((await live("GET", `${path}/${one}`)).body).toMatchObject({ object: "suppression", ...listed })

    await live("POST", "/v1/send/senders", { email: "ann@sup.example" })
    await fetch(platform().mails.at(-1)!.link, { method: "POST" })
    expect(await admitted("live", "ann@sup.example", "bob@example.com")).toBe("suppressed")
    expect((await live("DELETE", `${path}/${added.body.id}`)).body).toEqual({ ...added.body, deleted: true })
    expect(await admitted("live", "ann@sup.example", "bob@example.com")).toBe("queued")
    expect((await live("GET", path)).body.data).toEqual([])
    for (const method of ["GET", "DELETE"])
      for (const one of [added.body.id, "bob@example.com"])
        expect((await live(method, `${path}/${one}`)).status, `${method} ${one}`).toBe(404)

    await live("POST", path, { email: "bob@example.com" })
    expect((await live("DELETE", `${path}/bob@example.com`)).status).toBe(200)
  })

  it("is added once under an Idempotency-Key, and its repeat does not bring it back", async () => {
    const { live, test } = await platform().tenant()
    const key = { "idempotency-key": "add-bob" }
    const added = await live("POST", path, { email: "bob@example.com" }, key)
    expect([added.status, added.headers.get("idempotency-replayed")]).toEqual([201, null])
    expect((await live("DELETE", `${path}/bob@example.com`)).status).toBe(200)
    const again = await live("POST", path, { email: "bob@example.com" }, key)
    expect([again.status, again.headers.get("idempotency-replayed"), again.body]).toEqual([201, "true", added.body])
    expect((await live("GET", path)).body.data).toEqual([])
    const batch = await live("POST", `${path}/batch/add`, { emails: ["bob@example.com"] }, key)
    expect([batch.status, batch.body.error.code]).toEqual([409, "idempotency_conflict"])
    // Each mode has keys of its own.
    expect((await test("POST", path, { email: "eve@example.com" }, key)).status).toBe(201)
  })

  it("comes on the list by what is reported of it, with its origin", async () => {
    const tenant = await platform().tenant()
    const organization = tenant.organization
    const suppress = (address: string, reason: "bounced" | "complained") => {
      const { key } = suppressionPlace(organization, "live", address)
      return platform().run(
        Effect.flatMap(Engine, (engine) =>
          engine.ask(SendSuppressions, { organization, key }, { _tag: "Suppress", address, reason })
        )
      )
    }
    await suppress("Full <full@example.com>", "bounced")
    await suppress("angry@example.com", "complained")
    const emails = async (query = "") =>
      (await tenant.live("GET", `${path}${query}`)).body.data.map((one: { readonly email: string }) => one.email).sort()
    await expect.poll(() => emails(), { timeout: patienceMillis }).toEqual(["angry@example.com", "full@example.com"])
    expect(await emails("?origin=bounce")).toEqual(["full@example.com"])
    expect(await emails("?origin=complaint")).toEqual(["angry@example.com"])
    expect(await emails("?origin=manual")).toEqual([])
    expect((await tenant.live("GET", `${path}?origin=other`)).status).toBe(400)
    expect((await tenant.test("GET", path)).body.data).toEqual([])
  })

  it("may be added and taken off with others, each with an answer in order", async () => {
    const { live } = await platform().tenant()
    const emails = ["one@example.com", "two@example.com", "ONE@example.com"]
    const added = await live("POST", `${path}/batch/add`, { emails })
    expect(added.status).toBe(201)
    const [one, two, again] = added.body.data.map(({ id }: { readonly id: string }) => id)
    expect([again, one === two]).toEqual([one, false])
    expect((await live("GET", `${path}?limit=1`)).body.has_more).toBe(true)
    const removed = await live("POST", `${path}/batch/remove`, { ids: [two, "sup_none", two] })
    expect(removed.body.data).toEqual([
      { object: "suppression", id: two, deleted: true },
      { object: "suppression", id: "sup_none", deleted: false },
      { object: "suppression", id: two, deleted: false }
    ])
    const byAddress = await live("POST", `${path}/batch/remove`, { emails: ["one@example.com", "three@example.com"] })
    expect(byAddress.body.data.map(({ deleted }: { readonly deleted: boolean }) => deleted)).toEqual([true, false])
    expect((await live("GET", path)).body.data).toEqual([])
  })

  it.each([
    ["", { email: "no address" }],
    ["", { email: "delivered@simulator.invalid" }],
    ["", {}],
    ["/batch/add", { emails: [] }],
    ["/batch/add", { emails: Array.from({ length: 101 }, (_, at) => `a${at}@example.com`) }],
    ["/batch/add", { emails: ["ann@example.com", "no address"] }],
    ["/batch/remove", {}],
    ["/batch/remove", { emails: ["sup_a"] }],
    ["/batch/remove", { ids: ["sup_a"], emails: ["ann@example.com"] }]
  ])("%s is not %j", async (at, body) => {
    const { live } = await platform().tenant()
    const answer = await live("POST", `${path}${at}`, body)
    expect([answer.status, answer.body.error.code]).toEqual([400, "invalid_request"])
    expect((await live("GET", path)).body.data).toEqual([])
  })
})
