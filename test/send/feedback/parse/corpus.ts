/** Mails of the corpus, and mails made of parts. */
import { readdirSync, readFileSync } from "node:fs"

const folder = new URL("corpus/", import.meta.url)

/** The names of the mails, without `.eml`. */
export const corpusNames: ReadonlyArray<string> = readdirSync(folder)
  .filter((file) => file.endsWith(".eml"))
  .map((file) => file.slice(0, -".eml".length))

/** A mail as it is stored, its lines ended by LF. */
export const corpusMail = (name: string): Buffer => readFileSync(new URL(`${name}.eml`, folder))

/** A mail with other ends of lines. */
export const withLineEnds = (mail: Buffer, end: string): Buffer =>
  Buffer.from(mail.toString("latin1").replace(/\r?\n/g, end), "latin1")

/** A mail of parts, each with its type, from a mail system. */
export const mailOf = (
  type: string,
  parts: ReadonlyArray<readonly [type: string, text: string]>,
  headers: ReadonlyArray<string> = []
): string =>
  [
    "Return-Path: <>",
    "From: MAILER-DAEMON@mx.example.org",
    "To: bounce@example.com",
    "Message-ID: <of-the-report@mx.example.org>",
    ...headers,
    `Content-Type: ${type}; boundary="limit"`,
    "",
    ...parts.flatMap(([partType, text]) => ["--limit", `Content-Type: ${partType}`, "", text]),
    "--limit--",
    ""
  ].join("\r\n")

export const status = "multipart/report; report-type=delivery-status"
export const feedback = "multipart/report; report-type=feedback-report"

/** A delivery status notification with these fields of a recipient. */
export const reportOn = (...fields: ReadonlyArray<string>): string =>
  mailOf(status, [
    ["text/plain", "It was not delivered."],
    ["message/delivery-status", ["Reporting-MTA: dns; mx.example.org", "", ...fields].join("\r\n")],
    ["text/rfc822-headers", "Message-ID: <original@example.com>\r\nTo: ann@example.org"]
  ])
