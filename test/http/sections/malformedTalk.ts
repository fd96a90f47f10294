/** Malformed input in every place where talk takes input: always the caller's fault, told in one sentence. */
import { it as property } from "@effect/vitest"
import { Arbitrary, Effect, Schema } from "effect"
import { beforeAll, describe, expect, it } from "vitest"
import { needing } from "../../support/needs.ts"
import { jsonOf, send } from "../exchange.ts"
import type { TestPlatform } from "../harness.ts"
import { badEscapes, concurrency, devils, expectCallersFault, inBatches } from "./devils.ts"
import { makeTenant } from "./emitted.ts"

export const malformedTalkSection = (platform: () => TestPlatform): void => {
  describe("malformed input at talk", needing("espeak-ng"), () => {
    let key = ""
    beforeAll(async () => {
      const tenant = await makeTenant(platform(), "malformed talk")
      await platform().admin("PUT", `/admin/v1/organizations/${tenant.id}/limits`, { requestsPerMinute: "unlimited" })
      key = (await tenant.newKey({ services: ["talk"], scopes: ["talk:*"] })).key
    })

    const ask = async (method: string, target: string, body?: string) => {
      const answer = await send(platform().url, {
        method,
        target,
        headers: [["X-API-Key", key], ...(body === undefined ? [] : [["Content-Type", "application/json"] as const])],
        ...(body === undefined ? {} : { body })
      })
      expectCallersFault(answer, `${method} ${target} ${(body ?? "").slice(0, 300)}`)
      if (answer.status >= 400) {
        expect(jsonOf(answer), `${target} ${body}`).toStrictEqual({ error: expect.stringMatching(/\S \S/) })
      }
      return answer
    }
    const speak = (body: unknown) => ask("POST", "/v1/talk/speech", JSON.stringify(body))

    const values: ReadonlyArray<unknown> = [...devils, null, true, 0, -1, 1.5, [], {}, [null], { text: "a" }, "\ud800"]

    it("in every field but the text", async () => {
      await inBatches(values, async (value) => {
        const good = { text: "", voice: "en-us" }
        // The text is refused too, so that nothing is spoken.
        for (const name of ["voice", "format", "speed", "unknown"]) await speak({ ...good, [name]: value })
        await speak(value)
      })
    })

    it("in a voice that would be a path or an option", async () => {
      for (const voice of [
        "../../../etc/passwd",
        "-h",
        "--help",
        "gmw/en-US",
        "en-us\u0000",
        "!v/Storm",
        "__proto__"
      ]) {
        expect((await speak({ text: "a", voice })).status, voice).toBe(400)
      }
    })

    it("in paths, queries and bodies", async () => {
      await inBatches([...devils.filter((devil) => devil !== "").map(encode), ...badEscapes], async (text) => {
        await ask("GET", `/v1/talk/${text}`)
        await ask("GET", `/v1/talk/voices?limit=${text}`)
        await ask("POST", `/v1/talk/speech?${text}=1`, "{}")
      })
      for (const body of ["", "{", "\u0000", "[".repeat(10_000), '{"text":', "a".repeat(300_000)]) {
        await ask("POST", "/v1/talk/speech", body)
      }
    })

    const json = Arbitrary.schema(Schema.Union([Schema.String, Schema.Finite, Schema.Boolean, Schema.Null]))
    property.effect.prop(
      "whatever a generator comes up with",
      { text: json, voice: json, format: json, speed: json },
      (body) => Effect.promise(() => speak(body)),
      { arbitrary: { runs: 100, concurrency } }
    )
  })
}

/** Percent-encodes what a URI cannot hold; lone surrogates, which have no encoding, become U+FFFD. */
const encode = (text: string): string => encodeURIComponent(text.toWellFormed())
