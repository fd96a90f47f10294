/** Which messages a receiver has taken in, by where they come from (docs/outbox.md), and what the outbox holds until they are done. */
import { describe, expect, it } from "@effect/vitest"
import { maximumOutboxMessages, maximumSentMessages } from "../../src/engine/limits.ts"
import { inboxGuard, isBehind, type MessageRecord, type Origin } from "../../src/engine/outbox.ts"
import { Outbox } from "../../src/engine/shell/outbox/Outbox.ts"

const taken = (last: Origin | null, origin: Origin, after?: Origin) =>
  inboxGuard(0, origin, after).recall(last, 0)?.value

describe("an inbox", () => {
  it("takes in what is behind the last message of that partition", () => {
    expect(taken(null, [1, 2, 0])).toBeUndefined()
    expect(taken([1, 2, 0], [1, 2, 1])).toBeUndefined()
    expect(taken([1, 2, 5], [1, 3, 0])).toBeUndefined()
  })

  it("knows what it has taken in, and what stands before that", () => {
    for (const origin of [
      [1, 2, 1],
      [1, 2, 0],
      [1, 1, 9],
      [0, 9, 9]
    ] as ReadonlyArray<Origin>)
      expect(taken([1, 2, 1], origin)).toBe("repeated")
  })

  it("takes in a message of a later epoch at the place of a lost one", () => {
    expect(taken([1, 9, 9], [1_001, 3, 0])).toBeUndefined()
    expect(isBehind([1_001, 3, 0], [1, 9, 9])).toBe(true)
  })

  it("waits for the message before one that was sent together with it", () => {
    expect(taken(null, [1, 2, 1], [1, 2, 0])).toBe("out of turn")
    expect(taken([1, 1, 0], [1, 2, 1], [1, 2, 0])).toBe("out of turn")
    expect(taken([1, 2, 0], [1, 2, 1], [1, 2, 0])).toBeUndefined()
    expect(taken([1, 2, 1], [1, 2, 1], [1, 2, 0])).toBe("repeated")
  })
})

const frame = (sequence: number, ...receivers: ReadonlyArray<string>) => ({
  sequence,
  hash: `h${sequence}`,
  now: sequence * 10,
  messages: receivers.map(
    (organization, index): MessageRecord => ({
      origin: [1, sequence, index],
      now: sequence * 10,
      sender: { organization: "org_1", kind: "purse", key: "" },
      message: { organization, kind: "purse", key: "", version: 1, command: null },
      bytes: 100
    })
  )
})

const begun = () => {
  const outbox = new Outbox()
  outbox.begin({ sequence: 4, hash: "h4" })
  return outbox
}

describe("an outbox", () => {
  it("is done up to the frame before the first whose messages are not all done", () => {
    const outbox = begun()
    for (const one of [frame(5), frame(6, "a", "b"), frame(7), frame(8, "a"), frame(9)])
      expect(outbox.take(one)).toBe(true)
    expect(outbox.doneThrough).toEqual({ sequence: 5, hash: "h5" })
    expect(outbox.oldest).toBe(60)
    const [a, b] = outbox.takeResting()
    expect(a!.batch().map(({ origin }) => origin[1])).toEqual([6, 8])
    outbox.done(a!, 2)
    expect(outbox.doneThrough).toEqual({ sequence: 5, hash: "h5" })
    outbox.done(b!, 1)
    expect(outbox.doneThrough).toEqual({ sequence: 9, hash: "h9" })
    expect([outbox.count, outbox.oldest]).toEqual([0, undefined])
  })

  it("takes in frames in order only, and nothing before it has begun", () => {
    const outbox = begun()
    expect(outbox.take(frame(6))).toBe(false)
    expect(outbox.take(frame(4))).toBe(false)
    expect(outbox.take(frame(5, "a"))).toBe(true)
    outbox.drop()
    expect([outbox.count, outbox.take(frame(6, "a"))]).toEqual([0, false])
  })

  it("is bounded, and takes in more when there is room again", () => {
    const outbox = begun()
    let sequence = 5
    const many = Array.from({ length: 1_000 }, () => "a")
    while (outbox.take(frame(sequence, ...many))) sequence++
    expect(outbox.count).toBeGreaterThanOrEqual(maximumOutboxMessages)
    expect(outbox.count).toBeLessThan(maximumOutboxMessages + 1_000)
    const [lane] = outbox.takeResting()
    while (!outbox.isRoomy) outbox.done(lane!, lane!.batch().length)
    expect(lane!.batch()).toHaveLength(maximumSentMessages)
    expect(outbox.take(frame(sequence, "a"))).toBe(true)
    expect(outbox.takeResting()).toEqual([])
    outbox.done(lane!, lane!.queue.length)
    outbox.rest(lane!)
    outbox.take(frame(sequence + 1, "a"))
    expect(outbox.takeResting().map(({ receiver }) => receiver)).toEqual(["a"])
  })
})
