/** Mails that nobody means well with: drawn bytes, broken mails of the corpus, and mails that are too large in one way each. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { type Feedback, parseFeedback } from "../../../../src/send/index.ts"
import { often } from "../../../support/often.ts"
import { corpusMail, corpusNames, mailOf, reportOn, status } from "./corpus.ts"

const runs = { arbitrary: { runs: often(300) } }

const failed = ["Final-Recipient: rfc822; ann@example.org", "Action: failed"]

/** What holds for every report, whatever it was read from. */
const expectBounded = (found: Feedback | null): void => {
  if (found === null) return
  expect(found.recipients.length).toBeLessThanOrEqual(100)
  expect(found.original.reportedTo.length).toBeLessThanOrEqual(16)
  expect((found.original.messageId ?? "").length).toBeLessThanOrEqual(998)
  if (found._tag === "AbuseReport") return
  for (const { action, kind, reason, recipient, status: code } of found.recipients) {
    expect(recipient).toMatch(/.@./)
    expect(recipient.length).toBeLessThanOrEqual(320)
    expect((reason ?? "").length).toBeLessThanOrEqual(500)
    expect(code).toMatch(/^[245]\.\d{1,3}\.\d{1,3}$/)
    expect(kind === "delivered").toBe(action !== "failed" && action !== "delayed")
  }
}

const Place = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 5_000 }))

/** A change of a mail: cut out, repeated, or overwritten from a place on. */
const Change = Schema.Struct({
  kind: Schema.Literals(["cut", "repeat", "overwrite", "swap"]),
  at: Place,
  length: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 200 })),
  bytes: Schema.Uint8Array
})

const changed = (mail: Buffer, { at, bytes, kind, length }: typeof Change.Type): Buffer => {
  const from = at % (mail.length + 1)
  const [head, middle, tail] = [
    mail.subarray(0, from),
    mail.subarray(from, from + length),
    mail.subarray(from + length)
  ]
  if (kind === "cut") return Buffer.concat([head, tail])
  if (kind === "repeat") return Buffer.concat([head, middle, middle, tail])
  return kind === "overwrite" ? Buffer.concat([head, bytes, tail]) : Buffer.concat([middle, head, tail])
}

describe("any bytes", () => {
  it.effect.prop(
    "are read without a failure",
    [Schema.Uint8Array],
    Effect.fnUntraced(function* ([bytes]) {
      expectBounded(yield* parseFeedback(bytes))
    }),
    runs
  )

  it.effect.prop(
    "are read without a failure as the fields of a report",
    [Schema.String, Schema.Uint8Array],
    Effect.fnUntraced(function* ([text, bytes]) {
      expectBounded(yield* parseFeedback(reportOn(...failed, `Diagnostic-Code: ${text}`, `Status: ${text}`)))
      expectBounded(yield* parseFeedback(reportOn(`Final-Recipient: ${text}`, Buffer.from(bytes).toString("latin1"))))
    }),
    runs
  )

  it.effect.prop(
    "put into a mail of the corpus leave it a mail that is read without a failure",
    [Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 10_000 })), Schema.Array(Change)],
    Effect.fnUntraced(function* ([which, changes]) {
      const mail = corpusMail(corpusNames[which % corpusNames.length]!)
      expectBounded(yield* parseFeedback(changes.reduce(changed, mail)))
    }),
    runs
  )
})

describe("what is too much", () => {
  const parsed = (mail: Uint8Array | string) => Effect.runPromise(parseFeedback(mail))
  const fields = failed.join("\r\n")

  it.each([
    ["256 KiB", "x".repeat(250_000), "x".repeat(262_144)],
    ["10,000 lines", "x\r\n".repeat(9_900), "x\r\n".repeat(10_000)]
  ])("is not read behind the first %s", async (_name, long, tooLong) => {
    const behind = (text: string) =>
      mailOf(status, [
        ["text/plain", text],
        ["message/delivery-status", fields]
      ])
    expect(await parsed(behind(long))).not.toBeNull()
    expect(await parsed(behind(tooLong))).toBeNull()
    expect(await parsed(Buffer.from(behind(tooLong)))).toBeNull()
  })

  it("is no report with long headers", async () => {
    const headed = (length: number) => `X-Long: ${"x".repeat(length)}\r\n${reportOn(...failed)}`
    expect(await parsed(headed(60_000))).not.toBeNull()
    expect(await parsed(headed(70_000))).toBeNull()
  })

  it("is no report with deep parts, and one with few levels is", async () => {
    const nested = (levels: number) => {
      let [head, tail] = ["", ""]
      for (let level = 0; level < levels; level++) {
        head += `--b${level - 1}\r\nContent-Type: multipart/mixed; boundary="b${level}"\r\n\r\n`
        tail = `\r\n--b${level}--${tail}`
      }
      const report = `--b${levels - 1}\r\nContent-Type: message/delivery-status\r\n\r\n${fields}\r\n`
      return `From: <>\r\nContent-Type: ${status}; boundary="b-1"\r\n\r\n${head}${report}${tail}\r\n--b-1--\r\n`
    }
    expect(await parsed(nested(3))).not.toBeNull()
    expect(await parsed(nested(300))).toBeNull()
  })

  it("ends a list of recipients", async () => {
    const many = Array.from(
      { length: 500 },
      (_, at) => `Final-Recipient: rfc822; a${at}@example.org\r\nAction: failed\r\n`
    )
    expect((await parsed(reportOn(...many)))?.recipients).toHaveLength(100)
  })

  it("ends a list of parts", async () => {
    const many = Array.from({ length: 40 }, () => ["application/x-filler", "x"] as const)
    const report = ["message/delivery-status", fields] as const
    expect(await parsed(mailOf(status, [report, ...many]))).not.toBeNull()
    expect(await parsed(mailOf(status, [...many, report]))).toBeNull()
  })

  it.each([
    ["folded lines", " x\r\n".repeat(9_000)],
    ["spaces", " ".repeat(120_000)],
    ["digits and dots", "5.1.".repeat(30_000)],
    ["brackets", "<(".repeat(60_000)],
    ["plus signs", "+40".repeat(40_000)],
    ["words before a reply", "said error smtp ".repeat(7_500)]
  ])("leaves a report a report: %s", async (_name, text) => {
    const mail = reportOn(
      ...failed,
      `Status: 5.1.1 ${text}`,
      `Diagnostic-Code: smtp; 550 ${text}`,
      `Remote-MTA: ${text}`
    )
    expect((await parsed(mail))?.recipients).toMatchObject([{ recipient: "ann@example.org", status: "5.1.1" }])
  })
})
