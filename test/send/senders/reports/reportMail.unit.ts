/** Mails with reports: where the report is found, how it is unpacked, and archives that would fill the memory. */
import { gzipSync } from "node:zlib"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { parseReportMail } from "../../../../src/send/senders/reports/parseReportMail.ts"
import { unpackReport } from "../../../../src/send/senders/reports/unpackReport.ts"
import { often } from "../../../support/often.ts"
import { bareMail, draftXml, gzipMail, mailWith, microsoftXml, tlsJson, yahooXml, zipOf } from "./samples.ts"

const reading = (mail: string) => Effect.runPromise(Effect.result(parseReportMail(Buffer.from(mail, "latin1"))))
const read = async (mail: string) => {
  const result = await reading(mail)
  return result._tag === "Success" ? `${result.success.kind} ${result.success.reporter}` : result.failure.reason
}

const zip = zipOf([{ name: "report.xml", content: Buffer.from(microsoftXml) }])
const tls = tlsJson("acme.example", "2026-11-26")

describe("a mail with a report", () => {
  it.each([
    ["zip, and nothing else", bareMail("application/zip", zip), "dmarc Enterprise Outlook"],
    ["zip after words", mailWith("application/zip", zip), "dmarc Enterprise Outlook"],
    ["gzip", gzipMail(yahooXml), "dmarc Yahoo"],
    ["gzip of no type", mailWith("application/octet-stream", gzipSync(yahooXml)), "dmarc Yahoo"],
    ["XML as it is", mailWith("application/xml", Buffer.from(draftXml)), "dmarc Reporter"],
    ["text/xml, with a mark of its order", mailWith("text/xml", Buffer.from(`\ufeff${draftXml}`)), "dmarc Reporter"],
    ["TLS in gzip", mailWith("application/tlsrpt+gzip", gzipSync(tls)), "tls Google Inc."],
    ["TLS as it is", mailWith("application/tlsrpt+json", Buffer.from(tls)), "tls Google Inc."]
  ])("is found: %s", async (_, mail, expected) => expect(await read(mail)).toBe(expected))

  it.each([
    ["no attachment", "Subject: Hi\r\n\r\nHello", "no attachment"],
    ["a picture", mailWith("image/png", Buffer.from("\x89PNG")), "no attachment"],
    ["an archive of two files", bareMail("application/zip", zipOf(["a", "b"].map(twice))), "exactly one file"],
    ["an empty archive", bareMail("application/zip", zipOf([])), "no attachment"],
    ["half an archive", bareMail("application/zip", zip.subarray(0, 200)), "damaged"],
    ["half of gzip", bareMail("application/gzip", gzipSync(yahooXml).subarray(0, 200)), "damaged"],
    ["another document", gzipMail("<html/>"), "no report about DMARC"],
    ["too many lines", `Subject: Hi\r\n\r\n${"\r\n".repeat(20_001)}`, "too long"],
    ["too many bytes", `Subject: Hi\r\n\r\n${"x".repeat(1_560_000)}`, "too long"]
  ])("is none: %s", async (_, mail, reason) => expect(await read(mail)).toContain(reason))

  it("in Latin letters is read", async () => {
    const latin = Buffer.from(yahooXml.replace("Yahoo", "Société"), "latin1")
    expect(await read(mailWith("application/gzip", gzipSync(latin)))).toBe("dmarc Société")
  })
})

function twice(name: string) {
  return { name, content: Buffer.from(microsoftXml) }
}

const unpacked = (bytes: Buffer) =>
  Effect.runPromise(
    Effect.match(unpackReport(bytes), { onSuccess: (text) => text.length, onFailure: ({ reason }) => reason })
  )

describe("an archive", () => {
  const most = 4_194_304
  const large = Buffer.alloc(most + 1, "x")

  it("unpacks to 4 MiB, and no byte more", async () => {
    expect(await unpacked(gzipSync(large.subarray(1)))).toBe(most)
    expect(await unpacked(gzipSync(large))).toContain("more than 4194304")
    expect(await unpacked(zipOf([{ name: "a", content: large.subarray(1) }]))).toBe(most)
    expect(await unpacked(zipOf([{ name: "a", content: large }]))).toContain("more than 4194304")
  })

  it("that would fill the memory costs no more than a long report", async () => {
    const bomb = gzipSync(Buffer.alloc(32 * 1024 * 1024))
    expect(bomb.length).toBeLessThan(50_000)
    const before = process.memoryUsage().arrayBuffers
    expect(await unpacked(bomb)).toContain("more than 4194304")
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(16 * 1024 * 1024)
  })

  it("that lies about its size is not believed", async () => {
    expect(await unpacked(zipOf([{ name: "a", content: large, claimed: 10 }]))).toContain("damaged")
    expect(await unpacked(zipOf([{ name: "a", content: Buffer.from("ab"), claimed: 10 }]))).toContain("damaged")
  })

  const Change = Schema.Struct({
    isZip: Schema.Boolean,
    at: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2_000 })),
    bytes: Schema.Uint8Array
  })
  const packed = [gzipSync(yahooXml), zip] as const

  it.effect.prop(
    "with bytes overwritten is a bounded text, or has a reason why it is none",
    [Change],
    Effect.fnUntraced(function* ([{ at, bytes, isZip }]) {
      const archive = Buffer.from(packed[isZip ? 1 : 0])
      Buffer.from(bytes).copy(archive, at % archive.length)
      const outcome = yield* Effect.result(unpackReport(archive))
      if (outcome._tag === "Success") expect(outcome.success.length).toBeLessThanOrEqual(most)
      else expect(outcome.failure.reason).toMatch(/^[ -~]{5,200}$/)
    }),
    { arbitrary: { runs: often(200) } }
  )

  it.effect.prop(
    "of any bytes is a bounded text, or none",
    [Schema.Uint8Array],
    Effect.fnUntraced(function* ([bytes]) {
      const outcome = yield* Effect.result(parseReportMail(bytes))
      expect(outcome._tag).toBe("Failure")
    }),
    { arbitrary: { runs: often(100) } }
  )
})
