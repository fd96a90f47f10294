/** Rule 11 without an engine: what a reactor gets in one transaction, begun and grown while it waits for its place. */
import { describe, expect, it } from "@effect/vitest"
import { Arbitrary, Effect, Schema } from "effect"
import { maximumBatchRecords, type Reactor } from "../../src/engine/Reactor.ts"
import type { CommittedFrame, LogRecord } from "../../src/engine/records.ts"
import { batchOf } from "../../src/engine/shell/reactors/batchOf.ts"

const wantsEvents: Reactor<never> = { name: "events", handle: () => Effect.void, wants: ({ _tag }) => _tag === "Event" }

/** Records of each frame that the reactor wants, and others that it does not. */
const sizes = Schema.Array(
  Schema.Tuple([
    Schema.Literals([0, 1, 3, maximumBatchRecords / 2, maximumBatchRecords / 2 + 1, maximumBatchRecords + 1]),
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 }))
  ])
).check(Schema.isMinLength(1), Schema.isMaxLength(8))

const framesOf = (drawn: typeof sizes.Type): ReadonlyArray<CommittedFrame> =>
  drawn.map(([wanted, others], at) => {
    const sequence = at + 1
    const place = { partition: 0, sequence, now: 0, organization: "org_1", kind: "counter", key: "" }
    const records = Array.from({ length: wanted + others }, (_, index): LogRecord => {
      const event = { type: "counter.added", service: "platform", livemode: true, data: {} }
      return index < others
        ? { _tag: "Fact", ...place, index, fact: {} }
        : { _tag: "Event", ...place, index, id: `${sequence}.${index}`, event }
    })
    return { sequence, hash: `hash ${sequence}`, number: sequence, epoch: 1, now: 0, bytes: 1, records }
  })

/** Whole frames from the first one on, until the next one would not fit. */
const naive = (frames: ReadonlyArray<CommittedFrame>) => {
  const wantedOf = ({ records }: CommittedFrame) => records.filter(({ _tag }) => _tag === "Event")
  let count = 0
  let taken = 0
  while (taken < frames.length) {
    const more = wantedOf(frames[taken]!).length
    if (count > 0 && count + more > maximumBatchRecords) break
    count += more
    taken++
  }
  return {
    sequence: taken,
    places: frames.slice(0, taken).flatMap((frame) => wantedOf(frame).map(({ index }) => `${frame.sequence}.${index}`))
  }
}

const placesOf = ({ to, wanted }: ReturnType<typeof batchOf>) => ({
  sequence: to.sequence,
  places: wanted.map(({ record }) => `${record.sequence}.${record.index}`)
})

describe("a batch", () => {
  it.prop(
    "holds the same, whichever of its frames were there when it was begun",
    [Arbitrary.schema(sizes), Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 8 })))],
    ([drawn, split]) => {
      const frames = framesOf(drawn)
      const begun = batchOf(wantsEvents, frames.slice(0, split))
      const before = placesOf(begun)
      const grown = batchOf(wantsEvents, frames.slice(begun.to.sequence), begun)
      expect(placesOf(grown)).toEqual(naive(frames))
      expect(grown.to.hash).toBe(`hash ${grown.to.sequence}`)
      expect(placesOf(begun)).toEqual(before)
    }
  )
})
