/** The typed client against the running platform: what it answers, and errors told apart by their `_tag`. */
import { Effect, Redacted, Result } from "effect"
import { describe, expect, it } from "vitest"
import { SluiceClient, type SluiceClientOptions, type SluiceClientShape } from "../../../src/api/client.ts"
import type { TestPlatform } from "../harness.ts"

export const clientSection = (platform: () => TestPlatform): void => {
  const use = <A, E>(
    f: (client: SluiceClientShape) => Effect.Effect<A, E>,
    options: Partial<SluiceClientOptions> = { apiKey: platform().key }
  ) =>
    Effect.runPromise(
      Effect.flatMap(SluiceClient, f).pipe(
        Effect.provide(SluiceClient.layer({ baseUrl: platform().url, ...options })),
        Effect.result
      )
    )

  const tagOf = <A, E extends { readonly _tag: string }>(result: Result.Result<A, E>) =>
    Result.isFailure(result) ? result.failure._tag : "it succeeded"

  describe("the typed client", () => {
    it("reads carriers, area codes, health and statistics", async () => {
      const carriers = Result.getOrThrow(
        await use((client) => client.directory.listCarriers({ query: { country: "CA", type: "WIRELESS", limit: 3 } }))
      )
      expect(carriers.pagination).toEqual({ limit: 3, offset: 0, total: 17 })
      expect(carriers.carriers.map(({ ocn }) => ocn)).toEqual(["328F", "329A", "346J"])

      const carrier = Result.getOrThrow(await use((client) => client.directory.getCarrier({ params: { ocn: "9104" } })))
      expect(carrier.exchanges).toEqual({ total: 2901, by_state: { CT: 15, NY: 2886 } })
      expect(
        Result.getOrThrow(await use((client) => client.directory.getCarrierByQuery({ query: { ocn: "9104" } })))
      ).toEqual(carrier)

      const area = Result.getOrThrow(
        await use((client) =>
          client.directory.getAreaCode({ params: { npa: "907" }, query: { limit: 2, offset: 669 } })
        )
      )
      expect(area.total_exchanges).toBe(671)
      expect(area.exchanges.at(-1)?.ocn).toBe("321J")

      const exchange = Result.getOrThrow(
        await use((client) => client.directory.getExchange({ params: { npa: "212", nxx: "555" }, query: {} }))
      )
      expect(exchange.exchanges.map(({ ocn }) => ocn)).toEqual(["MULT"])
      expect(Result.getOrThrow(await use((client) => client.directory.stats()))).toMatchObject({
        total_records: 236_982
      })
    })

    it("takes a redacted key", async () => {
      const found = await use((client) => client.directory.getCarrier({ params: { ocn: "9104" } }), {
        apiKey: Redacted.make(platform().key)
      })
      expect(Result.isSuccess(found)).toBe(true)
    })

    it("takes an address that ends in a slash", async () => {
      const found = await use((client) => client.directory.getCarrier({ params: { ocn: "9104" } }), {
        apiKey: platform().key,
        baseUrl: `${platform().url}/`
      })
      expect(Result.isSuccess(found)).toBe(true)
    })

    it("needs no key for what is open to anybody", async () => {
      expect(Result.getOrThrow(await use((client) => client.directory.health(), {}))).toMatchObject({
        status: "healthy"
      })
    })

    it("fails with NotFound, whose message names what was asked for", async () => {
      const carrier = await use((client) => client.directory.getCarrier({ params: { ocn: "ZZZ9" } }))
      expect(tagOf(carrier)).toBe("NotFound")
      expect(Result.isFailure(carrier) && (carrier.failure as { message: string }).message).toContain("ZZZ9")
      expect(tagOf(await use((client) => client.directory.getAreaCode({ params: { npa: "999" }, query: {} })))).toBe(
        "NotFound"
      )
    })

    it("fails with Unauthorized without a key and with an unknown one", async () => {
      const without = await use((client) => client.directory.getCarrier({ params: { ocn: "9104" } }), {})
      expect(tagOf(without)).toBe("Unauthorized")
      const unknown = await use((client) => client.directory.getCarrier({ params: { ocn: "9104" } }), {
        apiKey: "sk_live_0123456789abcdef0123456789abcdef"
      })
      expect(tagOf(unknown)).toBe("Unauthorized")
    })

    it("fails with Forbidden without the service", async () => {
      const { key } = await platform().createKey({ services: ["send"] })
      const result = await use((client) => client.directory.getCarrier({ params: { ocn: "9104" } }), { apiKey: key })
      expect(tagOf(result)).toBe("Forbidden")
    })

    it("sends email, and fails with what admission rejects", async () => {
      const { key } = await platform().createKey({ services: ["send"] })
      const payload = { from: "ann@nobody.test", to: "bob@two.test", subject: "Hello", text: "Hi" }
      const sent = await use((client) => client.emails.send({ headers: {}, payload }), { apiKey: key })
      expect(tagOf(sent)).toBe("SenderNotVerified")
      const page = Result.getOrThrow(await use((client) => client.emails.list({ query: {} }), { apiKey: key }))
      expect(page.data).toEqual([])
    })

    it("an error can be caught by its tag", async () => {
      const caught = await use((client) =>
        client.directory
          .getCarrier({ params: { ocn: "ZZZ9" } })
          .pipe(Effect.catchTag("NotFound", (error) => Effect.succeed(error.error)))
      )
      expect(Result.getOrThrow(caught)).toBe("not_found")
    })
  })
}
