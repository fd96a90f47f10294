/**
 * DKIM signatures (RFC 6376; RFC 8301: rsa-sha256, keys of 1,024 bits or more), relaxed in headers and body. The signature itself is made on a thread of Node's pool.
 * A signature that cannot be made is an error: nothing goes out unsigned by mistake. Needs no service.
 */
import { createHash, createPrivateKey, type KeyObject, sign } from "node:crypto"
import { Data, Effect } from "effect"

/** A key does not sign. Terminal; the message is for operators and names no part of the key. */
export class DkimKeyUnusable extends Data.TaggedError("DkimKeyUnusable")<{ readonly message: string }> {}

/** With what a domain signs. */
export interface DkimSigner {
  readonly domain: string
  readonly selector: string
  readonly key: KeyObject
}

const minimumBits = 1_024

/** Reads an RSA key in PEM. Another kind of key would sign in a way that hardly anybody verifies. */
export const dkimSigner = (
  domain: string,
  selector: string,
  pem: string
): Effect.Effect<DkimSigner, DkimKeyUnusable> => {
  const unusable = (why: string) => new DkimKeyUnusable({ message: `The DKIM key ${selector} of ${domain} ${why}` })
  return Effect.flatMap(
    Effect.try({ try: () => createPrivateKey(pem), catch: () => unusable("cannot be read") }),
    (key) => {
      if (key.asymmetricKeyType !== "rsa") return Effect.fail(unusable(`is no RSA key but ${key.asymmetricKeyType}`))
      const bits = key.asymmetricKeyDetails?.modulusLength ?? 0
      return bits < minimumBits
        ? Effect.fail(unusable(`has ${bits} bits, less than ${minimumBits}`))
        : Effect.succeed({ domain, selector, key })
    }
  )
}

/**
 * Headers that are signed where a mail has them. Not Date and Message-ID: some relays write their own, and a signature over them would break on the way. Both headers
 * of a one-click unsubscription have to be there (RFC 8058, 4).
 */
const signedNames = [
  "from",
  "sender",
  "reply-to",
  "to",
  "cc",
  "subject",
  "mime-version",
  "content-type",
  "content-transfer-encoding",
  "in-reply-to",
  "references",
  "list-id",
  "list-help",
  "list-unsubscribe",
  "list-unsubscribe-post",
  "list-subscribe",
  "list-post",
  "list-owner",
  "list-archive",
  "feedback-id"
]

/** Headers that nobody may add on the way, where another one would be shown or done in place of ours (RFC 6376, 5.4.2 and 8.15). */
const sealedNames = ["from", "to", "subject", "reply-to", "list-unsubscribe", "list-unsubscribe-post"]

interface Field {
  readonly name: string
  readonly value: string
}

const relaxedField = (line: string): Field => {
  const colon = line.indexOf(":")
  return {
    name: line.slice(0, colon).trim().toLowerCase(),
    value: line
      .slice(colon + 1)
      .replaceAll("\r\n", "")
      .replaceAll(/[ \t]+/g, " ")
      .trim()
  }
}

/** The header fields of a head, in order. */
const fieldsOf = (head: string): ReadonlyArray<Field> =>
  head === "" ? [] : head.split(/\r\n(?![ \t])/).map(relaxedField)

/** RFC 6376, 3.4.4. Latin-1 keeps every byte. */
const relaxedBody = (body: string): string => {
  const relaxed = body.replaceAll(/[ \t]+/g, " ").replaceAll(/ (?=\r\n|$)/g, "")
  let end = relaxed.length
  while (relaxed.endsWith("\r\n", end) && end >= 2) end -= 2
  return end === 0 ? "" : `${relaxed.slice(0, end)}\r\n`
}

/** The fields that are signed: the last of a name first, as verifiers look for them; then once more a name that is sealed. */
const chosen = (fields: ReadonlyArray<Field>): { readonly names: ReadonlyArray<string>; readonly lines: string } => {
  const names: Array<string> = []
  const lines: Array<string> = []
  for (const name of signedNames) {
    for (const field of fields.filter((one) => one.name === name).reverse()) {
      names.push(name)
      lines.push(`${name}:${field.value}\r\n`)
    }
    if (sealedNames.includes(name)) names.push(name)
  }
  return { names, lines: lines.join("") }
}

/** Names in lines of some 70 characters, so that no header line is too long. */
const folded = (names: ReadonlyArray<string>): string => {
  const lines = [""]
  for (const name of names) {
    const line = lines.at(-1)!
    if (line.length + name.length > 66) lines.push(name)
    else lines[lines.length - 1] = line === "" ? name : `${line}:${name}`
  }
  return lines.join(":\r\n\t")
}

const signed = (key: KeyObject, text: string): Effect.Effect<string, DkimKeyUnusable> =>
  Effect.callback((resume) => {
    sign("sha256", Buffer.from(text, "latin1"), key, (error, signature) =>
      resume(
        error === null
          ? Effect.succeed(signature.toString("base64"))
          : Effect.fail(new DkimKeyUnusable({ message: `A DKIM key does not sign: ${error.message}` }))
      )
    )
  })

/** The mail with its signature in front. `mail` has lines that end in CRLF. */
export const withDkim = ({ domain, key, selector }: DkimSigner, mail: Buffer): Effect.Effect<Buffer, DkimKeyUnusable> =>
  Effect.gen(function* () {
    const end = mail.indexOf("\r\n\r\n")
    const head = mail.subarray(0, end === -1 ? mail.length : end).toString("latin1")
    const body = end === -1 ? "" : mail.subarray(end + 4).toString("latin1")
    const bodyHash = createHash("sha256").update(relaxedBody(body), "latin1").digest("base64")
    const { lines, names } = chosen(fieldsOf(head))
    const unsigned = `DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=${domain};\r\n\ts=${selector}; q=dns/txt;\r\n\th=${folded(names)};\r\n\tbh=${bodyHash};\r\n\tb=`
    const { value } = relaxedField(unsigned)
    const signature = yield* signed(key, `${lines}dkim-signature:${value}`)
    const value64 = (signature.match(/.{1,72}/g) ?? []).join("\r\n\t")
    return Buffer.concat([Buffer.from(`${unsigned}${value64}\r\n`, "latin1"), mail])
  })
