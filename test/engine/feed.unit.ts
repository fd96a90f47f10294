/** The frames that reactors are fed with from memory: what somebody still has to read is there within the bounds, and nothing else. */
import { assert, describe, it } from "@effect/vitest"
import type { CommittedFrame } from "../../src/engine/records.ts"
import { Feed } from "../../src/engine/shell/reactors/Feed.ts"

const frame = (sequence: number, bytes = 10): CommittedFrame => ({
  sequence,
  hash: `hash ${sequence}`,
  number: sequence,
  epoch: 1,
  now: 0,
  bytes,
  records: []
})

const sequencesAfter = (feed: Feed, sequence: number) =>
  feed.after(sequence, 1_000)?.map((found) => found.sequence) ?? "not in memory"

const fed = (readers: ReadonlyArray<string>, count: number, { frames = 100, bytes = 1_000_000 } = {}): Feed => {
  const feed = new Feed(frames, bytes, readers)
  for (let sequence = 1; sequence <= count; sequence++) feed.push(frame(sequence))
  return feed
}

describe("the feed of reactors", () => {
  it("keeps what the slowest reader has not read", () => {
    const feed = fed(["sql", "mail"], 10)
    feed.done("sql", 9)
    assert.deepStrictEqual(sequencesAfter(feed, 0), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    feed.done("mail", 4)
    assert.deepStrictEqual(sequencesAfter(feed, 4), [5, 6, 7, 8, 9, 10])
    assert.deepStrictEqual(sequencesAfter(feed, 9), [10])
    assert.strictEqual(sequencesAfter(feed, 3), "not in memory")
    feed.done("mail", 10)
    feed.done("sql", 10)
    assert.strictEqual(sequencesAfter(feed, 10), "not in memory")
    feed.push(frame(11))
    assert.deepStrictEqual(sequencesAfter(feed, 10), [11])
  })

  it("a reader that has not begun holds everything, up to the bounds", () => {
    const feed = fed(["sql", "mail"], 150)
    feed.done("sql", 150)
    assert.strictEqual(sequencesAfter(feed, 49), "not in memory")
    assert.strictEqual(sequencesAfter(feed, 50).length, 100)
    const bounded = fed(["sql"], 150, { bytes: 200 })
    assert.deepStrictEqual(sequencesAfter(bounded, 130).length, 20)
    assert.strictEqual(sequencesAfter(bounded, 129), "not in memory")
  })

  it("reads on as a plain list of all frames would, whoever has read what", () => {
    let seed = 7
    const random = (below: number) => {
      seed = (seed * 48_271) % 2_147_483_647
      return seed % below
    }
    for (let round = 0; round < 200; round++) {
      const positions = new Map([["a", 0] as [string, number], ["b", 0] as [string, number]])
      const feed = fed([...positions.keys()], 0)
      let last = 0
      for (let step = 0; step < 60; step++) {
        if (random(2) === 0) feed.push(frame(++last))
        const reader = random(2) === 0 ? "a" : "b"
        const at = positions.get(reader)!
        const expected = Array.from({ length: last - at }, (_, index) => at + 1 + index)
        if (expected.length > 0) assert.deepStrictEqual(sequencesAfter(feed, at), expected)
        const through = at + random(last - at + 1)
        positions.set(reader, through)
        feed.done(reader, through)
      }
    }
  })
})
