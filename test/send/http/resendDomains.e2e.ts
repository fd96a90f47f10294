/** The unmodified `resend` package on the platform's address: domains and suppressions. */
import { Resend } from "resend"
import { describe, expect, it } from "vitest"
import { useSendPlatform } from "./sendersPlatform.ts"

const platform = useSendPlatform()

const clientOf = async (mode: "live" | "test") => {
  const { keys } = await platform().tenant()
  return new Resend(keys[mode], { baseUrl: `${platform().url}/v1/send` })
}

describe("the resend package", () => {
  it("[platform 9.13] adds, reads, verifies, lists and removes domains", async () => {
    const { domains } = await clientOf("live")
    platform().names.answer("resend.example", { addresses: ["192.0.2.1"] })
    const { data: made, error } = await domains.create({ name: "resend.example", region: "eu-west-1" })
    expect(error).toBeNull()
    expect(made).toMatchObject({ name: "resend.example", status: "pending", region: "eu-west-1" })
    const dkim = made!.records.find(({ record }) => record === "DKIM")
    expect(dkim).toMatchObject({ type: "TXT", status: "pending" })
    for (const { name, value } of made!.records)
      platform().names.answer(name, { addresses: [], texts: [value.match(/.{1,200}/g)!] })
    expect((await domains.verify(made!.id)).data).toMatchObject({ object: "domain", id: made!.id })
    expect((await domains.get(made!.id)).data).toMatchObject({ object: "domain", id: made!.id, status: "verified" })
    const { data: list } = await domains.list({ limit: 1 })
    expect(list).toMatchObject({ object: "list", has_more: false, data: [{ id: made!.id, status: "verified" }] })
    expect((await domains.list({ after: made!.id })).data?.data).toEqual([])
    expect((await domains.remove(made!.id)).data).toEqual({ object: "domain", id: made!.id, deleted: true })
    expect((await domains.get(made!.id)).error).toMatchObject({ name: "not_found", statusCode: 404 })
  })

  it("[platform 9.13] is told which of its options there are not", async () => {
    const { domains } = await clientOf("test")
    const { error } = await domains.create({ name: "resend.example", openTracking: true })
    expect(error).toMatchObject({
      name: "validation_error",
      statusCode: 400,
      message: expect.stringContaining("open_tracking")
    })
  })

  it("adds, reads, lists and removes suppressions, several at once too", async () => {
    const { suppressions } = await clientOf("live")
    const { data: added } = await suppressions.add({ email: "bob@example.com" })
    expect(added).toEqual({ object: "suppression", id: expect.any(String) })
    const shown = { id: added!.id, email: "bob@example.com", origin: "manual", source_id: null }
    expect((await suppressions.get("bob@example.com")).data).toMatchObject(shown)
    expect((await suppressions.list({ origin: "manual", limit: 10 })).data).toMatchObject({
      object: "list",
      has_more: false,
      data: [shown]
    })
    expect((await suppressions.remove(added!.id)).data).toEqual({ ...added, deleted: true })
    expect((await suppressions.remove("bob@example.com")).error).toMatchObject({ name: "not_found", statusCode: 404 })
    const { data: several } = await suppressions.batch.add({ emails: ["one@example.com", "two@example.com"] })
    const ids = several!.data.map(({ id }) => id)
    expect((await suppressions.batch.remove({ ids })).data).toEqual({
      data: ids.map((id) => ({ object: "suppression", id, deleted: true }))
    })
  })
})
