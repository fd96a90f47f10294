/** Which dispatcher the reactor hands deliveries to: the newest one, while it runs. */
import { expect, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { DispatchFeed, type DispatchListener } from "../../../src/webhooks/delivery/DispatchFeed.ts"

const listener = (): DispatchListener => ({
  leaseMillis: 1_000,
  room: () => ({ deliveries: 0, characters: 0 }),
  roomFor: () => ({ deliveries: 0, characters: 0 }),
  roomOf: () => 0,
  holds: () => false,
  committed: () => undefined,
  followed: () => undefined,
  offer: () => undefined,
  late: () => undefined,
  missed: () => undefined,
  recorded: () => undefined,
  outdated: () => undefined,
  drain: Effect.void
})

it.effect("given a dispatcher that ends behind its successor's start, then the successor stays", () =>
  Effect.gen(function* () {
    const feed = yield* DispatchFeed
    const [first, second] = [listener(), listener()]
    const [firstScope, secondScope] = [yield* Scope.make(), yield* Scope.make()]
    yield* Scope.provide(feed.attach(first), firstScope)
    expect(feed.listener()).toBe(first)
    yield* Scope.provide(feed.attach(second), secondScope)
    expect(feed.listener()).toBe(second)
    yield* Scope.close(firstScope, Exit.void)
    expect(feed.listener()).toBe(second)
    yield* Scope.close(secondScope, Exit.void)
    expect(feed.listener()).toBeUndefined()
  }).pipe(Effect.provide(DispatchFeed.layer))
)
