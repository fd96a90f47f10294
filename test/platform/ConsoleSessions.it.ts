/** Sessions of the console (docs/platform.md, 12.1) on a real database, where the announcement of an end has not arrived yet. */
import { expect, layer } from "@effect/vitest"
import { Clock, Effect, Layer } from "effect"
import { Authentication } from "../../src/platform/Authentication.ts"
import { ConsoleLinks, ConsoleSessions } from "../../src/platform/ConsoleSessions.ts"
import { PortalLinks } from "../../src/platform/PortalLinks.ts"
import { Notifications } from "../../src/postgres/Notifications.ts"
import { authenticationNode, makeKey, makeOrganization, platformDatabase } from "./support.ts"

/** A node that announces nothing, as it is for a moment after every commit. */
const silentNode = Effect.gen(function* () {
  const notifications = yield* Notifications
  const authentication = yield* authenticationNode()
  const services = yield* Layer.build(
    ConsoleSessions.layer.pipe(
      Layer.provide(
        Layer.mergeAll(
          Layer.succeed(Authentication, authentication),
          Layer.succeed(Notifications, { ...notifications, notify: () => Effect.void })
        )
      )
    )
  )
  return { authentication, services }
})

layer(platformDatabase, { excludeTestServices: true })("a session of the console", (it) => {
  it.effect("has ended on the node that ended it before that node says so", () =>
    Effect.gen(function* () {
      const { authentication, services } = yield* silentNode
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

  it.effect("that a link has opened ends the portals whose links it made, before that node says so", () =>
    Effect.gen(function* () {
      const { authentication, services } = yield* silentNode
      yield* Effect.gen(function* () {
        const [links, portals, sessions] = [yield* ConsoleLinks, yield* PortalLinks, yield* ConsoleSessions]
        const { id } = yield* makeOrganization
        const { link } = yield* links.create(id, { mode: "live", services: [], scopes: ["*"] })
        const console = (yield* authentication.verify((yield* sessions.openWithLink(link)).text))!
        const end = (yield* Clock.currentTimeMillis) + 60_000
        const portal = { label: "ann", types: ["telco.*"] }
        const [used, unused] = [`pl_${"a".repeat(32)}`, `pl_${"b".repeat(32)}`]
        for (const text of [used, unused]) yield* portals.create(console, text, portal, end)
        const { expiresAtMillis, text } = yield* sessions.openWithLink(used)
        expect(expiresAtMillis).toBe(end)
        expect(yield* authentication.verify(text)).toMatchObject({ session: { portal } })
        yield* sessions.close(console.session!.id)
        expect(yield* authentication.verify(text)).toBeNull()
        expect(yield* Effect.flip(sessions.openWithLink(unused))).toMatchObject({ _tag: "SignInRefused" })
      }).pipe(Effect.provide(services))
    })
  )
})
