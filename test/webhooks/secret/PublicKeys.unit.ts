/** The memory of public keys (docs/platform.md, 6.11): how long they are kept, how few reads there are, and what happens while the database is silent. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import type { SecretsUnavailable } from "../../../src/webhooks/secret/errors.ts"
import { PublicKeys, publicKeysMillis } from "../../../src/webhooks/secret/PublicKeys.ts"
import { type PublicKey, WebhookSecrets } from "../../../src/webhooks/secret/WebhookSecrets.ts"

/** Secrets whose public keys a test sets, and the reads of them. */
const makeSecrets = (answer: (endpointId: string) => Effect.Effect<ReadonlyArray<PublicKey>, SecretsUnavailable>) => {
  const reads: Array<string> = []
  // Nothing else of it is used.
  const secrets = {
    publicKeys: (endpointId: string) =>
      Effect.suspend(() => {
        reads.push(endpointId)
        return answer(endpointId)
      })
  } as unknown as WebhookSecrets["Service"]
  const layer = PublicKeys.layer.pipe(Layer.provide(Layer.succeed(WebhookSecrets, secrets)))
  return { reads, layer }
}

const key = (name: string): PublicKey => ({ key: `whpk_${name}`, createdAt: 1 })
const of = (endpointId: string) => Effect.flatMap(Effect.service(PublicKeys), (keys) => keys.of(endpointId))

describe("public keys", () => {
  it.effect("are read once a minute, so that a rotation is visible after a minute at most", () => {
    let now: ReadonlyArray<PublicKey> = [key("a")]
    const { layer, reads } = makeSecrets(() => Effect.sync(() => now))
    return Effect.gen(function* () {
      const first = yield* of("we_1")
      now = [key("b"), key("a")]
      yield* TestClock.adjust(publicKeysMillis - 1)
      expect(yield* of("we_1")).toEqual(first)
      expect(reads).toEqual(["we_1"])
      yield* TestClock.adjust(1)
      const second = yield* of("we_1")
      expect(second.keys).toEqual(now)
      expect(second.tag).not.toBe(first.tag)
      expect(second.freshUntil - first.freshUntil).toBe(publicKeysMillis)
      expect(reads).toHaveLength(2)
    }).pipe(Effect.provide(layer))
  })

  it.effect("are read again where a rotation was made here, and those of an endpoint without any are kept too", () => {
    const { layer, reads } = makeSecrets(() => Effect.succeed([]))
    return Effect.gen(function* () {
      yield* of("we_none")
      yield* of("we_none")
      expect(reads).toHaveLength(1)
      yield* (yield* PublicKeys).forget("we_none")
      yield* of("we_none")
      expect(reads).toHaveLength(2)
    }).pipe(Effect.provide(layer))
  })

  it.effect("are asked for by few reads, which may not wait without end, and a failure is not remembered", () => {
    const { layer, reads } = makeSecrets((id) => (id === "we_well" ? Effect.succeed([key("a")]) : Effect.never))
    return Effect.gen(function* () {
      const asking = yield* Effect.forEach(
        Array.from({ length: 100 }, (_, at) => `we_${at}`),
        (id) => Effect.forkChild(Effect.exit(of(id)))
      )
      yield* TestClock.adjust(0)
      expect(reads).toHaveLength(2)
      yield* TestClock.adjust("5 seconds")
      yield* TestClock.adjust("5 seconds")
      const exits = yield* Effect.forEach(asking, (fiber) => Fiber.join(fiber))
      for (const exit of exits) expect(exit._tag).toBe("Failure")
      expect((yield* of("we_well")).keys).toEqual([key("a")])
    }).pipe(Effect.provide(layer))
  })
})
