/** A partition's core with an ingest: whatever becomes of its frames and lives, each message is decided once and in order (docs/streams.md). */
import { describe, expect, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { Entry } from "../../src/engine/core/actors/Organization.ts"
import { SignalQueue } from "../../src/engine/core/drain/SignalQueue.ts"
import { SignalQueues } from "../../src/engine/core/drain/SignalQueues.ts"
import { decodeFrame } from "../../src/engine/frame.ts"
import { maximumIngestPlaces, maximumQueuedIngestBytes } from "../../src/engine/limits.ts"
import { Counter } from "./support/actors.ts"
import { CoreDriver } from "./support/core.ts"

const ingest = "orders"

/** The partition that reads a stream of messages, of which every third is another partition's. */
class Reader {
  readonly core = new CoreDriver().begin()
  private read = 0
  private readonly last: number
  readonly own: ReadonlyArray<string>

  constructor(last: number) {
    this.last = last
    this.own = Array.from({ length: last }, (_, index) => index + 1).flatMap((one) => (one % 3 === 0 ? [] : [`${one}`]))
    this.core.core.intake.passOver(0, ingest)
  }

  get place(): number | undefined {
    return this.core.core.head.ingests?.[ingest]
  }

  readOn(count: number): void {
    const { intake } = this.core.core
    for (let left = count; left > 0 && this.read < this.last && intake.admitsSignals(() => {}, ingest); left--) {
      const sequence = ++this.read
      const command = { _tag: "Note", text: String(sequence) }
      if (sequence % 3 !== 0) intake.signal(sequence, "org_1", Counter, "", command, ingest)
      intake.passed(sequence, ingest)
    }
  }

  /** Drains once; `isStored` says what the log does with the frame. Returns whether there was one. */
  drain(isStored: boolean): boolean {
    this.core.readAll()
    const demand = this.core.next()
    if (demand._tag === "Confirm") {
      this.core.confirm()
      return this.drain(isStored)
    }
    if (demand._tag !== "Append") {
      this.core.pass(2_000)
      return false
    }
    if (isStored) this.core.stored(demand.frame)
    else this.core.fencedOff(demand.frame, new Error("full"))
    // The log may hold facts back for a while after a refusal.
    this.core.pass(2_000)
    return true
  }

  /** The process ends, and another one recovers from the log. */
  crash(): void {
    this.core.begin()
    this.read = this.place ?? 0
    if (this.place === undefined) this.core.core.intake.passOver(0, ingest)
  }

  get decided(): ReadonlyArray<string> {
    const state = this.core.core.probe.actor("org_1", 0, "")?.state as { readonly notes: ReadonlyArray<string> }
    return state === undefined ? [] : state.notes
  }
}

describe("the place of an ingest", () => {
  const Step = Schema.Union([
    Schema.TaggedStruct("Read", { count: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 300 })) }),
    Schema.TaggedStruct("Store", {}),
    Schema.TaggedStruct("Refuse", {}),
    Schema.TaggedStruct("Crash", {})
  ])

  it.prop(
    "never passes a message that is not decided, so that each one is decided once",
    [Arbitrary.schema(Schema.Array(Step))],
    ([steps]) => {
      const reader = new Reader(400)
      for (const step of steps) {
        if (step._tag === "Read") reader.readOn(step.count)
        else if (step._tag === "Crash") reader.crash()
        else reader.drain(step._tag === "Store")
        const place = reader.place ?? 0
        expect(reader.decided).toEqual(reader.own.filter((text) => Number(text) <= place))
      }
      for (let round = 0; round < 20; round++) {
        reader.readOn(400)
        reader.drain(true)
      }
      expect(reader.decided).toEqual(reader.own)
    }
  )

  it("is that of the last decision while messages wait, and moves over others' when none does", () => {
    const reader = new Reader(200)
    reader.readOn(200)
    const places: Array<number | undefined> = []
    while (reader.drain(true)) places.push(decodeFrame(reader.core.log.at(-1)!.bytes).ingests?.[ingest])
    // A drain takes 128 entries; the last message is another partition's.
    expect(places).toEqual([190, 200])
    expect(reader.own.at(-1)).toBe("200")
  })
})

describe("the place of an ingest that has read nothing in this life", () => {
  it("stays when a new ingest would need its room", () => {
    const queues = new SignalQueues()
    queues.follows("quiet")
    const names = Array.from({ length: maximumIngestPlaces - 1 }, (_, index) => `left${index}`)
    const places = Object.fromEntries(["quiet", ...names].map((name, index) => [name, index]))
    expect(Object.keys(queues.place(places, "new", 7))).toEqual(["quiet", ...names.slice(1), "new"])
  })
})

describe("what is read ahead", () => {
  const entry = (bytes: number) => Object.assign(Object.create(Entry.prototype) as Entry, { bytes })

  it("is bounded by its bytes too, and is read again at half of them", () => {
    const queue = new SignalQueue()
    let isRoomy = false
    queue.add(entry(maximumQueuedIngestBytes / 2))
    expect(queue.hasRoom).toBe(true)
    queue.add(entry(maximumQueuedIngestBytes / 2))
    expect(queue.hasRoom).toBe(false)
    queue.onRoom = () => {
      isRoomy = true
    }
    queue.take()
    expect([queue.hasRoom, isRoomy]).toEqual([true, true])
  })

  it("begins with another queue at each drain", () => {
    const queues = new SignalQueues()
    for (const name of [undefined, "a", "b"]) queues.of(name).add(entry(0))
    const firsts = [1, 2, 3].map(() => queues.inTurn()[0])
    expect(new Set(firsts).size).toBe(3)
  })
})
