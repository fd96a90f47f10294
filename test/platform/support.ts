/**
 * Helpers of the tests of organizations, keys and authentication: the platform's tables on a database of the file's own,
 * nodes on it, a count of the statements that reach the database, and waiting in real time while the clock is the test's.
 */
import { setTimeout as pause } from "node:timers/promises"
import { Clock, Context, Effect, Fiber, Layer, Logger, type Scope, Stream, SubscriptionRef, Tracer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { layerTenancy } from "../../src/app/layers.ts"
import { migrations } from "../../src/app/migrations.ts"
import * as Engine from "../../src/engine/Engine.ts"
import { ApiKeys, keysChannel, type NewApiKey } from "../../src/platform/ApiKeys.ts"
import { Authentication } from "../../src/platform/Authentication.ts"
import { OrganizationActor } from "../../src/platform/OrganizationActor.ts"
import { OrganizationPlans } from "../../src/platform/OrganizationPlans.ts"
import { Organizations } from "../../src/platform/Organizations.ts"
import { DatabaseWatch } from "../../src/postgres/DatabaseWatch.ts"
import { migrate } from "../../src/postgres/migrate.ts"
import { Notifications, layer as notificationsLayer } from "../../src/postgres/Notifications.ts"
import { freshDatabase } from "../support/database.ts"

/** Plans are decisions of the engine; here it needs no server. */
const plans = OrganizationPlans.layer.pipe(Layer.provide(Engine.layerMemory({ actors: [OrganizationActor] })))

const tenancy = layerTenancy.pipe(Layer.provide(plans))

/** Organizations and keys on a database of their own, and one node's notifications. */
export const platformDatabase = tenancy.pipe(
  Layer.provideMerge(notificationsLayer()),
  Layer.provideMerge(Layer.effectDiscard(migrate(migrations))),
  Layer.provideMerge(freshDatabase({ maxConnections: 10 })),
  Layer.provide(Logger.layer([]))
)

/** Returns once the condition holds, by the real clock; fails the test when it never does. */
export const until = <E, R>(condition: Effect.Effect<boolean, E, R>): Effect.Effect<void, E, R> =>
  condition.pipe(
    Effect.tap((holds) => (holds ? Effect.void : Effect.promise(() => pause(5)))),
    Effect.repeat({ until: (holds) => holds }),
    Effect.asVoid
  )

/** Counts the statements that the effect, and what it forks, sends to the database. */
export const countingStatements = <A, E, R>(
  effect: Effect.Effect<A, E, R>
): Effect.Effect<{ readonly result: A; readonly statements: number }, E, R> =>
  Effect.suspend(() => {
    let statements = 0
    const tracer = Tracer.make({
      span: (options) => {
        // Of all that is done here only statements are spans of a client.
        if (options.kind === "client") statements++
        return new Tracer.NativeSpan(options)
      }
    })
    return Effect.map(Effect.withTracer(effect, tracer), (result) => ({ result, statements }))
  })

/** A watch by the real clock: its questions go to the real server. */
const realWatch = (notifications: Notifications["Service"]) =>
  Layer.build(Layer.provide(DatabaseWatch.layer(), Layer.succeed(Notifications, notifications))).pipe(
    Effect.provideService(Clock.Clock, Clock.Clock.defaultValue()),
    Effect.map((built) => Context.get(built, DatabaseWatch))
  )

/**
 * Another node's authentication, with a connection of its own for notifications. `wrap` may put something between it and
 * the keys, `watch` may say that PostgreSQL is away.
 */
export const authenticationNode = (
  wrap: (apiKeys: ApiKeys["Service"]) => ApiKeys["Service"] = (apiKeys) => apiKeys,
  watch?: DatabaseWatch["Service"]
): Effect.Effect<
  Authentication["Service"] & { readonly connected: SubscriptionRef.SubscriptionRef<boolean> },
  never,
  Layer.Services<ReturnType<typeof notificationsLayer>> | SqlClient.SqlClient | ApiKeys | Scope.Scope
> =>
  Effect.gen(function* () {
    const apiKeys = wrap(yield* ApiKeys)
    // Its signs of life are the real server's, so its clock is the real one too.
    const notifications = yield* Layer.build(notificationsLayer()).pipe(
      Effect.provideService(Clock.Clock, Clock.Clock.defaultValue()),
      Effect.map((built) => Context.get(built, Notifications))
    )
    const services = yield* Layer.build(
      // Each node has one of its own.
      Layer.fresh(Authentication.layer).pipe(
        Layer.provide(Layer.succeed(DatabaseWatch, watch ?? (yield* realWatch(notifications)))),
        Layer.provide(Layer.mergeAll(Layer.succeed(ApiKeys, apiKeys), Layer.succeed(Notifications, notifications)))
      )
    )
    yield* until(SubscriptionRef.get(notifications.connected))
    // Who listens later is told of a gap later: with it, the node has dealt with its own. Forked as the node's listener
    // is, or it would come first.
    yield* notifications
      .listen(keysChannel)
      .pipe(Stream.take(1), Stream.runDrain, Effect.forkChild, Effect.flatMap(Fiber.join))
    return { ...Context.get(services, Authentication), connected: notifications.connected }
  }).pipe(Effect.provide(Logger.layer([])))

/** An organization with the smallest plans. */
export const makeOrganization = Effect.gen(function* () {
  const organizations = yield* Organizations
  const { organization } = yield* organizations.create({
    name: "Acme",
    email: null,
    plan: "free",
    sendPlan: "hobby",
    risk: "standard"
  })
  return organization
})

/** A key of a new organization; answers its text with it. */
export const makeKey = Effect.fnUntraced(function* (more: Partial<NewApiKey> = {}) {
  const apiKeys = yield* ApiKeys
  const { id } = yield* makeOrganization
  const { apiKey, key } = yield* apiKeys.create(id, {
    name: null,
    mode: "live",
    services: ["directory"],
    scopes: [],
    expiresAtMillis: null,
    ...more
  })
  return { ...apiKey, key: key! }
})

/** Every value in every row of a table, as text. */
export const dump = (table: string): Effect.Effect<string, SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.map(sql<{ readonly text: string }>`select t::text as text from ${sql(table)} t`, (rows) =>
      rows.map(({ text }) => text).join("\n")
    )
  )
