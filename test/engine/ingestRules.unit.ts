/** Ingests and their messages: names that are refused, the partition of each message, and the places that frames carry (docs/streams.md). */
import { describe, expect, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { partitionOf } from "../../src/engine/address.ts"
import { withPlace } from "../../src/engine/core/drain/ingestPlaces.ts"
import * as Ingest from "../../src/engine/Ingest.ts"
import { addresseeOf, ingestsProblem, unplacedIn } from "../../src/engine/ingestRules.ts"
import { maximumIngestPlaces, maximumIngests } from "../../src/engine/limits.ts"
import { isUnder } from "../../src/engine/memory/ProgramStreamsMemory.ts"

const ingestOf = (more: Partial<Ingest.IngestOptions> = {}) =>
  Ingest.jetStream({
    name: "orders",
    stream: "ORDERS",
    organization: ({ subject }) => subject.split(".")[1],
    toCommand: () => undefined,
    ...more
  })

const message = (sequence: number, organization: string): Ingest.StreamMessage => ({
  sequence,
  subject: `orders.${organization}`,
  time: 0,
  headers: {},
  data: new Uint8Array()
})

describe("an ingest", () => {
  it.each<[string, ReadonlyArray<Ingest.Ingest>]>([
    ["without a name", [ingestOf({ name: "" })]],
    ["whose name is a number, which would change the order of places", [ingestOf({ name: "7" })]],
    ["whose name is too long", [ingestOf({ name: "a".repeat(33) })]],
    ["of a stream that no server can have", [ingestOf({ stream: "orders.eu" })]],
    ["that begins before the first message", [ingestOf({ from: { sequence: 0 } })]],
    ["that begins at no time", [ingestOf({ from: { timeMillis: Number.NaN } })]],
    ["twice", [ingestOf(), ingestOf()]],
    ["more than there may be", Array.from({ length: maximumIngests + 1 }, (_, one) => ingestOf({ name: `i${one}` }))]
  ])("%s is refused", (_name, ingests) => expect(ingestsProblem(ingests)).toBeTypeOf("string"))

  it("begins at the oldest message, the newest, a sequence or a time", () => {
    const starts = ["beginning", "new", { sequence: 1 }, { timeMillis: 0 }] as const
    expect(ingestsProblem(starts.map((from, one) => ingestOf({ name: `i${one}`, from })))).toBeUndefined()
    expect(ingestOf().from).toBe("beginning")
  })
})

describe("a message", () => {
  const Organization = Schema.Union([Schema.NonEmptyString, Schema.Literals(["org_1", "org_2", "a.b", "", "x y"])])

  it.prop(
    "is one partition's, whatever it says: that of its organization, or one that parks it",
    [Arbitrary.schema(Organization), Arbitrary.schema(Schema.Int), Arbitrary.schema(Schema.Int)],
    ([organization, number, many]) => {
      const partitions = 1 + (Math.abs(many) % 12)
      const ingest = ingestOf({ organization: () => organization })
      const one = message(1 + (Math.abs(number) % 1_000), "any")
      const seen = Array.from({ length: partitions }, (_, id) => addresseeOf(ingest, one, id, partitions))
      const takers = seen.flatMap((addressee, id) => (addressee._tag === "Others" ? [] : [{ addressee, id }]))
      expect(takers).toHaveLength(1)
      const [{ addressee, id }] = takers as [(typeof takers)[0]]
      if (addressee._tag === "Ours") {
        expect(addressee.organization).toBe(organization)
        expect(partitionOf(organization, partitions)).toBe(id)
      } else if (addressee._tag === "Unplaced") {
        // Operators look for its parked record in the partition of that name.
        expect(partitionOf(addressee.organization, partitions)).toBe(id)
        expect(unplacedIn(id, partitions)).toBe(addressee.organization)
      }
    }
  )

  it("is nobody's when its organization is not named, and one partition's when the function throws", () => {
    const nobody = ingestOf({ organization: () => undefined })
    const broken = ingestOf({
      organization: () => {
        throw new Error("what?")
      }
    })
    const seen = (ingest: Ingest.Ingest) => [0, 1, 2].map((id) => addresseeOf(ingest, message(5, "a"), id, 3)._tag)
    expect(seen(nobody)).toEqual(["Others", "Others", "Others"])
    expect(seen(broken)).toEqual(["Others", "Others", "Unplaced"])
  })

  it("of the partition's own subjects that belongs to another one is a fault of the stream", () => {
    const ingest = ingestOf({ subject: (partition) => `orders.${partition}.>` })
    const own = partitionOf("org_1", 3)
    expect(addresseeOf(ingest, message(1, "org_1"), own, 3)).toMatchObject({ _tag: "Ours" })
    const other = addresseeOf(ingest, message(1, "org_1"), (own + 1) % 3, 3)
    expect(other).toMatchObject({ _tag: "Misplaced", message: expect.stringContaining("transform") })
  })
})

describe("the places of ingests", () => {
  const Step = Schema.Struct({
    ingest: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 60 })),
    place: Schema.Int
  })

  it.prop(
    "are the last of each, and the oldest that the program lacks goes when there are too many",
    [Arbitrary.schema(Schema.Array(Step))],
    ([steps]) => {
      const isKnown = (name: string) => name.startsWith("i1")
      let places: Readonly<Record<string, number>> | undefined
      let model: ReadonlyArray<readonly [string, number]> = []
      for (const { ingest, place } of steps) {
        const name = `i${ingest}`
        places = withPlace(places, name, place, isKnown)
        const at = model.findIndex(([known]) => known === name)
        model = at < 0 ? [...model, [name, place]] : model.with(at, [name, place])
        if (model.length > maximumIngestPlaces) {
          const gone = model.find(([known]) => known !== name && !isKnown(known))
          model = model.filter((one) => one !== gone)
        }
        expect(Object.entries(places)).toEqual(model)
      }
    }
  )
})

describe("subjects in memory", () => {
  it.each([
    ["orders.a", "orders.a", true],
    ["orders.a", "orders.*", true],
    ["orders.a.b", "orders.*", false],
    ["orders.a.b", "orders.>", true],
    ["orders", "orders.>", false],
    ["orders", "orders.*", false],
    ["clicks.a", "orders.>", false]
  ])("%s is under %s: %s", (subject, pattern, expected) => expect(isUnder(subject, pattern)).toBe(expected))
})
