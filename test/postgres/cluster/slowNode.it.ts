/** A node to which PostgreSQL's answers come late. */
import { layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { TestDatabase } from "../../support/database.ts"
import { patienceMillis } from "../../support/patience.ts"
import { proxyTo } from "../support.ts"
import { clusterDatabase, spreadOver, startNode } from "./nodes.ts"

/** Two statements take longer than effect/cluster waits for an answer, and less than a sign of life may take. */
const delayMillis = 600

layer(clusterDatabase, { excludeTestServices: true, timeout: patienceMillis })("a node that is slow", (it) => {
  it.effect("gets its share of the partitions", () =>
    Effect.gen(function* () {
      const { url } = yield* TestDatabase
      const quick = yield* startNode("quick", url)
      yield* spreadOver(quick)
      const proxy = yield* proxyTo(Redacted.value(url))
      yield* proxy.delay(delayMillis)
      const slow = yield* startNode("slow", Redacted.make(proxy.url))
      yield* spreadOver(quick, slow)
    })
  )
})
