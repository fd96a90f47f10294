/** Contents in memory, and the layout of a shared message (docs/handoff.md, 1). */
import { randomBytes } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import {
  contentKeyBytes,
  contentOf,
  encodeFrame,
  openContent,
  placeOf,
  pointerTo,
  sealContent
} from "../../../../src/send/emails/contents/contentFrames.ts"
import { maximumMemoryContents } from "../../../../src/send/emails/contents/limits.ts"
import { MessageContents } from "../../../../src/send/emails/contents/MessageContents.ts"
import { contentsContract, messageOf, writtenTo } from "./messageContents.ts"

contentsContract("in memory", MessageContents.layerMemory)

describe("contents in memory", () => {
  it.effect("are bounded: what does not fit is refused, and nothing is dropped for it", () =>
    Effect.gen(function* () {
      const contents = yield* MessageContents
      const message = messageOf("one")
      const [first] = yield* writtenTo(contents, "org_a", [message])
      yield* writtenTo(contents, "org_a", new Array(maximumMemoryContents - 2).fill(message))
      const error = yield* Effect.flip(writtenTo(contents, "org_a", [message, message]))
      assert.strictEqual(error._tag, "ContentsUnavailable")
      yield* writtenTo(contents, "org_a", [message])
      assert.deepStrictEqual(yield* contents.read("org_a", [first!]), [message])
    }).pipe(Effect.provide(MessageContents.layerMemory))
  )
})

describe("a shared message", () => {
  const key = randomBytes(contentKeyBytes)
  const sealed = ["a", "b", "c"].map((text) => sealContent(key, "org_a", messageOf(text)))
  const frame = encodeFrame(sealed)

  it("gives each content by its pointer", () => {
    for (const [index, content] of sealed.entries()) {
      const place = placeOf(pointerTo(4711, index, content))!
      assert.deepInclude(place, { sequence: 4711, index })
      assert.deepStrictEqual(Buffer.from(contentOf(frame, place)!), content)
    }
  })

  it("shows nothing of what it says", () => {
    assert.isFalse(frame.includes("two.test"))
  })

  it("opens under its key, for its organization, unchanged, and in no other way", () => {
    const [content] = sealed
    assert.deepStrictEqual(openContent(key, "org_a", content!), messageOf("a"))
    assert.isUndefined(openContent(randomBytes(contentKeyBytes), "org_a", content!))
    assert.isUndefined(openContent(key, "org_b", content!))
    assert.isUndefined(openContent(key, "org_a", content!.subarray(0, 20)))
    for (const at of [0, 12, content!.length - 1]) {
      const changed = Buffer.from(content!)
      changed[at]! ^= 1
      assert.isUndefined(openContent(key, "org_a", changed))
    }
  })

  it("of another stream, cut off, or none at all, is found out", () => {
    const place = placeOf(pointerTo(1, 1, sealed[1]!))!
    const anew = encodeFrame(["a", "b"].map((text) => sealContent(key, "org_a", messageOf(text))))
    assert.isUndefined(contentOf(anew, place))
    assert.isUndefined(contentOf(frame, { ...place, index: 3 }))
    for (const bytes of [Buffer.alloc(0), Buffer.from([2, 0, 0, 0, 3]), Buffer.from([1, 255, 255, 255, 255])])
      assert.isUndefined(contentOf(bytes, place))
    const end = frame.length - sealed[2]!.length
    for (let length = 0; length < end; length++) {
      const part = contentOf(frame.subarray(0, length), place)
      assert.isUndefined(part === undefined ? undefined : openContent(key, "org_a", part), `cut at ${length}`)
    }
    assert.isDefined(contentOf(frame.subarray(0, end), place))
  })

  it.each([
    "",
    "1",
    "1.2",
    "0.1.abcdefgh",
    "1.2.abc",
    "-1.2.abcdefgh",
    "1.2.abcdefg!",
    "1.2.abcdefgh ",
    "01.2.abcdefgh"
  ])("has no pointer %j", (pointer) => {
    assert.isUndefined(placeOf(pointer))
  })
})
