/**
 * Removes secrets and personal data from what the request log keeps (docs/platform.md, 2.12): bodies of requests, answers
 * and paths. The shape of a body stays, with the values of a few fields that are known to be harmless; every other value
 * is removed, so that a field which is misspelled or new is not kept by accident. Pure.
 */

/** The most bytes of a kept body. */
export const maximumBodyBytes = 2_048

/** A body that is larger is not looked into. */
const maximumParsedBytes = 65_536

const maximumItems = 10
const maximumFields = 30
const maximumDepth = 5

/** The place of a removed value. */
export const removed = "[removed]"

/** The fields whose values stay: times, modes, kinds and ids. */
export const keptFields: ReadonlySet<string> = new Set([
  "asymmetric",
  "atPeriodEnd",
  "content_type",
  "enabled_events",
  "expiresAt",
  "format",
  "id",
  "ids",
  "is_active",
  "kind",
  "mode",
  "ordering",
  "overlapSeconds",
  "priceId",
  "product",
  "quantity",
  "rate_limit",
  "region",
  "replay",
  "scheduled_at",
  "scopes",
  "services",
  "since",
  "speed",
  "types",
  "until",
  "usageType",
  "voice"
])

/** Fields whose objects are looked into; below every other field all values are removed. */
const openFields: ReadonlySet<string> = new Set(["attachments"])

const secret = /\b(?:sk|cs|pk|rk|whsec|whpk)_\w{4,}|\beyJ[\w-]{8,}|\bBearer\s+\S+|-----BEGIN/
const secrets = new RegExp(secret, "g")
const phone = /\+?\d{7,}|\(?\d{3}\)?[ .-]?\d{3}[ .-]\d{4}\b/
const phones = new RegExp(phone, "g")

/** Whether a text of a harmless field may stay: short, and no address, number or secret. */
const isPlain = (text: string): boolean =>
  text.length <= 64 && !text.includes("@") && !secret.test(text) && !phone.test(text)

/** The name of a field, unless it is one that somebody else may have chosen for a value. */
const shownName = (name: string): string => (/^[A-Za-z_][\w.-]{0,63}$/.test(name) && isPlain(name) ? name : removed)

/** How a value is treated: of a harmless field, or of an object that is looked into, or neither. */
type Treatment = "kept" | "open" | "closed"

const treatmentOf = (name: string, of: Treatment): Treatment => {
  if (of === "closed") return "closed"
  if (keptFields.has(name)) return "kept"
  return openFields.has(name) ? "open" : "closed"
}

const shaped = (value: unknown, treatment: Treatment, depth: number): unknown => {
  if (value === null || typeof value === "boolean") return value
  if (typeof value === "number") return treatment === "kept" ? value : removed
  if (typeof value === "string") return treatment === "kept" && isPlain(value) ? value : removed
  if (depth >= maximumDepth) return removed
  if (Array.isArray(value)) {
    const items = value.slice(0, maximumItems).map((item) => shaped(item, treatment, depth + 1))
    return value.length > maximumItems ? [...items, `[${value.length - maximumItems} more]`] : items
  }
  const fields = Object.entries(value as object)
  const shown = fields.slice(0, maximumFields).map(([name, field]) => {
    // An object in a harmless field is none of the API's.
    const inner = treatment === "kept" ? "closed" : treatmentOf(name, treatment)
    return [shownName(name), shaped(field, inner, depth + 1)] as const
  })
  // Defines own fields, whatever their names are.
  return Object.fromEntries(
    fields.length > maximumFields ? [...shown, ["…", `[${fields.length - maximumFields} more]`]] : shown
  )
}

/** A text of at most {@link maximumBodyBytes}. */
const cut = (text: string): string => {
  const bytes = Buffer.from(text)
  if (bytes.byteLength <= maximumBodyBytes) return text
  const mark = "…"
  const end = maximumBodyBytes - Buffer.byteLength(mark)
  // A character that is cut in two goes whole.
  return `${new TextDecoder().decode(bytes.subarray(0, end), { stream: true })}${mark}`
}

/** A body as it is kept: JSON in its shape; of any other text the size alone. */
export const redactedBody = (body: Uint8Array): string => {
  const size = `[${body.byteLength} bytes]`
  if (body.byteLength > maximumParsedBytes) return size
  try {
    return cut(JSON.stringify(shaped(JSON.parse(Buffer.from(body).toString("utf8")), "open", 0)))
  } catch {
    return size
  }
}

/** A value that a message quotes, behind the name of its field. */
const quotedField = /(Invalid (?:field|parameter) '[^']*': )"(?:[^"\\]|\\.)*"/g
/** Any other quoted text. */
const quoted = /"((?:[^"\\]|\\.)*)"/g
const address = /[^\s"'<>(),]*@[^\s"'<>(),]*/g

/** A sentence of an answer without the values that it repeats; words in quotes are those of the API. */
const redactedSentence = (sentence: string): string =>
  sentence
    .replace(quotedField, `$1"${removed}"`)
    .replace(quoted, (text, inner: string) => (/^[\w.:*+/[\]-]{1,40}$/.test(inner) ? text : `"${removed}"`))
    .replace(address, removed)
    .replace(secrets, removed)
    .replace(phones, removed)

/** The answer to a failed request as it is kept. */
export const redactedAnswer = (answer: string): string => {
  if (answer.length > maximumParsedBytes) return `[${answer.length} characters]`
  try {
    const value: unknown = JSON.parse(answer, (_, one: unknown) =>
      typeof one === "string" ? redactedSentence(one) : one
    )
    return cut(JSON.stringify(value))
  } catch {
    return `[${answer.length} characters]`
  }
}

/** The code of an answer's error, in each shape of errors. */
export const codeOf = (answer: string): string | null => {
  try {
    const { error } = JSON.parse(answer) as { readonly error?: unknown }
    const code = typeof error === "object" && error !== null && "code" in error ? error.code : error
    return typeof code === "string" && /^[a-z_]{1,64}$/.test(code) ? code : null
  } catch {
    return null
  }
}

const isId = (text: string): boolean => /^[a-z]{2,8}_[A-Za-z0-9-]{6,64}$/.test(text) && !secret.test(text)

/** An endpoint's path as documents write it: `/v1/send/emails/{id}`. */
export const shownRoute = (route: string): string => route.replaceAll(/:(\w+)/g, "{$1}")

/**
 * The path of a request without its query. Ids stay; any other parameter, which may be an address or a number, shows as
 * its name.
 */
export const shownPath = (route: string | undefined, url: string): string => {
  const end = url.search(/[?#]/)
  const segments = (end === -1 ? url : url.slice(0, end)).split("/")
  const names = route?.split("/")
  return segments
    .map((segment, at) => {
      const name = names?.[at]
      if (name === undefined ? /^[a-z][a-z0-9-]{0,31}$|^$/.test(segment) : name === segment) return segment
      if (isId(segment)) return segment
      return name?.startsWith(":") ? `{${name.slice(1)}}` : "{…}"
    })
    .join("/")
}

/** Whether a path names a thing by its id. */
export const hasId = (path: string): boolean => path.split("/").some(isId)

/** A path as a route, where the names of its parameters are not known. */
export const withoutIds = (path: string): string =>
  path
    .split("/")
    .map((segment) => (isId(segment) ? "{…}" : segment))
    .join("/")
