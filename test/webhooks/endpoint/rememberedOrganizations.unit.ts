/** For which move of the SQL reactor's cursor the endpoints of whole organizations that it remembers still hold. */
import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import type { CursorMove } from "../../../src/engine/ports/Cursors.ts"
import { OrganizationCache } from "../../../src/webhooks/endpoint/EndpointCache.ts"
import type { FoldedEndpoint } from "../../../src/webhooks/endpoint/model.ts"

const move = (from: number, to: number, partition = 0, history = ""): CursorMove => ({
  partition,
  reactor: "projections",
  from: { sequence: from, hash: `${history}${from}` },
  to: { sequence: to, hash: `${history}${to}` }
})
const endpoint = (organizationId: string, sequence: number, endpointId = `we_${organizationId}`): FoldedEndpoint => ({
  endpointId,
  organizationId,
  partition: 0,
  sequence,
  endpoint: null
})
const of = (...endpoints: ReadonlyArray<FoldedEndpoint>) =>
  [[endpoints[0]!.organizationId, endpoints] as const] satisfies Iterable<readonly [string, unknown]>

describe("endpoints of organizations that the reactor remembers", () => {
  it("given a committed move, when the next one begins at its end, then they are known; also that there are none", () => {
    const remembered = new OrganizationCache()
    remembered.committed(move(0, 3), [...of(endpoint("a", 2)), ["b", []]])
    const known = remembered.of(move(3, 5))
    expect(known("a")).toEqual([endpoint("a", 2)])
    expect(known("b")).toEqual([])
    expect(known("c")).toBeUndefined()
  })

  it("given further moves about others, then they are still known; given one about them, then as they are since", () => {
    const remembered = new OrganizationCache()
    remembered.committed(move(0, 3), of(endpoint("a", 2)))
    remembered.committed(move(3, 4), of(endpoint("b", 4)))
    remembered.committed(move(4, 6), of(endpoint("a", 5)))
    expect(remembered.of(move(6, 7))("a")).toEqual([endpoint("a", 5)])
    expect(remembered.of(move(6, 7))("b")).toEqual([endpoint("b", 4)])
  })

  it("given a move that was rolled back, when it is tried again, then what was before it is known", () => {
    const remembered = new OrganizationCache()
    remembered.committed(move(0, 3), of(endpoint("a", 2)))
    expect(remembered.of(move(3, 5))("a")).toEqual([endpoint("a", 2)])
    expect(remembered.of(move(3, 6))("a")).toEqual([endpoint("a", 2)])
  })

  it("given that somebody else has moved the cursor meanwhile, or another log stands there, then nothing is known", () => {
    const remembered = new OrganizationCache()
    remembered.committed(move(0, 3), of(endpoint("a", 2)))
    expect(remembered.of(move(4, 5))("a")).toBeUndefined()
    expect(remembered.of(move(3, 5, 0, "other"))("a")).toBeUndefined()
    remembered.committed(move(4, 5), of(endpoint("b", 5)))
    expect(remembered.of(move(5, 6))("a")).toBeUndefined()
    expect(remembered.of(move(5, 6))("b")).toEqual([endpoint("b", 5)])
  })

  it("given what is no move, then nothing is known, and after it nothing of that partition", () => {
    const remembered = new OrganizationCache()
    remembered.committed(move(0, 3), of(endpoint("a", 2)))
    remembered.committed(move(0, 3, 1), of(endpoint("b", 2)))
    expect(remembered.of(undefined)("a")).toBeUndefined()
    remembered.forget(0)
    expect(remembered.of(move(3, 4))("a")).toBeUndefined()
    expect(remembered.of(move(3, 4, 1))("b")).toEqual([endpoint("b", 2)])
  })

  it("given more than are to be kept, then those that were not asked for longest go", () => {
    const remembered = new OrganizationCache(5)
    remembered.committed(move(0, 1), of(endpoint("a", 1)))
    remembered.committed(move(1, 2), of(endpoint("b", 2)))
    remembered.committed(move(2, 3), of(endpoint("a", 1)))
    remembered.committed(move(3, 4), of(endpoint("c", 4)))
    const known = remembered.of(move(4, 5))
    expect(["a", "b", "c"].filter((organization) => known(organization) !== undefined)).toEqual(["a", "c"])
  })

  const Turn = Schema.Struct({
    organization: Schema.Literals(["a", "b", "c"]),
    // What becomes of the batch: committed, rolled back, or committed by another process.
    end: Schema.Literals(["committed", "undone", "elsewhere"])
  })

  it.prop("what is known is what is stored", [Schema.Array(Turn)], ([turns]) => {
    const remembered = new OrganizationCache(4)
    const stored = new Map<string, ReadonlyArray<FoldedEndpoint>>()
    let cursor = 0
    for (const [index, { end, organization }] of turns.entries()) {
      const next = move(cursor, cursor + 1)
      const known = remembered.of(next)
      for (const name of ["a", "b", "c"]) {
        const endpoints = known(name)
        if (endpoints !== undefined) expect(endpoints).toEqual(stored.get(name))
      }
      if (end === "undone") continue
      const after = [endpoint(organization, index)]
      stored.set(organization, after)
      cursor++
      if (end === "committed") remembered.committed(next, [[organization, after]])
    }
  })
})
