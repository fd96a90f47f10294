/** Sessions of the console (docs/platform.md, 12.1) on a real database, where the announcement of an end has not arrived yet. */
import { expect, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Authentication } from "../../src/platform/Authentication.ts"
import { ConsoleSessions } from "../../src/platform/ConsoleSessions.ts"
import { Notifications } from "../../src/postgres/Notifications.ts"
import { authenticationNode, makeKey, platformDatabase } from "./support.ts"

layer(platformDatabase, { excludeTestServices: true })("a session of the console", (it) => {
  it.effect("has ended on the node that ended it before that node says so", () =>
    Effect.gen(function* () {
      const notifications = yield* Notifications
      const authentication = yield* authenticationNode()
      const services = yield* Layer.build(
        ConsoleSessions.layer.pipe(
          Layer.provide(
            Layer.mergeAll(
              Layer.succeed(Authentication, authentication),
              // Nothing is announced, as it is for a moment after every commit.
              Layer.succeed(Notifications, { ...notifications, notify: () => Effect.void })
            )
          )
        )
      )
      const { key } = yield* makeKey()
      yield* Effect.gen(function* () {
        const sessions = yield* ConsoleSessions
        const { text } = yield* sessions.openWithKey(key)
        const { session } = (yield* authentication.verify(text))!
        yield* sessions.close(session!.id)
        expect(yield* authentication.verify(text)).toBeNull()
        // The key itself goes on.
        expect(yield* authentication.verify(key)).not.toBeNull()
      }).pipe(Effect.provide(services))
    })
  )
})
