/** Rule 8: frames, their golden files, and ids. */
import { readFileSync } from "node:fs"
import { describe, expect, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { fnv1a, isSubjectToken, partitionOf } from "../../src/engine/address.ts"
import {
  decodeFrame,
  encodeClaim,
  encodeEvent,
  encodeMessage,
  type FrameActor,
  FrameBuilder,
  FrameInvalid,
  type FrameRecord,
  hashOf,
  headAfter
} from "../../src/engine/frame.ts"
import { deriveId, eventId, idKinds } from "../../src/engine/ids.ts"
import { emptyLogHash } from "../../src/engine/ports/Checkpoints.ts"

const golden = (name: string): Uint8Array => readFileSync(new URL(`golden/${name}`, import.meta.url))

const header = { epoch: 3, number: 42, now: 1_700_000_000_123, previousHash: "ab".repeat(32), signalSequence: 17 }

/** The frame of the golden file: two organizations, two kinds, text of several alphabets, an event between facts. */
const sample = (): Uint8Array => {
  const builder = new FrameBuilder()
  const add = (actor: number, fact: unknown) => {
    const text = JSON.stringify(fact)
    builder.addFact(actor, text, Buffer.byteLength(text))
  }
  const counter = builder.addActor("counter", 1, "org_1", "")
  add(counter, { _tag: "Added", amount: 1.5 })
  const account = builder.addActor("account", 2, "org_1", 'a "quoted" key')
  add(account, { change: -3 })
  const event = encodeEvent({ type: "counter.added", service: "counter", livemode: true, data: { note: "Zürich 𝄞" } })
  builder.addEvent(counter, event, Buffer.byteLength(event))
  add(builder.addActor("counter", 1, "org_2", "k"), null)
  return builder.encode(header)
}

const Records = Schema.Array(
  Schema.Struct({
    organization: Schema.Literals(["org_a", "org_b", "org_c"]),
    kind: Schema.Literals(["one", "two"]),
    key: Schema.String,
    fact: Schema.Json,
    isFresh: Schema.Boolean,
    what: Schema.Literals(["fact", "event", "message"])
  })
)

describe("rule 8, frames", () => {
  it("a frame of version 1 is read and written as it was on the first day", () => {
    const bytes = golden("frame-v1.golden.json")
    expect(Buffer.from(sample()).toString()).toBe(Buffer.from(bytes).toString())
    expect(decodeFrame(bytes)).toEqual({
      ...header,
      claim: undefined,
      acceptsClock: false,
      records: [
        {
          actor: { kind: "counter", version: 1, organization: "org_1", key: "", isFresh: false },
          fact: { _tag: "Added", amount: 1.5 },
          event: undefined
        },
        {
          actor: { kind: "account", version: 2, organization: "org_1", key: 'a "quoted" key', isFresh: false },
          fact: { change: -3 },
          event: undefined
        },
        {
          actor: { kind: "counter", version: 1, organization: "org_1", key: "", isFresh: false },
          fact: null,
          event: { type: "counter.added", service: "counter", livemode: true, data: { note: "Zürich 𝄞" } }
        },
        {
          actor: { kind: "counter", version: 1, organization: "org_2", key: "k", isFresh: false },
          fact: null,
          event: undefined
        }
      ]
    })
  })

  it("a frame of version 2 is read and written as it was on the first day", () => {
    const builder = new FrameBuilder()
    const email = builder.addActor("email", 1, "org_1", "e_1", true)
    builder.addFact(email, '{"state":"queued"}', 18)
    const message = { organization: "org_2", kind: "account", key: "", version: 2, command: { amount: 5 } }
    const text = encodeMessage(message)
    builder.addMessage(email, text, text.length)
    const bytes = golden("frame-v2.golden.json")
    expect(Buffer.from(builder.encode(header)).toString()).toBe(Buffer.from(bytes).toString())
    const actor = { kind: "email", version: 1, organization: "org_1", key: "e_1", isFresh: true }
    expect(decodeFrame(bytes).records).toEqual([
      { actor, fact: { state: "queued" }, event: undefined, message: undefined },
      { actor, fact: null, event: undefined, message }
    ])
    expect(hashOf(bytes)).toBe("cafec2709833ea3c8aff611bba1189eee3c3a0665033b2a905b084a518646087")
  })

  it("a frame of version 3, with the places of ingests, is read and written as it was on the first day", () => {
    const ingests = { orders: 4_711, clicks: 0 }
    const builder = new FrameBuilder()
    builder.addFact(builder.addActor("shop", 1, "org_1", ""), '{"cents":300}', 13)
    const bytes = golden("frame-v3.golden.json")
    expect(Buffer.from(builder.encode({ ...header, ingests })).toString()).toBe(Buffer.from(bytes).toString())
    expect(decodeFrame(bytes)).toMatchObject({ ...header, ingests, records: [{ fact: { cents: 300 } }] })
    const claim = encodeClaim({ ...header, ingests }, "owner-1")
    expect(decodeFrame(claim)).toMatchObject({ ...header, ingests, claim: "owner-1" })
    expect(headAfter(43, claim, decodeFrame(claim)).ingests).toEqual(ingests)
    // An older program has no decoder for it, so it cannot lose a place.
    expect(JSON.parse(Buffer.from(claim).toString()).v).toBe(3)
  })

  it("a claim of version 1 is read and written as it was on the first day", () => {
    const bytes = golden("claim-v1.golden.json")
    const first = { ...header, previousHash: emptyLogHash }
    expect(Buffer.from(encodeClaim(first, "owner-1", true)).toString()).toBe(Buffer.from(bytes).toString())
    expect(decodeFrame(bytes)).toEqual({ ...first, claim: "owner-1", acceptsClock: true, records: [] })
    expect(hashOf(bytes)).toBe("2dfd5ba7f7c844f5ab12c821008bb3a618529db388e4a8b9ffa025341e75c86d")
  })

  it.prop("what is encoded is decoded, record for record, and measured", [Arbitrary.schema(Records)], ([records]) => {
    const builder = new FrameBuilder()
    const indexes = new Map<string, number>()
    const actors: Array<FrameActor> = []
    const expected: Array<FrameRecord> = []
    for (const { fact, isFresh, key, kind, organization, what } of records) {
      const name = JSON.stringify([kind, organization, key])
      let index = indexes.get(name)
      if (index === undefined) {
        index = actors.push({ kind, version: 1, organization, key, isFresh }) - 1
        expect(builder.addActor(kind, 1, organization, key, isFresh)).toBe(index)
        indexes.set(name, index)
      }
      const actor = actors[index]!
      const data = JSON.parse(JSON.stringify(fact))
      const event = { type: "a.b", service: "a", livemode: false, data }
      const message = { organization: "org_far", kind: "account", key, version: 3, command: data }
      const text =
        what === "event" ? encodeEvent(event) : what === "message" ? encodeMessage(message) : JSON.stringify(fact)
      const add = { event: builder.addEvent, fact: builder.addFact, message: builder.addMessage }[what]
      add.call(builder, index, text, Buffer.byteLength(text))
      const none = { actor, fact: null, event: undefined, message: undefined }
      expected.push({ event: { ...none, event }, fact: { ...none, fact: data }, message: { ...none, message } }[what])
    }
    const bytes = builder.encode(header)
    expect(decodeFrame(bytes).records).toEqual(expected)
    // The bound of a frame is kept by the builder's own count.
    expect(bytes.length).toBeLessThanOrEqual(builder.bytes + 512)
  })

  it.prop(
    "damaged bytes are refused as no frame, or read as some frame, never anything else",
    [Arbitrary.schema(Schema.Int), Arbitrary.schema(Schema.Int)],
    ([place, value]) => {
      const bytes = Uint8Array.from(sample())
      bytes[Math.abs(place) % bytes.length] = Math.abs(value) % 256
      try {
        decodeFrame(bytes)
      } catch (error) {
        expect(error).toBeInstanceOf(FrameInvalid)
      }
    }
  )

  it.each([
    ["nothing", ""],
    ["no JSON", "{"],
    ["null", "null"],
    ["a number", "7"],
    ["no version", "{}"],
    ["a version of the future", '{"v":4}'],
    ["a list of ingests", `{"v":3,"e":1,"n":1,"t":1,"p":"${emptyLogHash}","s":0,"i":[1]}`],
    ["an ingest without a place", `{"v":3,"e":1,"n":1,"t":1,"p":"${emptyLogHash}","s":0,"i":{"a":"1"}}`],
    ["a frame without epoch", `{"v":1,"n":1,"t":1,"p":"${emptyLogHash}","s":0}`],
    ["a frame whose chain is cut", '{"v":1,"e":1,"n":1,"t":1,"p":"ab","s":0}'],
    ["a record of nobody", `{"v":1,"e":1,"n":1,"t":1,"p":"${emptyLogHash}","s":0,"k":[],"a":[],"r":[[0,1]]}`],
    ["an actor of no kind", `{"v":1,"e":1,"n":1,"t":1,"p":"${emptyLogHash}","s":0,"k":[],"a":[[0,"o","k"]],"r":[]}`]
  ])("%s is not a frame", (_name, text) => {
    expect(() => decodeFrame(Buffer.from(text))).toThrow(FrameInvalid)
  })
})

describe("rule 8, ids", () => {
  const Place = Schema.Struct({
    partition: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 0xffff })),
    epoch: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 0xffff_ffff })),
    frame: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 ** 44 - 1 })),
    kind: Schema.Literals([idKinds.decided, idKinds.event]),
    command: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 0xfff })),
    index: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 0xffff }))
  })

  it.prop(
    "are UUIDv8, equal exactly for equal places",
    [Arbitrary.schema(Place), Arbitrary.schema(Place)],
    ([a, b]) => {
      const pattern = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
      expect(deriveId(a)).toMatch(pattern)
      expect(deriveId(a)).toBe(deriveId({ ...a }))
      const same = JSON.stringify(Object.entries(a).sort()) === JSON.stringify(Object.entries(b).sort())
      expect(deriveId(a) === deriveId(b)).toBe(same)
      for (const field of ["partition", "epoch", "frame", "command", "index"] as const) {
        const neighbour = { ...a, [field]: a[field] === 0 ? 1 : a[field] - 1 }
        expect(deriveId(neighbour)).not.toBe(deriveId(a))
      }
    }
  )

  it("are refused outside their ranges, where they could repeat", () => {
    const place = { partition: 1, epoch: 1, frame: 1, kind: idKinds.decided, command: 1, index: 1 }
    for (const wrong of [{ index: 0x10000 }, { index: -1 }, { command: 0x1000 }, { frame: 2 ** 44 }, { epoch: 0.5 }])
      expect(() => deriveId({ ...place, ...wrong })).toThrow(RangeError)
  })

  it("of events are their place in the frame, also beyond 65,536 records", () => {
    const ids = [0, 1, 65_535, 65_536, 65_537, 200_000].map((index) => eventId(1, 1, 1, index))
    expect(new Set(ids).size).toBe(6)
  })
})

describe("partitions", () => {
  it("are FNV-1a, 32 bits, modulo their number", () => {
    // Vectors of the algorithm's reference.
    expect(fnv1a("")).toBe(0x811c9dc5)
    expect(fnv1a("a")).toBe(0xe40c292c)
    expect(fnv1a("foobar")).toBe(0xbf9cf968)
    expect(fnv1a("Zürich")).toBe(Buffer.from("Zürich").reduce((h, b) => Math.imul(h ^ b, 0x01000193), 0x811c9dc5) >>> 0)
    expect(partitionOf("foobar", 8)).toBe(0xbf9cf968 % 8)
  })

  it("organizations are one token of a subject", () => {
    for (const name of ["org_1", "a", "A-b", "x~y", "!"]) expect(isSubjectToken(name)).toBe(true)
    for (const name of ["", "a.b", "a*", ">", "a b", "a\n", "ü", "x".repeat(257)])
      expect(isSubjectToken(name)).toBe(false)
  })
})
