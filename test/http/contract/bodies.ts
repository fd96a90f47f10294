/** Bodies of every endpoint that takes one: what is no JSON, too large or of another type, and each field by its name. */
import { describe, expect, it } from "vitest"
import { type Endpoint, endpoints, type JsonSchema, namesOf, objectOf, typesOf } from "./endpoints.ts"
import { expectInvalid, expectRefused } from "./expected.ts"
import { givenFor } from "./given.ts"
import type { Account, World } from "./world.ts"

/** Larger than any endpoint takes. */
const tooLarge = JSON.stringify({ name: "a".repeat(400_000) })

/** Texts that are no JSON. */
const noJson: ReadonlyArray<string> = [
  "{",
  '{"name": "a"',
  "name=a",
  '{"name": "a"} // b',
  '{"name": "a"} {"name": "b"}',
  '{"name": NaN}',
  '"\\uZZZZ"',
  "\u0000"
]

/** JSON in bytes that are no UTF-8. */
const noUtf8 = Buffer.from([0x7b, 0x22, 0xff, 0xc0, 0xaf, 0x22, 0x3a, 0x31, 0x7d])

const otherTypes = [
  "text/plain",
  "application/xml",
  "application/x-www-form-urlencoded",
  "multipart/form-data; boundary=x"
]

/** One value of each JSON type. */
const valueOfType = { null: null, boolean: true, number: 5, string: "text", array: [], object: {} } as const

/** Whether a body may be left out, because each of its fields may. */
const mayBeMissing = (schema: JsonSchema): boolean => {
  const { properties = {}, required = [], type } = schema
  return type === "object" && Object.keys(properties).length > 0 && required.length === 0
}

type Values = Readonly<Record<string, unknown>>

/** Values that the schema's types and bounds rule out. */
const wrongFor = (schema: JsonSchema): ReadonlyArray<unknown> => {
  const types = typesOf(schema)
  const integer = [schema, ...(schema.anyOf ?? [])].find(({ type }) => type === "integer" || type === "number")
  const list = [schema, ...(schema.anyOf ?? [])].find(({ type }) => type === "array")
  const isChoice = !(schema.anyOf ?? [schema]).some((one) => one.type === "string" && one.enum === undefined)
  return [
    ...Object.entries(valueOfType).flatMap(([type, value]) => (types.includes(type) ? [] : [value])),
    ...(integer?.type === "integer" ? [1.5] : []),
    ...(integer?.minimum === undefined ? [] : [integer.minimum - 1]),
    ...(integer?.maximum === undefined || integer.maximum === Number.MAX_SAFE_INTEGER ? [] : [integer.maximum + 1]),
    ...(types.includes("string") && isChoice ? ["other"] : []),
    ...(list === undefined ? [] : [[null], [{ wholly: "other" }], [[]]]),
    ...(list?.minItems === undefined ? [] : [[]])
  ]
}

export const bodiesSection = (world: () => World, main: () => Account): void => {
  const writers = endpoints.flatMap((endpoint) =>
    endpoint.body === undefined ? [] : [[endpoint.name, endpoint, endpoint.body] as const]
  )

  const asking = async (endpoint: Endpoint) => {
    const given = await givenFor(endpoint, main(), world())
    const isList = Array.isArray(given.body)
    return {
      fields: (isList ? given.body[0] : given.body) as Values,
      /** With other fields, in the form that the body has. */
      ask: (fields: Values) => main().ask(endpoint, { ...given, body: isList ? [fields] : fields }),
      text: (text: string | Uint8Array, headers: Readonly<Record<string, string>> = {}) =>
        main().ask(endpoint, { ...given, text, headers: { ...given.headers, ...headers } })
    }
  }

  describe("[platform 1.2] a body that is no JSON is 400, of another type 415, and too large 413", () => {
    it.each(writers)("%s", async (_, endpoint, schema) => {
      const { fields, text } = await asking(endpoint)
      for (const body of noJson) expectInvalid(await text(body), endpoint, expect.stringMatching(/body/i))
      expectInvalid(await text(noUtf8), endpoint, "Invalid request body. Expected UTF-8.")
      for (const type of otherTypes) {
        const answer = await text(JSON.stringify(fields), { "content-type": type })
        expectRefused(answer, endpoint, 415, "unsupported_media_type")
      }
      expectRefused(await text(tooLarge), endpoint, 413, "payload_too_large")
      const types = typesOf(schema)
      for (const [type, value] of Object.entries(valueOfType)) {
        if (types.includes(type)) continue
        expectInvalid(await text(JSON.stringify(value)), endpoint, expect.stringMatching(/body/i))
      }
      if (!types.includes("null") && !mayBeMissing(schema))
        expectInvalid(await text(""), endpoint, expect.stringMatching(/body/i))
    })
  })

  describe("[platform 1.2] a body may be missing where each of its fields may", () => {
    const optional = writers.filter(([, , schema]) => mayBeMissing(schema))
    it("for some", () => expect(optional.map(([name]) => name)).toContain("POST /v1/keys/{id}/rotate"))
    it.each(optional)("%s", async (_, endpoint) => {
      // Its effects are on others than those whose rows are watched.
      const account = await world().account()
      const given = await givenFor(endpoint, account, world())
      const stranger = endpoint.path.includes("{")
        ? { params: Object.fromEntries(namesOf(endpoint, "path").map((name) => [name, "none"])) }
        : {}
      const answer = await account.ask(endpoint, { ...given, ...stranger, body: undefined })
      const same = await account.ask(endpoint, { ...given, ...stranger, body: {} })
      expect([answer.asked, answer.status, answer.body]).toEqual([answer.asked, same.status, same.body])
      // Some need one of two fields, and say so.
      expect(JSON.stringify(answer.body), answer.asked).not.toContain("Invalid request body")
    })
  })

  describe("an unknown field is 400 and told with the nearest known one", () => {
    it.each(writers)("%s", async (_, endpoint, schema) => {
      const { ask, fields } = await asking(endpoint)
      const known = Object.keys(objectOf(schema)!.properties!)
      const far = await ask({ ...fields, "wholly-other": 1 })
      expectInvalid(far, endpoint, expect.stringMatching(/^(Email 0: )?Unknown field "(\d\.)?wholly-other"\./))
      for (const name of known.filter((one) => one.length > 3)) {
        if (known.includes(`${name}e`)) continue
        const near = await ask({ ...fields, [`${name}e`]: 1 })
        expectInvalid(
          near,
          endpoint,
          expect.stringMatching(new RegExp(`Unknown field "(\\d\\.)?${name}e"\\. Did you mean '(\\d\\.)?${name}'\\?$`))
        )
      }
    })
  })

  describe("a field that is missing or of another type is 400 and named", () => {
    it.each(writers)("%s", async (_, endpoint, schema) => {
      const { ask, fields } = await asking(endpoint)
      const { properties = {}, required = [] } = objectOf(schema)!
      for (const [name, field] of Object.entries(properties)) {
        const wrong = [...(required.includes(name) ? [undefined] : []), ...wrongFor(field)]
        if (endpoint.name === "POST /v1/webhooks" && name === "url") {
          // This one has a sentence of its own (docs/platform.md, 6.1).
          expect((await ask({ ...fields, url: wrong.shift() })).body).toStrictEqual({ error: "url is required" })
        }
        for (const value of wrong)
          expectInvalid(await ask({ ...fields, [name]: value }), endpoint, expect.stringContaining(name))
      }
    })
  })
}
