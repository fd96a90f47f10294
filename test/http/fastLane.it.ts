/**
 * The fast lane and the general path give the same bytes and count the same, whatever comes: thousands of raw requests
 * to two listeners, one with the lane. That this would show a fault is shown by faults planted in a third one.
 */
import { connect } from "node:net"
import { Effect, Exit, Scope } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { until } from "../cli/support.ts"
import { patienceMillis } from "../support/patience.ts"
import { type BothWays, makeBothWays, type Way } from "./bothWays.ts"
import { exchangeRaw, makeCases, plainReads, type RawCase, withoutMoment } from "./rawCases.ts"

const scope = Scope.makeUnsafe()
let ways: BothWays

beforeAll(async () => {
  ways = await makeBothWays(scope)
})

afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

const answerOf = async (way: Way, raw: RawCase) => withoutMoment(await exchangeRaw(way, raw), way.values)

const unparsable = '"message":"This is not a well-formed HTTP request."}}'

/**
 * Whether two answers are alike. A line that is no HTTP ends the connection with a refusal, and drops an answer that was
 * not written by then: one path may be quicker by that answer.
 */
const areAlike = (one: string, other: string): boolean => {
  if (one === other) return true
  if (!one.endsWith(unparsable) || !other.endsWith(unparsable)) return false
  const [shorter = "", longer = ""] = [one, other]
    .map((text) => text.slice(0, text.lastIndexOf("HTTP/1.1 400 Bad Request")))
    .sort((left, right) => left.length - right.length)
  return longer.startsWith(shorter)
}

/** Sends the same to both and gives what differs; one case after the other, since each counts. */
const differences = async (first: Way, second: Way, cases: Iterable<RawCase>, enough = 5): Promise<Array<unknown>> => {
  const found: Array<unknown> = []
  for (const raw of cases) {
    const [one, other] = await Promise.all([answerOf(first, raw), answerOf(second, raw)])
    if (!areAlike(one, other)) found.push({ asked: raw.parts.map(String), one, other })
    if (found.length >= enough) break
  }
  return found
}

/** A key takes the general path while it is looked up, and once more when the announcement of its making comes late. */
const untilTaken = (fast: Way, ordinary: Way, raw: RawCase): Promise<void> =>
  until(async () => {
    const before = fast.taken()
    await Promise.all([exchangeRaw(fast, raw), exchangeRaw(ordinary, raw)])
    return fast.taken() > before
  })

const drawn = (seed: number, count: number): ReadonlyArray<RawCase> => {
  const { next } = makeCases(seed)
  return Array.from({ length: count }, next)
}

const one = (text: string): RawCase => ({ parts: [text], incomplete: false })

const read = (target: string, key = "{key}", more = "") =>
  one(`GET ${target} HTTP/1.1\r\nAuthorization: Bearer ${key}\r\n${more}Connection: close\r\n\r\n`)

const post = (target: string, body: string) =>
  one(
    `POST ${target} HTTP/1.1\r\nAuthorization: Bearer {key}\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`
  )

const unpause = "POST /v1/webhooks/we_none/unpause HTTP/1.1\r\nAuthorization: Bearer {key}\r\nContent-Length: 2\r\n"

const unreadable: RawCase = {
  parts: [
    "POST /v1/webhooks HTTP/1.1\r\nAuthorization: Bearer {key}\r\nContent-Length: 2\r\nConnection: close\r\n\r\n",
    Buffer.from([0xff, 0x20])
  ],
  incomplete: false
}

const created = post("/v1/webhooks", '{"url":"https://hooks.example.com/in","enabled_events":["*"]}')

describe("the fast lane beside the general path", { timeout: patienceMillis }, () => {
  it("answers thousands of raw requests with the same bytes and counts the same", async () => {
    const cases = drawn(1, 2_000)
    expect(await differences(ways.fast, ways.ordinary, cases)).toEqual([])
    expect(ways.fast.counted()).toEqual(ways.ordinary.counted())
    expect(ways.fast.taken()).toBeGreaterThan(500)
    expect(ways.ordinary.taken()).toBe(0)
  })

  it.each([
    ...plainReads.map((target) => [target, read(target)] as const),
    ...["rotate-secret", "unpause"].map((act) => [act, post(`/v1/webhooks/we_none/${act}`, "{}")] as const),
    ["test", one("POST /v1/webhooks/we_none/test HTTP/1.1\r\nX-API-Key: {key}\r\nConnection: close\r\n\r\n")] as const,
    ["create", created] as const,
    ["an email", post("/v1/send/emails", '{"from":"ann@one.test","to":"b@two.test","subject":"","text":""}')] as const,
    ["nothing found", read("/v1/npa/999")] as const,
    ["a body that is no JSON", post("/v1/webhooks/we_none/unpause", "{")] as const,
    ["a body that is no UTF-8", unreadable] as const,
    ["a text that cannot be stored", post("/v1/webhooks", '{"url":"\\u0000"}')] as const,
    ["a missing field of a product's own words", post("/v1/webhooks", "{}")] as const,
    [
      "a header that does not decode",
      one(`${unpause}Idempotency-Key: ${"k".repeat(300)}\r\nConnection: close\r\n\r\n{}`)
    ] as const
  ])("takes what it is for: %s", async (_, raw) => {
    await untilTaken(ways.fast, ways.ordinary, read("/v1/npa/212"))
    const before = ways.fast.taken()
    expect(await differences(ways.fast, ways.ordinary, [raw, raw])).toEqual([])
    expect(ways.fast.taken()).toBe(before + 2)
  })

  it.each([
    [
      "a client that has the answer",
      read("/v1/npa/212", "{key}", 'If-None-Match: "old", {tag}\r\n'),
      /^HTTP\/1\.1 304 Not Modified\r\netag: \{tag\}\r\n(?:(?!content-).+\r\n)+\r\n$/i
    ],
    [
      "a client that has another answer",
      read("/v1/npa/212", "{key}", 'If-None-Match: "old"\r\n'),
      /^HTTP\/1\.1 200 OK[\s\S]*\r\netag: \{tag\}\r\n[\s\S]*"npa":"212"/i
    ],
    ["an unknown parameter", read("/v1/npa/212?limits=3"), /^HTTP\/1\.1 400 Bad[\s\S]*Did you mean 'limit'\?/],
    ["an unknown field", post("/v1/webhooks/we_none/unpause", '{"replai":true}'), /^HTTP\/1\.1 400 Bad[\s\S]*'replay'/],
    ["a wrong key", read("/v1/npa/212", "x"), /^HTTP\/1\.1 401 [\s\S]*\r\nwww-authenticate: Bearer realm="sluice"\r\n/i]
  ])("answers alike: %s", async (_, raw, expected) => {
    await untilTaken(ways.fast, ways.ordinary, read("/v1/npa/212"))
    expect(await differences(ways.fast, ways.ordinary, [raw])).toEqual([])
    expect(await answerOf(ways.fast, raw)).toMatch(expected)
    expect(await answerOf(ways.ordinary, raw)).toMatch(expected)
  })

  it("takes what asks whether it has changed", async () => {
    const raw = read("/v1/npa/212", "{key}", "If-None-Match: {tag}\r\n")
    await untilTaken(ways.fast, ways.ordinary, raw)
    const before = ways.fast.taken()
    expect(await differences(ways.fast, ways.ordinary, [raw, raw])).toEqual([])
    expect(ways.fast.taken()).toBe(before + 2)
    expect(ways.fast.counted()).toEqual(ways.ordinary.counted())
  })

  it("counts each request once where many connections ask at the same time", async () => {
    const cases = drawn(2, 300)
    for (const way of [ways.fast, ways.ordinary]) await Promise.all(cases.map((raw) => exchangeRaw(way, raw)))
    expect(await differences(ways.fast, ways.ordinary, [read("/v1/npa/212?limit=1")])).toEqual([])
  })
})

describe("a limiter that cannot answer at once", { timeout: patienceMillis }, () => {
  it("is waited for, and asked once, where ownership has to be confirmed again", async () => {
    for (let round = 0; round < 5; round++) {
      ways.age()
      expect(
        await differences(ways.fast, ways.ordinary, [read("/v1/npa/212?limit=1"), read("/v1/carrier/9104")])
      ).toEqual([])
      ways.age()
      expect(
        await differences(ways.fast, ways.ordinary, [post("/v1/webhooks/we_none/unpause", '{"replay":true}')])
      ).toEqual([])
    }
  })

  it("[platform 8.4] is passed where the log is silent", async () => {
    ways.age()
    ways.silence(true)
    try {
      const passed = await answerOf(ways.fast, read("/v1/npa/212?limit=1"))
      expect(passed).toMatch(/^HTTP\/1\.1 200 OK/)
      expect(passed).not.toMatch(/ratelimit/)
      expect(
        await differences(ways.fast, ways.ordinary, [read("/v1/npa/212?limit=1"), read("/v1/carrier/0000")])
      ).toEqual([])
    } finally {
      ways.silence(false)
    }
    await until(async () => /ratelimit/.test(await exchangeRaw(ways.ordinary, read("/v1/carrier/0000", "{weak}"))))
    await until(async () => /ratelimit/.test(await exchangeRaw(ways.fast, read("/v1/carrier/0000", "{weak}"))))
  })
})

describe("clients that go away", { timeout: patienceMillis }, () => {
  /** Sends and hangs up without waiting for an answer. */
  const hangUp = (way: Way, { parts }: RawCase): Promise<void> =>
    new Promise((resolve) => {
      const { hostname, port } = new URL(way.url)
      const socket = connect({ host: hostname, port: Number(port) })
      const text = String(parts).replaceAll("{key}", way.values.key!)
      socket.once("error", () => resolve())
      socket.write(text, () => {
        socket.destroy()
        resolve()
      })
    })
  const total = (way: Way) =>
    Object.entries(way.counted())
      .filter(([name]) => name.startsWith("sluice_http_requests_total"))
      .reduce((sum, [, count]) => sum + count, 0)
  const remaining = async (way: Way) =>
    Number(/x-ratelimit-remaining: (\d+)/.exec(await exchangeRaw(way, read("/v1/npa/212")))?.[1])

  const torn = "POST /v1/webhooks HTTP/1.1\r\nAuthorization: Bearer {key}\r\nContent-Length: 90\r\n\r\n{"
  const slow = "POST /v1/webhooks/we_none/test HTTP/1.1\r\nAuthorization: Bearer {key}\r\nIdempotency-Key: slow\r\n\r\n"
  it.each([
    ["a read", read("/v1/npa/212"), 1],
    ["a POST", created, 1],
    ["a POST whose body is still to come", one(torn), 1],
    ["a POST whose body is still to come, behind another one", one(`${slow}${torn}`), 2]
  ])("are counted once, and nothing is left behind: %s", async (_, raw, requests) => {
    for (const way of [ways.fast, ways.ordinary]) {
      const left = await remaining(way)
      const before = total(way)
      for (let at = 0; at < 20; at++) await hangUp(way, raw)
      await until(async () => total(way) === before + 20 * requests)
      expect(await remaining(way)).toBe(left - 20 * requests - 1)
    }
  })
})

describe("what this test would show", { timeout: patienceMillis }, () => {
  it.each([
    ["a request counted twice", { counts: 2 }, read("/v1/npa/212")],
    ["a service or scope that is not asked for", { forgetsServices: true }, read("/v1/npa/212", "{weak}")],
    ["answers of other records", { answersStale: true }, read("/v1/npa/212")]
  ])("%s", async (_, fault, found) => {
    const [faulty, other] = [await ways.faulty(fault), await ways.another()]
    expect(await differences(faulty, other, [read("/v1/nothing")])).toEqual([])
    await untilTaken(faulty, other, found)
    expect(await differences(faulty, other, [found])).toHaveLength(1)
    expect(await differences(faulty, other, drawn(3, 300), 1)).toHaveLength(1)
  })
})
