/** Credentials of other product sites in PostgreSQL, and the access that rests on them (docs/platform.md, 2.8). */
import { expect, layer } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import { HttpApi, HttpApiBuilder, HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { keyDigest } from "../../src/common/identifiers.ts"
import { idempotentRequest } from "../../src/http/idempotency.ts"
import { layerSiteAccess } from "../../src/platform/layerSiteAccess.ts"
import { SiteCredentials } from "../../src/platform/SiteCredentials.ts"
import { CurrentSite, SiteAccess } from "../../src/platform/siteAccess.ts"
import { dump, makeOrganization, platformDatabase } from "./support.ts"

class Api extends HttpApi.make("sites").add(
  HttpApiGroup.make("sites")
    .add(HttpApiEndpoint.get("whose", "/whose", { success: Schema.String }))
    .middleware(SiteAccess)
) {}

/** A server in this process whose one endpoint says for whom its caller speaks. */
const handler = Effect.gen(function* () {
  const services = yield* Effect.context<SiteCredentials>()
  const handlers = HttpApiBuilder.group(Api, "sites", (group) =>
    Effect.succeed(group.handle("whose", () => Effect.map(CurrentSite, ({ organizationId }) => organizationId)))
  )
  const { dispose, handler } = HttpRouter.toWebHandler(
    HttpApiBuilder.layer(Api).pipe(
      Layer.provide(handlers),
      Layer.provide(layerSiteAccess),
      Layer.provide(Layer.succeedContext(services)),
      Layer.provideMerge(HttpServer.layerServices)
    ),
    { disableLogger: true }
  )
  yield* Effect.addFinalizer(() => Effect.promise(dispose))
  return (authorization: string | undefined, query = "") =>
    Effect.promise(async () => {
      const headers: Record<string, string> = authorization === undefined ? {} : { authorization }
      const answer = await handler(new Request(`http://sluice.internal/whose${query}`, { headers }))
      return { status: answer.status, text: await answer.text() }
    })
})

layer(platformDatabase, { excludeTestServices: true })("site credentials", (it) => {
  it.effect("are stored as SHA-256 only, and listed without their text", () =>
    Effect.gen(function* () {
      const sites = yield* SiteCredentials
      const { id } = yield* makeOrganization
      const { credential, site } = yield* sites.create(id, "shop")
      expect(credential).toMatch(/^site_[0-9A-Za-z]{22}$/)
      const stored = yield* dump("site_credentials")
      expect(stored).toContain(keyDigest(credential!))
      expect(stored).not.toContain(credential!.slice("site_".length))
      expect(site).toEqual({
        id: expect.stringMatching(/^sic_/),
        organizationId: id,
        name: "shop",
        prefix: credential!.slice(0, 9),
        active: true,
        createdAt: expect.any(Number)
      })
      expect((yield* sites.list({ organizationId: id, limit: 10, cursor: undefined })).data).toEqual([site])
    })
  )

  it.effect("made twice under one idempotency key are one", () =>
    Effect.gen(function* () {
      const sites = yield* SiteCredentials
      const { id } = yield* makeOrganization
      const once = idempotentRequest("one", { name: "shop" })
      const first = yield* sites.create(id, "shop", once)
      const again = yield* sites.create(id, "shop", once)
      expect([again.site, again.credential]).toEqual([first.site, null])
      const other = yield* Effect.flip(sites.create(id, "mall", idempotentRequest("one", { name: "mall" })))
      expect(other).toMatchObject({ _tag: "IdempotencyConflict" })
    })
  )

  it.effect("[platform 2.8] speak for their organization until they are revoked", () =>
    Effect.gen(function* () {
      const sites = yield* SiteCredentials
      const { id } = yield* makeOrganization
      const { credential, site } = yield* sites.create(id, null)
      const ask = yield* handler
      const refused = {
        status: 401,
        text: JSON.stringify({
          success: false,
          error: { code: "unauthorized", message: "Invalid or missing site credential" }
        })
      }
      expect(yield* ask(`Bearer ${credential}`)).toEqual({ status: 200, text: JSON.stringify(id) })
      expect((yield* ask(`Bearer ${credential}`, "?a=1")).status).toBe(400)
      for (const other of [undefined, "", credential!, `Basic ${credential}`, `Bearer ${credential}x`, "Bearer site_"])
        expect(yield* ask(other), `${other}`).toEqual(refused)
      expect((yield* sites.revoke(site.id)).active).toBe(false)
      expect(yield* sites.revoke(site.id)).toEqual({ ...site, active: false })
      expect(yield* ask(`Bearer ${credential}`)).toEqual(refused)
      expect(yield* Effect.flip(sites.revoke("sic_none"))).toMatchObject({ _tag: "SiteCredentialNotFound" })
    })
  )
})
