/** A verifier of DKIM signatures by the letter of RFC 6376, for relaxed/relaxed and rsa-sha256: it shares nothing with the program and nothing with a library. */
import { createHash, createPublicKey, verify } from "node:crypto"

/** Octet by octet: blanks become one, those at the end of a line go. */
const relaxedLine = (line: string): string => {
  let relaxed = ""
  for (const octet of line) {
    if (octet !== " " && octet !== "\t") relaxed += octet
    else if (!relaxed.endsWith(" ")) relaxed += " "
  }
  return relaxed.endsWith(" ") ? relaxed.slice(0, -1) : relaxed
}

const relaxedHeader = (field: string): string => {
  const at = field.indexOf(":")
  const value = relaxedLine(
    field
      .slice(at + 1)
      .split("\r\n")
      .join("")
  )
  return `${field.slice(0, at).toLowerCase().trimEnd()}:${value.startsWith(" ") ? value.slice(1) : value}`
}

const relaxedBody = (body: string): string => {
  const lines = body.split("\r\n").map(relaxedLine)
  while (lines.length > 0 && lines.at(-1) === "") lines.pop()
  return lines.map((line) => `${line}\r\n`).join("")
}

/** Undefined where the one signature of a mail is good; else what is wrong. `key` is the public one, in base64. */
export const dkimFault = (mail: Buffer, key: string): string | undefined => {
  const text = mail.toString("latin1")
  const end = text.indexOf("\r\n\r\n")
  const fields: Array<string> = []
  for (const line of text.slice(0, end).split("\r\n")) {
    if (/^[ \t]/.test(line)) fields[fields.length - 1] += `\r\n${line}`
    else fields.push(line)
  }
  const signature = fields.find((field) => /^dkim-signature:/i.test(field))
  if (signature === undefined) return "no signature"
  const tags = new Map<string, string>()
  for (const tag of signature.slice(signature.indexOf(":") + 1).split(";")) {
    const at = tag.indexOf("=")
    tags.set(tag.slice(0, at).trim(), tag.slice(at + 1).replaceAll(/\s/g, ""))
  }
  const hash = createHash("sha256")
    .update(Buffer.from(relaxedBody(text.slice(end + 4)), "latin1"))
    .digest("base64")
  if (hash !== tags.get("bh")) return "the hash of the body differs"
  let signed = ""
  const left = [...fields]
  for (const name of (tags.get("h") ?? "").toLowerCase().split(":")) {
    const at = left.findLastIndex((field) => field.slice(0, field.indexOf(":")).trim().toLowerCase() === name)
    if (at !== -1) signed += `${relaxedHeader(left.splice(at, 1)[0]!)}\r\n`
  }
  const own = relaxedHeader(signature)
  signed += `${own.slice(0, own.lastIndexOf("b=") + 2)}`
  const publicKey = createPublicKey({ key: Buffer.from(key, "base64"), format: "der", type: "spki" })
  const isGood = verify("sha256", Buffer.from(signed, "latin1"), publicKey, Buffer.from(tags.get("b") ?? "", "base64"))
  return isGood ? undefined : "the signature differs"
}
