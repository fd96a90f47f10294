import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Result, Schema } from "effect"
import * as EncodedAnswers from "../../src/directory/EncodedAnswers.ts"
import * as rules from "../../src/directory/rules.ts"
import { AreaCode, CarrierDetail, CarrierPage } from "../../src/directory/schema.ts"
import { often } from "../support/often.ts"
import { arbitraryRecords, code, indexOf, ocns, states } from "./records.ts"

const textOf = (result: Result.Result<Buffer, rules.EntryNotFound>) =>
  Result.match(result, { onFailure: (error) => error.message, onSuccess: (bytes) => bytes.toString() })

const carrierJson = Schema.encodeSync(Schema.fromJsonString(CarrierDetail))
const carriersJson = Schema.encodeSync(Schema.fromJsonString(CarrierPage))
const areaCodeJson = Schema.encodeSync(Schema.fromJsonString(AreaCode))

const small = Arbitrary.schema(Schema.UndefinedOr(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 9 }))))
const anyText = Arbitrary.schema(Schema.String)
const text3 = Arbitrary.schema(Schema.UndefinedOr(Schema.Literals(["200", "201", "999", "", " ", "200 undefined"])))

describe("encoded answers", () => {
  it.prop(
    "equal the schema's encoding, at the first and at every later time",
    {
      records: arbitraryRecords,
      limit: small,
      offset: small,
      nxx: text3,
      state: Arbitrary.schema(Schema.UndefinedOr(Schema.Literals([...states, "", "ny", '"', "NY/"]))),
      noise: anyText
    },
    ({ limit, noise, nxx, offset, records, state }) => {
      const index = indexOf(records)
      for (const maxBytes of [0, 4_000, undefined]) {
        const answers = EncodedAnswers.make(index, maxBytes)
        for (const _ of ["first", "again", "once more"]) {
          for (const ocn of [...ocns, noise, "201", "201 undefined undefined undefined"]) {
            const plain = rules.carrierByOcn(index, ocn)
            const expected = Result.match(plain, { onFailure: (error) => error.message, onSuccess: carrierJson })
            assert.strictEqual(textOf(answers.carrier(ocn)), expected)
          }
          for (const npa of ["201", "212", "999", noise, "carrier 9104"]) {
            const include = "details" as const
            for (const query of [
              {},
              { include },
              { limit, offset },
              { nxx },
              { nxx, include },
              { nxx, limit, offset }
            ]) {
              const plain = rules.areaCodeByNpa(index, npa, query)
              const expected = Result.match(plain, { onFailure: (error) => error.message, onSuccess: areaCodeJson })
              assert.strictEqual(textOf(answers.areaCode(npa, query)), expected)
            }
          }
          for (const query of [{}, { state }, { country: state }, { type: noise }, { state, limit, offset }]) {
            assert.strictEqual(answers.carriers(query).toString(), carriersJson(rules.listCarriers(index, query)))
          }
          if (maxBytes !== undefined) assert.isAtMost(answers.heldBytes(), maxBytes)
        }
      }
    },
    { arbitrary: { runs: often(100) } }
  )

  it("are the same bytes while they are kept", () => {
    const answers = EncodedAnswers.make(indexOf({ codes: [code("212-200")] }))
    const once = [answers.carriers({ state: "NY" }), answers.carrier("9104"), answers.areaCode("212")]
    const twice = [answers.carriers({ state: "NY" }), answers.carrier("9104"), answers.areaCode("212")]
    const bytes = (answer: (typeof once)[number]) => (Result.isResult(answer) ? Result.getOrThrow(answer) : answer)
    once.forEach((answer, position) => {
      assert.strictEqual(bytes(twice[position]!), bytes(answer))
    })
  })

  it("stay within their bound under a crawl, which does not drive out what is asked for all the time", () => {
    const codes = Array.from({ length: 600 }, (_, number) => code(`${200 + number}-200`))
    const maxBytes = 100_000
    const answers = EncodedAnswers.make(indexOf({ codes }), maxBytes)
    const favourite = Result.getOrThrow(answers.areaCode("200"))
    for (let npa = 201; npa < 800; npa++) {
      answers.areaCode(`${npa}`)
      answers.carriers({ state: `${"long ".repeat(100)}${npa}` })
      assert.strictEqual(Result.getOrThrow(answers.areaCode("200")), favourite)
      assert.isAtMost(answers.heldBytes(), maxBytes)
      // Once full it stays at least half full, less the few answers that have moved from one half to the other.
      if (npa > 500) assert.isAbove(answers.heldBytes(), maxBytes * 0.4)
    }
  })

  it("are all kept where 700 large pages are asked for in turn, and belong to no pool of Node's", () => {
    const npas = Array.from({ length: 700 }, (_, number) => `${200 + number}`)
    const codes = npas.flatMap((npa) => Array.from({ length: 100 }, (_, number) => code(`${npa}-${200 + number}`)))
    const answers = EncodedAnswers.make(indexOf({ codes }))
    const crawl = () => npas.map((npa) => Result.getOrThrow(answers.areaCode(npa, { limit: 100 })))
    const first = crawl()
    crawl().forEach((bytes, position) => {
      assert.strictEqual(bytes, first[position])
      assert.strictEqual(bytes.buffer.byteLength, bytes.byteLength)
    })
    assert.isAbove(answers.heldBytes(), 700 * 8_000)
  })
})
