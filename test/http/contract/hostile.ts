/**
 * Hostile input in every place where the APIs take input: the known devils, what a generator comes up with, and requests that are hardly any. Nothing of it is
 * answered with 500, hangs or brings the server down; the fault is always the caller's, told in the product's shape.
 */
import { it as property } from "@effect/vitest"
import { Arbitrary, Effect, Schema } from "effect"
import { expect, it } from "vitest"
import { exchange, jsonOf, send } from "../exchange.ts"
import { ownerless } from "./access.ts"
import { badEscapes, devils, inBatches } from "./devils.ts"
import { type Endpoint, endpoints, type JsonSchema, namesOf, objectOf, typesOf } from "./endpoints.ts"
import { expectCallersFault } from "./expected.ts"
import { givenFor } from "./given.ts"
import type { Account, Given, World } from "./world.ts"

/** Answers come as long as the client listens, so it is always asked for with a fault beside. */
const stream = "GET /v1/events/stream"

/** Of each place every so many devils, beginning with another one at each, so that all of them come to each kind of place. */
const stride = 7

/** Fields are many, and their values more. */
const fieldStride = 17

/** Values that are texts of devils, in the places that a field may have, and values of every other type. */
const values: ReadonlyArray<unknown> = [
  ...devils,
  ...devils.flatMap((devil) => [[devil], { [devil]: devil }, [{ name: devil, value: devil }]]),
  ...devils.map((devil) => [{ content: devil, filename: devil, content_type: devil, content_id: devil, path: devil }]),
  ...[null, true, 0, -1, 1.5, 1e300, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, Date.now()],
  ...[8_640_000_000_000_001, -62_135_596_800_001, [], {}, [[]], [null], [{}], { toString: 1, length: -1 }],
  ...["\ud800", "a\u0000b", "a\u0000@example.com", "ann@\ud800.example", "https://\ud800.example", "https://[::1"],
  ...["https://a.example/\u0000", "https://%00.example", "2026-13-45T99:99:99Z", ["directory", "directory"]],
  Array.from({ length: 1_000 }, () => "a@b.com"),
  `${"(".repeat(10_000)}a@b.com`,
  `${"a ".repeat(10_000)}<a@b.com>`,
  `${"a".repeat(100_000)}@b.com`
]

const deep = 60_000

/** JSON that is deep, wide or strange. */
const strangeJson = [
  `${"[".repeat(deep)}${"]".repeat(deep)}`,
  `${'{"a":'.repeat(30_000)}1${"}".repeat(30_000)}`,
  `{"name":${"[".repeat(deep)}${"]".repeat(deep)}}`,
  `{${Array.from({ length: 20_000 }, (_, n) => `"k${n}":1`).join(",")}}`,
  `[${"1,".repeat(100_000)}1]`,
  '{"name":"a","name":"b"}',
  '{"__proto__":{"name":"a"}}',
  '{"constructor":{"prototype":{"name":"a"}},"name":"a"}',
  '{"from":"a@b.com","headers":{"__proto__":"x"}}',
  '{"name":"\\ud800"}',
  '{"name":"\\u0000"}',
  `{"since":${"9".repeat(5_000)}}`,
  '{"since":1e999}',
  "\ufeff{}"
]

/** Targets that are odd as a whole. */
const oddTargets = (url: string): ReadonlyArray<string> => [
  "*",
  "//",
  "///v1/carriers",
  "/v1//carriers",
  "/v1/carrier/",
  "/v1/npa/",
  "/v1/npa/212/nxx/",
  "/v1/carriers/",
  "/v1/carriers?",
  "/v1/carriers??",
  "/v1/carriers?&&&",
  "/v1/carriers?=",
  "/v1/carriers?=1",
  "/v1/carriers?limit",
  "/v1/carriers?limit[]=1",
  "/v1/carriers?limit[0]=1",
  "/v1/carriers?limit.a=1",
  "/v1/carriers?__proto__=1",
  "/v1/carriers?__proto__[limit]=1",
  "/v1/carriers?constructor.prototype.limit=1",
  "/v1/carriers#limit=1",
  "/v1/carriers?limit=1#x",
  "/v1/carriers;limit=1",
  "/v1/./carriers",
  "/v1/../v1/carriers",
  "/v1/%2e%2e/v1/carriers",
  "/v1%2fcarriers",
  "/v1/carrier/91%2f04",
  "/v1/carrier/:ocn",
  "/v1/carrier/*",
  "/v1/npa/:npa/nxx/:nxx",
  `${url}/v1/carriers`,
  "http://elsewhere.invalid/v1/carriers",
  "http:///v1/carriers",
  "http://[::1",
  "ftp://a/b",
  `/v1/carriers?${Array.from({ length: 2_000 }, () => "a=1").join("&")}`,
  `/v1/carriers?${Array.from({ length: 2_000 }, (_, n) => `a${n}`).join("&")}`,
  `/v1/carrier/${"a/".repeat(4_000)}`,
  `/${"%41".repeat(4_000)}`
]

/** Pages for people, which are no endpoints: what they are asked for is made up, so there is none. */
const pages = (text: string): ReadonlyArray<readonly [method: string, target: string]> => [
  ["GET", `/checkout/${text}`],
  ["POST", `/checkout/${text}`],
  ["GET", `/invoices/${text}.pdf`],
  ["GET", `/invoices/in_none.pdf?expires=${text}&signature=${text}`],
  ["GET", `/senders/confirm?token=${text}`],
  ["POST", `/senders/confirm?token=${text}`]
]

/** No devil is a value of any of their fields. */
const choosy = ["POST /v1/billing/checkout", "POST /api/billing/usage"]

/** Texts that PostgreSQL cannot hold. */
const unstorable = ["a\0b", "\ud800", "https://a.example/\udc00x"]

type Place = ReadonlyArray<string>

/** The places in a body, or in each of its list, that its schema says may be a text. */
const textPlaces = (schema: JsonSchema, depth = 0): ReadonlyArray<Place> =>
  Object.entries(objectOf(schema)?.properties ?? {}).flatMap(([name, field]) => {
    const inner = depth > 2 ? [] : textPlaces(field, depth + 1).map((place) => [name, ...place])
    return typesOf(field).includes("string") ? [[name], ...inner] : inner
  })

/** The body with a text in one place. */
const withText = (body: unknown, place: Place, text: string): unknown => {
  if (Array.isArray(body)) return [withText(body[0], place, text)]
  const [name, ...rest] = place
  if (name === undefined) return text
  const fields = (typeof body === "object" ? body : null) ?? {}
  return { ...fields, [name]: withText((fields as Readonly<Record<string, unknown>>)[name], rest, text) }
}

/** Percent-encodes what a URI cannot hold; lone surrogates, which have no encoding, become U+FFFD. */
const encode = (text: string): string => encodeURIComponent(text.toWellFormed())

const every = <A>(all: ReadonlyArray<A>, from: number, by = stride): ReadonlyArray<A> =>
  all.filter((_, at) => (at + from) % by === 0)

export const hostileSection = (world: () => World, main: () => Account): void => {
  /** Devils may be taken where any text is, so this organization is not the one whose rows are watched. */
  let made: Promise<Account> | undefined
  const hostile = (): Promise<Account> => (made ??= world().account())

  const ask = async (endpoint: Endpoint, given: Given) => {
    const answer = await (await hostile()).ask(endpoint, given)
    expectCallersFault(answer, endpoint)
    return answer
  }
  /** Asks until no rate of a key is in the way: sending has one for each key. */
  const askFreely = async (endpoint: Endpoint, given: Given) => {
    const account = await hostile()
    const answer = await account.ask(endpoint, given)
    if (answer.status !== 429) return answer
    return account.ask(endpoint, {
      ...given,
      headers: { ...given.headers, authorization: `Bearer ${await account.newKey()}` }
    })
  }
  const givenTo = async (endpoint: Endpoint): Promise<Given> => {
    const given = await givenFor(endpoint, await hostile(), world())
    return endpoint.name === stream ? { ...given, query: { type: "nothing" } } : given
  }
  const key = () => ({ "X-API-Key": main().key })
  const raw = async (
    target: string,
    headers: Readonly<Record<string, string>>,
    more: { readonly method?: string; readonly body?: string } = {}
  ) => {
    const answer = await send(world().url, { target, headers: Object.entries(headers), ...more })
    const shown = `${target.slice(0, 200)} is answered ${answer.status} ${answer.text.slice(0, 200)}`
    expect(answer.status, shown).toBeLessThan(500)
    expect(answer.headers["x-request-id"], shown).toBeDefined()
    expect(answer.headers["x-injected"], shown).toBeUndefined()
    if (answer.status >= 400) expect(() => jsonOf(answer), shown).not.toThrow()
    return answer
  }

  it("in every parameter of every query", async () => {
    const inputs = endpoints.flatMap((endpoint) => namesOf(endpoint, "query").map((name) => ({ endpoint, name })))
    await inBatches(
      inputs.flatMap(({ endpoint, name }, at) =>
        every([...devils.map(encode), ...badEscapes], at).map((text) => ({ endpoint, name, text }))
      ),
      async ({ endpoint, name, text }) => {
        const given = await givenTo(endpoint)
        await ask(endpoint, { ...given, query: { ...(given.query as object), [name]: text } })
      }
    )
  })

  it("in every segment of every path, which then nothing has", async () => {
    const texts = [...devils.filter((devil) => devil !== "").map(encode), ...badEscapes]
    const inputs = endpoints.flatMap((endpoint) => namesOf(endpoint, "path").map((name) => ({ endpoint, name })))
    await inBatches(
      inputs.flatMap(({ endpoint, name }, at) => every(texts, at).map((text) => ({ endpoint, name, text }))),
      async ({ endpoint, name, text }) => {
        const given = await givenTo(endpoint)
        const { asked, status } = await ask(endpoint, { ...given, params: { ...given.params, [name]: text } })
        // There is a partition 0.
        if (text !== "0" && !ownerless.includes(endpoint.name)) expect(status, asked).toBeGreaterThanOrEqual(400)
      }
    )
  })

  it("in every header that an endpoint reads", async () => {
    const texts = devils.filter((devil) => /^[\x20-\x7e]+$/.test(devil) && devil.trim() !== "" && devil.length < 1_000)
    const inputs = endpoints.flatMap((endpoint) => namesOf(endpoint, "header").map((name) => ({ endpoint, name })))
    await inBatches(
      inputs.flatMap(({ endpoint, name }, at) => every(texts, at).map((text) => ({ endpoint, name, text }))),
      async ({ endpoint, name, text }) => {
        const given = await givenTo(endpoint)
        // Where it would be taken there is a fault in the body.
        const body = endpoint.body === undefined ? {} : { body: { "wholly-other": 1 } }
        await ask(endpoint, { ...given, ...body, headers: { ...given.headers, [name]: text } })
      }
    )
    // Each of these alone keeps a stream from beginning.
    const found = endpoints.find(({ name }) => name === stream)!
    for (const id of texts) {
      const { asked, status } = await ask(found, { query: {}, headers: { "last-event-id": id } })
      expect(status, asked).toBe(400)
    }
  })

  it("in every field of every body", async () => {
    const inputs = endpoints.flatMap((endpoint) =>
      [...Object.keys(objectOf(endpoint.body)?.properties ?? {})].map((name) => ({ endpoint, name }))
    )
    // Each list of sources is read by a thread of its own, so those are in `ingestion.ts`.
    const swept = inputs.filter(({ name }) => name !== "sources")
    await inBatches(
      swept.flatMap(({ endpoint, name }, at) =>
        every(values, at, fieldStride).map((value) => ({ endpoint, name, value }))
      ),
      async ({ endpoint, name, value }) => {
        const given = await givenTo(endpoint)
        const list = Array.isArray(given.body)
        const fields = { ...(list ? given.body[0] : (given.body as object)), [name]: value }
        const { asked, status } = await ask(endpoint, { ...given, body: list ? [fields] : fields })
        if (choosy.includes(endpoint.name)) expect(status, asked).toBe(400)
      }
    )
  })

  /** Fields of every body that may be a text, with those of objects in them, as places in it. */
  const textFields = endpoints.flatMap((endpoint) =>
    endpoint.body === undefined ? [] : textPlaces(endpoint.body).map((place) => ({ endpoint, place }))
  )

  it("[platform 1.2] as text that cannot be stored, in every text field of every body", async () => {
    expect(textFields.length).toBeGreaterThan(40)
    await inBatches(
      textFields.flatMap((field) => unstorable.map((text) => ({ ...field, text }))),
      async ({ endpoint, place, text }) => {
        const given = await givenTo(endpoint)
        const answer = await askFreely(endpoint, { ...given, body: withText(given.body, place, text) })
        const name = [...(Array.isArray(given.body) ? ["0"] : []), ...place].join(".")
        expect([answer.asked, answer.status], answer.asked).toEqual([answer.asked, 400])
        expect(JSON.stringify(answer.body), answer.asked).toContain(`'${name}'`)
      }
    )
  })

  it("[platform 1.2] as text that cannot be stored, in every segment of every path and every parameter of every query", async () => {
    const inputs = endpoints.flatMap((endpoint) =>
      (["path", "query"] as const).flatMap((part) => namesOf(endpoint, part).map((name) => ({ endpoint, name, part })))
    )
    await inBatches(
      inputs.flatMap((input) => ["a%00b", "%ed%a0%80", "%ff", "caf%e9"].map((text) => ({ ...input, text }))),
      async ({ endpoint, name, part, text }) => {
        const given = await givenTo(endpoint)
        const more =
          part === "path"
            ? { params: { ...given.params, [name]: text } }
            : { query: { ...(given.query as object), [name]: text } }
        const { asked, status } = await ask(endpoint, { ...given, ...more })
        expect([asked, status]).toEqual([asked, 400])
      }
    )
  })

  it("as JSON that is deep, wide or strange", async () => {
    await inBatches(
      endpoints
        .filter(({ body }) => body !== undefined)
        .flatMap((endpoint, at) => every(strangeJson, at).map((text) => ({ endpoint, text }))),
      async ({ endpoint, text }) => ask(endpoint, { ...(await givenTo(endpoint)), text })
    )
  })

  it("as bodies of requests that take none", async () => {
    await inBatches(
      endpoints
        .filter(({ body, name }) => body === undefined && name !== stream)
        .flatMap((endpoint, at) =>
          ["{", "\u0000", "a".repeat(500_000)].filter((_, n) => (n + at) % 3 === 0).map((text) => ({ endpoint, text }))
        ),
      async ({ endpoint, text }) => {
        const params = Object.fromEntries(namesOf(endpoint, "path").map((name) => [name, "none"]))
        await ask(endpoint, { params, text })
      }
    )
  })

  it("in the form of the target", async () => {
    await inBatches(oddTargets(world().url), (target) => raw(target, key()))
    await inBatches(badEscapes, async (bad) => {
      for (const target of [`/${bad}`, `/v1/carriers?${bad}=1`, `/v1/npa/212?apiKey=${bad}`]) await raw(target, key())
    })
  })

  it("in headers that every endpoint reads", async () => {
    const texts = [...devils, "Bearer", "Bearer  ", "Bearer a b c", "Bearer\tx", ",", ";;", "=", "é\u0080"].filter(
      (text) => !/[\r\n\0]/.test(text)
    )
    const names = [
      "Authorization",
      "X-API-Key",
      "X-Request-Id",
      "Accept",
      "Accept-Encoding",
      "Traceparent",
      "B3",
      "Cookie",
      "Range"
    ]
    await inBatches(
      texts.flatMap((text) => names.map((name) => ({ name, text }))),
      async ({ name, text }) => {
        const isKey = name === "Authorization" || name === "X-API-Key"
        await raw("/v1/carrier/9104", { ...(isKey ? {} : key()), [name]: text })
      }
    )
  })

  it("in trace headers that are nearly well-formed", async () => {
    const id = "0af7651916cd43dd8448eb211c80319c"
    const headers = [
      { traceparent: `00-${id}-b7ad6b7169203331-01` },
      { traceparent: `ff-${id}-b7ad6b7169203331-01` },
      { traceparent: "00-00000000000000000000000000000000-0000000000000000-00" },
      { traceparent: `00-${id}-b7ad6b7169203331-zz` },
      { b3: `${id}-b7ad6b7169203331-1` },
      { b3: "0" },
      { b3: "---" },
      { "x-b3-traceid": "x" }
    ]
    for (const header of headers) expect((await raw("/v1/carrier/9104", { ...key(), ...header })).status).toBe(200)
  })

  it("in the addresses of pages", async () => {
    const texts = [...devils.filter((devil) => devil !== "").map(encode), ...badEscapes]
    await inBatches(texts.flatMap(pages), async ([method, target]) => {
      const { status } = await send(world().url, { method, target, headers: [] })
      expect(status, `${method} ${target}`).toBeGreaterThanOrEqual(400)
      expect(status, `${method} ${target}`).toBeLessThan(500)
    })
  })

  const text = Arbitrary.schema(Schema.String)
  const some = Arbitrary.schema(Schema.Literals(endpoints.map(({ name }) => name).filter((name) => name !== stream)))
  const named = (name: string) => endpoints.find((endpoint) => endpoint.name === name)!

  property.effect.prop(
    "as whatever path and query a generator comes up with",
    { name: some, segment: text, parameter: text, value: text },
    ({ name, parameter, segment, value }) =>
      Effect.promise(async () => {
        const endpoint = named(name)
        const params = Object.fromEntries(namesOf(endpoint, "path").map((one) => [one, encode(`x${segment}`)]))
        const query = [...namesOf(endpoint, "query"), parameter.toWellFormed()].map(
          (one) => [one, encode(value)] as const
        )
        const body = endpoint.body === undefined ? {} : { body: {} }
        // What is deleted under no name is nothing.
        if (namesOf(endpoint, "path").length > 0 || endpoint.method === "GET")
          await ask(endpoint, { params, query, ...body })
      }),
    { arbitrary: { runs: 400 } }
  )

  property.effect.prop(
    "as whatever JSON a generator comes up with",
    {
      name: Arbitrary.schema(
        Schema.Literals(endpoints.filter(({ body }) => body !== undefined).map(({ name }) => name))
      ),
      body: Arbitrary.schema(Schema.Json),
      at: Schema.Int
    },
    ({ at, body, name }) =>
      Effect.promise(async () => {
        const endpoint = named(name)
        const given = await givenTo(endpoint)
        const fields = Object.keys(objectOf(endpoint.body)!.properties!)
        await ask(endpoint, { ...given, body })
        const field = fields[Math.abs(at) % fields.length]!
        if (field !== "sources") await ask(endpoint, { ...given, body: { ...(given.body as object), [field]: body } })
      }),
    { arbitrary: { runs: 300 } }
  )

  property.effect.prop(
    "as whatever text a generator comes up with, in every text field of every body: 400 where it cannot be stored",
    {
      field: Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 }))),
      text,
      odd: Arbitrary.schema(Schema.Literals(["", "\0", "\ud800", "\udfff", "\ud83d\ude00", "\u202e"]))
    },
    ({ field, odd, text }) =>
      Effect.promise(async () => {
        const { endpoint, place } = textFields[field % textFields.length]!
        const given = await givenTo(endpoint)
        const whole = `${text}${odd}${text}`
        const { asked, status } = await askFreely(endpoint, { ...given, body: withText(given.body, place, whole) })
        expect(status, asked).toBeLessThan(500)
        if (whole.includes("\0") || !whole.isWellFormed()) expect([asked, status]).toEqual([asked, 400])
      }),
    { arbitrary: { runs: 400 } }
  )

  property.effect.prop(
    "as bytes",
    { bytes: Arbitrary.array(Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 })))) },
    ({ bytes }) =>
      Effect.promise(async () => {
        const target = Buffer.from(bytes.filter((byte) => byte > 32))
        const head = ` HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX-API-Key: ${main().key}\r\n\r\n`
        const answer = await exchange(
          world().url,
          Buffer.concat([Buffer.from("GET /v1/carrier/"), target, Buffer.from(head)])
        )
        const shown = target.toString("hex")
        expect(answer.status, shown).toBeLessThan(500)
        expect(answer.headers["x-request-id"], shown).toBeDefined()
        if (answer.status >= 400) expect(jsonOf(answer), shown).toBeTypeOf("object")
      }),
    { arbitrary: { runs: 200, concurrency: 16 } }
  )

  it("serves as before after all of it", async () => {
    for (const endpoint of endpoints.filter(({ method }) => method === "GET")) {
      const given = await givenFor(endpoint, await hostile(), world())
      const answer = await (await hostile()).ask(endpoint, given)
      expect([answer.asked, answer.status]).toEqual([answer.asked, given.status ?? endpoint.success])
    }
  })
}
