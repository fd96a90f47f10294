/** Lists of emails as CSV (docs/platform.md, 9.20): every email once, in pages as they are taken, and safe to open. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { csvLine } from "../../../src/http/csvLine.ts"
import type { EmailView } from "../../../src/send/emails/Emails.ts"
import { makeEmailsCsv, maximumCsvEmails } from "../../../src/send/http/emailsCsv.ts"

const owner = { organizationId: "org_1", mode: "live" as const }

const email = (number: number): EmailView => ({
  id: `em_${number}`,
  state: "sent",
  acceptedAt: number,
  scheduledAt: null,
  history: [],
  message: null,
  held: null
})

/** A list of so many emails, and the pages that were read of it. */
const listOf = (count: number) => {
  let pages = 0
  const list = (
    _: unknown,
    { cursor = "0", limit }: { readonly cursor?: string | undefined; readonly limit: number }
  ) =>
    Effect.sync(() => {
      pages++
      const from = Number(cursor)
      const to = Math.min(count, from + limit)
      const data = Array.from({ length: to - from }, (__, at) => email(from + at))
      return { data, pagination: to < count ? { hasMore: true, nextCursor: String(to) } : { hasMore: false } }
    })
  return { list, read: () => pages }
}

describe("[platform 9.20] an export of emails", () => {
  it.effect.each([0, 1, 499, 500, 501, 1_200])("of %d has each of them once, in order", (count) =>
    Effect.gen(function* () {
      const csv = makeEmailsCsv(listOf(count))
      const lines = (yield* Stream.mkString(Stream.decodeText(yield* csv(owner, {})))).split("\r\n")
      assert.strictEqual(lines[0], "id,state,from,to,cc,bcc,subject,created_at,scheduled_at,key_id")
      assert.deepStrictEqual(
        lines.slice(1, -1).map((line) => line.split(",")[0]),
        Array.from({ length: count }, (_, number) => `em_${number}`)
      )
    }).pipe(Effect.scoped)
  )

  it.effect("ends at its most emails, and reads pages only as they are taken", () =>
    Effect.gen(function* () {
      const { list, read } = listOf(maximumCsvEmails + 1_000)
      const bytes = yield* makeEmailsCsv({ list })(owner, {})
      yield* Stream.runDrain(Stream.take(bytes, 1))
      assert.isAtMost(read(), 3)
      const text = yield* Stream.mkString(Stream.decodeText(bytes))
      assert.strictEqual(text.split("\r\n").length, maximumCsvEmails + 2)
    }).pipe(Effect.scoped)
  )

  it("quotes what has signs of CSV, and disarms what a spreadsheet would run", () => {
    assert.strictEqual(
      csvLine(["a,b", 'say "hi"', "two\r\nlines", null, "plain"]),
      '"a,b","say ""hi""","two\r\nlines",,plain\r\n'
    )
    assert.strictEqual(csvLine(["=1+1", "+1", "-1", "@x", "\tx"]), "'=1+1,'+1,'-1,'@x,'\tx\r\n")
  })
})
