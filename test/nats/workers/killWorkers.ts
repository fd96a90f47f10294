/**
 * The plan of the kill test of workers: orders come while the process that has them charged is killed (-9) again and again. In the end each is charged
 * under one key, and each reply has counted once.
 */
import { Context, Effect, Layer, Logger, Redacted } from "effect"
import * as Durable from "../../../src/durable.ts"
import { Engine } from "../../../src/engine/Engine.ts"
import { makeDatabase } from "../../support/database.ts"
import { deployment } from "../engineSupport.ts"
import { connectTo, createStream, waitUntil } from "../jetStreamSupport.ts"
import { Victim } from "../streams/Victim.ts"
import { PaymentService } from "./PaymentService.ts"
import { programWith, storesOf, Till } from "./shop.ts"

const organizations = ["org_1", "org_2", "org_3", "org_4", "org_5", "org_6"]

/** Plays the plan. Returns the charges of each key, and the orders and replies that each organization has counted. */
export const playWorkerKills = (kills: number, ordersPerKill: number) =>
  Effect.gen(function* () {
    const { options } = yield* deployment
    const { url } = yield* makeDatabase
    const { client } = yield* connectTo(options.natsUrl)
    yield* createStream(client, "orders")
    const service = new PaymentService()
    yield* service.serve
    const program = new URL("process.ts", import.meta.url)
    const victim = new Victim(program, [options.natsUrl, Redacted.value(url), service.address])
    yield* Effect.addFinalizer(() => victim.kill)
    yield* victim.start
    const total = (kills + 1) * ordersPerKill
    const write = Effect.promise(async () => {
      for (let order = 0; order < total; order++)
        await client.request(`orders.${organizations[order % organizations.length]}`, String(order), {
          timeout: 10_000
        })
    })
    yield* Effect.forkScoped(write)
    for (let kill = 1; kill <= kills; kill++) {
      const reached = Math.floor((kill - 0.5) * ordersPerKill)
      yield* waitUntil(Effect.sync(() => service.charges.size >= reached))
      yield* victim.kill
      yield* victim.start
    }
    yield* waitUntil(Effect.sync(() => service.charges.size >= total))
    yield* victim.kill
    const layer = Durable.layer(programWith(service.address), storesOf(options.natsUrl, Redacted.value(url)))
    const built = yield* Layer.build(layer.pipe(Layer.provide(Logger.layer([]))))
    const engine = Context.get(built, Engine)
    yield* engine.ready
    const states = Effect.forEach(organizations, (organization) => engine.state(Till, { organization }))
    // Jobs of killed processes come back when their leases end.
    yield* waitUntil(Effect.map(states, (all) => all.reduce((sum, { paid }) => sum + new Set(paid).size, 0) >= total))
    return { total, charges: service.charges, states: yield* states }
  })
