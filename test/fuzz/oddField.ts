/**
 * One odd field in a valid request: which field of what an endpoint takes, and a value for it. Half of the values are odd and may well be taken (another member of an enumeration, a
 * bound, a text in another script), and half are those that have broken programs before. Pure; the random numbers come from outside.
 */
import type { Prng } from "../../src/simulation/kernel/Prng.ts"
import { badEscapes, devils } from "../http/contract/devils.ts"
import { type Endpoint, type JsonSchema, objectOf } from "../http/contract/endpoints.ts"
import type { Given } from "../http/contract/world.ts"

/** A field of a request: a part, and the path to it within the body. */
interface Field {
  readonly part: "path" | "query" | "header" | "body"
  readonly place: readonly [string, ...Array<string>]
  readonly schema: JsonSchema
}

/** Headers that every endpoint reads or ignores. */
const commonHeaders = ["x-request-id", "accept", "accept-language", "user-agent", "traceparent", "cookie", "x-other"]

/** An ingestion of files reads them in a thread of its own, each; and the speech service of the run makes WAV alone. */
const spared = ["sources", "format"]

const maximumDepth = 3

const bodyFields = (schema: JsonSchema | undefined, depth = 0): ReadonlyArray<Field> =>
  Object.entries(objectOf(schema)?.properties ?? {})
    .filter(([name]) => !spared.includes(name))
    .flatMap(
      ([name, field]): ReadonlyArray<Field> => [
        { part: "body", place: [name], schema: field },
        ...(depth < maximumDepth ? bodyFields(field, depth + 1) : []).map((inner) => ({
          ...inner,
          place: [name, ...inner.place] as const
        }))
      ]
    )

/** Every field that an endpoint takes, and one of those headers. */
const fieldsOf = (random: Prng, endpoint: Endpoint): ReadonlyArray<Field> => [
  ...endpoint.parameters.map(({ in: part, name, schema }): Field => ({ part, place: [name], schema })),
  ...bodyFields(endpoint.body),
  { part: "header", place: [random.pick(commonHeaders)], schema: { type: "string" } }
]

/** Texts that are rare and mean no harm. */
const rare = [
  "x",
  "Ünïcödé",
  "中文",
  "עברית",
  "🧨🧨",
  "e\u0301",
  "a b",
  "O'Hara & Söhne",
  "x".repeat(190),
  "-1",
  "null"
]

/** Values of other types, and some of no use to anybody. */
const strange: ReadonlyArray<unknown> = [
  ...[null, true, false, 0, -1, 1.5, 1e300, Number.MAX_SAFE_INTEGER, 8_640_000_000_000_001, [], {}, [[]], [null], [{}]],
  ...[
    { __proto__: null, toString: 1 },
    "\ud800",
    "a\u0000b",
    "a@\ud800.example",
    "https://[::1",
    "2026-13-45T99:99:99Z"
  ],
  Array.from({ length: 1_000 }, () => "a@b.com"),
  `${"(".repeat(10_000)}a@b.com`,
  `${"a".repeat(100_000)}@b.com`
]

/** A text that differs from the present one, and is of its kind where that is seen. */
const likeText = (random: Prng, present: string): string => {
  if (present.includes("://")) return `${present}${random.pick(["?q=ü", "#x", "/%C3%BC", ":8443", "?a=1&a=2"])}`
  if (present.includes("@"))
    return random.pick([present.toUpperCase(), `Ann <${present}>`, present.replace("@", "+x@"), `ü${present}`])
  return random.pick([present, present.toUpperCase(), `${present}🧨`, ...rare])
}

/** A value that the schema may well take; undefined leaves the field out. */
const plausible = (random: Prng, schema: JsonSchema, present: unknown): unknown => {
  if (schema.anyOf !== undefined) return plausible(random, random.pick(schema.anyOf), present)
  if (schema.enum !== undefined) return random.pick(schema.enum)
  if (schema.examples !== undefined && random.next() < 0.3) return random.pick(schema.examples)
  switch (schema.type) {
    case "null":
      return null
    case "boolean":
      return random.next() < 0.5
    case "integer":
    case "number": {
      const { maximum = 1_000, minimum = 0 } = schema
      return random.pick([minimum, maximum, minimum + 1, present ?? minimum, Math.floor((minimum + maximum) / 2)])
    }
    case "array": {
      const list = Array.isArray(present) ? present : []
      return random.pick<unknown>([list, [], [...list, ...list], [plausible(random, schema.items ?? {}, list[0])]])
    }
    case "object":
      return random.pick<unknown>([present, undefined, {}])
    default:
      return random.pick<unknown>([likeText(random, typeof present === "string" ? present : ""), present, undefined])
  }
}

/** The body with a value in one place, and in the first of a list. */
const withValue = (
  body: unknown,
  [name, ...rest]: ReadonlyArray<string>,
  change: (present: unknown) => unknown
): unknown => {
  if (name === undefined) return change(body)
  if (Array.isArray(body)) return [withValue(body[0], [name, ...rest], change), ...body.slice(1)]
  const fields = (typeof body === "object" ? body : null) as Readonly<Record<string, unknown>> | null
  return { ...fields, [name]: withValue(fields?.[name], rest, change) }
}

/** What a URI cannot hold has no encoding, and becomes U+FFFD. */
const encoded = (value: unknown): string =>
  encodeURIComponent((typeof value === "string" ? value : (JSON.stringify(value) ?? "")).toWellFormed())

/** Node's client sends no other ones. */
const asHeader = (value: unknown): string => encoded(value).slice(0, 4_000)

/** The request with an odd value in one field. */
export const withOddField = (random: Prng, endpoint: Endpoint, given: Given): Given => {
  const { part, place, schema } = random.pick(fieldsOf(random, endpoint))
  const [name] = place
  const isDevil = random.next() < 0.5
  const odd = (present: unknown): unknown =>
    isDevil
      ? random.pick<unknown>(part === "body" ? [...devils, ...strange] : devils)
      : plausible(random, schema, present)
  switch (part) {
    case "path": {
      const value = isDevil && random.next() < 0.3 ? random.pick(badEscapes) : encoded(odd(given.params?.[name]))
      return { ...given, params: { ...given.params, [name]: value === "" ? "x" : value } }
    }
    case "query": {
      const own = (given.query ?? {}) as Readonly<Record<string, string>>
      const value = isDevil && random.next() < 0.3 ? random.pick(badEscapes) : odd(own[name])
      if (value === undefined) return given
      return {
        ...given,
        query: { ...own, [name]: badEscapes.includes(value as string) ? (value as string) : encoded(value) }
      }
    }
    case "header":
      return { ...given, headers: { ...given.headers, [name]: asHeader(odd("text/html") ?? "x") } }
    case "body":
      return { ...given, body: withValue(given.body ?? {}, place, odd) }
  }
}
