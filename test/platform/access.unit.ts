import { Effect, Option, Result } from "effect"
import { describe, expect, it } from "vitest"
import { keyDigest, randomText } from "../../src/common/identifiers.ts"
import { makePageCursors, pageOf } from "../../src/http/PageCursors.ts"
import { givenKey } from "../../src/platform/layerAccess.ts"
import { grants } from "../../src/platform/model.ts"

describe("the key of a request: the first form present decides", () => {
  it.each([
    ["nothing", {}, {}, null],
    ["bearer", { authorization: "Bearer a" }, {}, "a"],
    ["bearer in any case and spacing", { authorization: "bEARER   a" }, {}, "a"],
    ["bearer before X-API-Key", { authorization: "Bearer a", "x-api-key": "b" }, { apiKey: "c" }, "a"],
    ["an empty bearer decides too", { authorization: "Bearer", "x-api-key": "b" }, {}, ""],
    ["another scheme is no form", { authorization: "Basic eDp5", "x-api-key": "b" }, {}, "b"],
    ["X-API-Key before apiKey", { "x-api-key": "b" }, { apiKey: "c" }, "b"],
    ["apiKey", {}, { apiKey: "c" }, "c"],
    ["apiKey twice cannot decide", {}, { apiKey: ["c", "d"] }, undefined]
  ])("%s", (_, headers, query, expected) => {
    expect(givenKey(headers, query)).toBe(expected)
  })

  it("[platform 2.4] is not looked for in the query where the product does not take it there", () => {
    expect(givenKey({}, undefined)).toBe(null)
  })
})

describe("[platform 2.5] scopes", () => {
  it.each([
    [["*"], "platform:webhooks:read", true],
    [["platform:*"], "platform:webhooks:read", true],
    [["platform:webhooks:read"], "platform:webhooks:read", true],
    [["talk:*"], "platform:webhooks:read", false],
    [["platform:webhooks:manage"], "platform:webhooks:read", false],
    [[], "talk:speech", false]
  ])("%j grants %s: %s", (granted, required, expected) => {
    expect(grants(new Set(granted), required)).toBe(expected)
  })
})

describe("random texts", () => {
  it("have the length asked for and only letters and digits, each about equally often", () => {
    const counts = new Map<string, number>()
    for (const character of randomText(62_000)) counts.set(character, (counts.get(character) ?? 0) + 1)
    expect([...counts.keys()].every((character) => /[0-9A-Za-z]/.test(character))).toBe(true)
    expect(counts.size).toBe(62)
    // 1,000 expected each; eight standard deviations.
    for (const count of counts.values()) expect(Math.abs(count - 1_000)).toBeLessThan(256)
    expect(randomText()).toHaveLength(22)
  })

  it("are looked up by their SHA-256", () => {
    expect(keyDigest("abc")).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
  })
})

describe("cursors", () => {
  const cursors = makePageCursors("secret")
  const decode = (list: string, cursor: string | undefined) =>
    Effect.runSync(Effect.result(cursors.decode(list, cursor)))

  it("give back the position they were made for", () => {
    const position = { atMillis: 1_790_000_000_123, id: "org_ü" }
    expect(decode("a", cursors.encode("a", position))).toEqual(Result.succeed(Option.some(position)))
    expect(decode("a", undefined)).toEqual(Result.succeed(Option.none()))
  })

  it("are refused when damaged, forged, of another list or of another database", () => {
    const cursor = cursors.encode("a", { atMillis: 1, id: "x" })
    const payload = Buffer.from(JSON.stringify([2, "x"])).toString("base64url")
    const bad = [
      "",
      "x",
      ".",
      `${cursor}x`,
      cursor.slice(1),
      `${cursor}.${cursor}`,
      `${payload}.${cursor.split(".")[1]}`,
      makePageCursors("other").encode("a", { atMillis: 1, id: "x" }),
      "a".repeat(100_000),
      "\u0000.\u0000"
    ]
    for (const text of bad) expect(Result.isFailure(decode("a", text))).toBe(true)
    expect(Result.isFailure(decode("b", cursor))).toBe(true)
  })

  it("are given only where there is a next page", () => {
    expect(pageOf([1, 2, 3], 2, String)).toEqual({ data: [1, 2], pagination: { hasMore: true, nextCursor: "2" } })
    expect(pageOf([1, 2], 2, String)).toEqual({ data: [1, 2], pagination: { hasMore: false } })
    expect(pageOf([], 2, String)).toEqual({ data: [], pagination: { hasMore: false } })
  })
})
