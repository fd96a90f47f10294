/** Requests under an `Idempotency-Key` that have come to no answer (docs/platform.md, 3.2): the key stays theirs. */
import { expect, layer } from "@effect/vitest"
import { Effect, Exit, Layer } from "effect"
import { idempotentRequest } from "../../src/http/idempotency.ts"
import { IdempotentRequests, type Once, Sealing } from "../../src/platform/IdempotentRequests.ts"
import { platformDatabase } from "./support.ts"

const layerSealing = Layer.succeed(Sealing, {
  seal: (text) => ({ keyId: "test", ciphertext: text }),
  unseal: ({ ciphertext }) => ciphertext
})

const requests = IdempotentRequests.layer.pipe(Layer.provide(layerSealing), Layer.provideMerge(platformDatabase))

let drawn = 0

/** An act that draws an id and ends as it is told, with all ids that it was given. */
const acting = (end: (id: number) => Effect.Effect<number, string>) => {
  const given: Array<number> = []
  const act: Once<number, number, string, never> = {
    choose: () => ++drawn,
    act: (id) =>
      Effect.suspend(() => {
        given.push(id)
        return end(id)
      }),
    isRejection: (error) => error === "rejected"
  }
  return { act, given }
}

const succeeding = () => acting(Effect.succeed)
const failing = (error: string) => acting(() => Effect.fail(error))

layer(requests, { excludeTestServices: true })("a request that has come to no answer", (it) => {
  const asked = (organizationId: string, body: string, { act }: ReturnType<typeof acting>) =>
    Effect.flatMap(IdempotentRequests, ({ once }) =>
      once({ organizationId, livemode: true }, idempotentRequest("key", { body }), act)
    )

  it.effect.each([
    ["failed", failing("the store is away")],
    ["died", acting(() => Effect.die(new Error("broken")))]
  ] as const)("and has %s keeps its key from another body, and a repeat acts under its ids", ([name, first]) =>
    Effect.gen(function* () {
      const organization = `org_${name}`
      expect(Exit.isFailure(yield* Effect.exit(asked(organization, "one", first)))).toBe(true)
      const other = succeeding()
      expect(yield* Effect.flip(asked(organization, "two", other))).toMatchObject({ _tag: "IdempotencyConflict" })
      expect(other.given).toEqual([])
      const repeat = succeeding()
      const { answer, isReplayed } = yield* asked(organization, "one", repeat)
      expect([first.given, repeat.given, [answer], isReplayed]).toEqual([first.given, first.given, first.given, false])
      expect(yield* Effect.flip(asked(organization, "two", other))).toMatchObject({ _tag: "IdempotencyConflict" })
    })
  )

  it.effect("because it was rejected leaves its key to any other one", () =>
    Effect.gen(function* () {
      expect(yield* Effect.flip(asked("org_rejected", "one", failing("rejected")))).toBe("rejected")
      const other = succeeding()
      expect((yield* asked("org_rejected", "two", other)).answer).toBe(other.given[0])
    })
  )
})
