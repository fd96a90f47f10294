/** Two nodes of one process on a real PostgreSQL and NATS, one of whose clocks is set forward and right again. */
import { expect, layer } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { inject } from "vitest"
import { NatsConnection } from "../../../src/nats/connection.ts"
import { layerClockWatch, maximumAheadMillis } from "../../../src/platform/ClockWatch.ts"
import { TestDatabase } from "../../support/database.ts"
import { patienceMillis } from "../../support/patience.ts"
import { until } from "../support.ts"
import { clusterDatabase, partitions, spreadOver, startNode } from "./nodes.ts"

/** A node whose machine's clock can be set: so far ahead of the right time. */
const startClocked = (name: string, atFirst = 0) =>
  Effect.gen(function* () {
    let ahead = atFirst
    const watched = yield* Layer.build(layerClockWatch({ wall: () => Date.now() + ahead }))
    const { url } = yield* TestDatabase
    const { running } = yield* Effect.provide(startNode(name, url), watched)
    const setClock = (millis: number) => {
      ahead = millis
    }
    return { running, setClock }
  })

const servers = Layer.merge(
  clusterDatabase,
  NatsConnection.layer({ url: Redacted.make(inject("natsUrl")), weakSync: "accept" })
)

layer(servers, { excludeTestServices: true, timeout: patienceMillis })("a node whose clock is ahead", (it) => {
  it.effect("gives its partitions to the others, which go on, and gets its share when the clock is right", () =>
    Effect.gen(function* () {
      const one = yield* startClocked("one")
      const two = yield* startClocked("two")
      yield* spreadOver(one, two)
      const kept = [...two.running]
      one.setClock(maximumAheadMillis * 2)
      yield* until(Effect.sync(() => one.running.size === 0 && two.running.size === partitions))
      expect([...two.running]).toEqual(expect.arrayContaining(kept))
      one.setClock(0)
      yield* spreadOver(one, two)
    })
  )

  it.effect("takes none at a start, while others have them all", () =>
    Effect.gen(function* () {
      const three = yield* startClocked("three")
      yield* spreadOver(three)
      const four = yield* startClocked("four", maximumAheadMillis * 2)
      expect([four.running.size, three.running.size]).toEqual([0, partitions])
      four.setClock(0)
      yield* spreadOver(three, four)
    })
  )
})
