/** The contract of `MessageContents`, for every layer (docs/handoff.md, 1). */
import { assert, it } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import { MessageContents } from "../../../../src/send/emails/contents/MessageContents.ts"
import type { Message } from "../../../../src/send/Message.ts"

export const messageOf = (text: string): Message => ({
  from: "Ann <ann@one.test>",
  to: ["bob@two.test"],
  cc: [],
  bcc: ["cy@two.test"],
  replyTo: ["ann@three.test"],
  subject: "Grüße, 你好",
  html: null,
  text,
  headers: { "X-Number": "1" },
  tags: [{ name: "kind", value: "test" }],
  attachments: [{ filename: "a.txt", content: "YQ==", path: null, contentType: null, contentId: null }]
})

/** A request of about so many bytes. */
export const largeMessages = (bytes: number): ReadonlyArray<Message> => [messageOf("x".repeat(bytes))]

/** Pointers to contents that were written. */
export const writtenTo = (
  contents: MessageContents["Service"],
  organization: string,
  messages: ReadonlyArray<Message>
) => Effect.map(contents.write(organization, messages), (kept) => kept.map(({ pointer }) => pointer))

/** The tests; `scoped` gives each of them the layer. */
export const contentsContract = <E>(name: string, layer: Layer.Layer<MessageContents, E>): void => {
  const test = (title: string, body: (contents: MessageContents["Service"]) => Effect.Effect<void, unknown>) =>
    it.live(`${name}: ${title}`, () => Effect.scoped(Effect.flatMap(MessageContents, body).pipe(Effect.provide(layer))))

  test("what was written is read, in order, by pointers that differ", (contents) =>
    Effect.gen(function* () {
      const messages = Array.from({ length: 100 }, (_, index) => messageOf(`number ${index}`))
      const pointers = yield* writtenTo(contents, "org_a", messages)
      assert.lengthOf(new Set(pointers), 100)
      for (const pointer of pointers) assert.match(pointer, /^\S{1,40}$/)
      assert.deepStrictEqual(yield* contents.read("org_a", pointers), messages)
      assert.deepStrictEqual(yield* contents.read("org_a", [pointers[7]!, pointers[3]!, pointers[7]!]), [
        messages[7]!,
        messages[3]!,
        messages[7]!
      ])
    }))

  test("says how much room a content takes: more for a longer one, and by bytes", (contents) =>
    Effect.gen(function* () {
      const kept = yield* contents.write("org_a", ["", "x".repeat(1_000), "好".repeat(1_000)].map(messageOf))
      const [empty = 0, plain = 0, wide = 0] = kept.map(({ bytes }) => bytes)
      assert.isAbove(empty, 0)
      assert.deepStrictEqual([plain - empty, wide - empty], [1_000, 3_000])
    }))

  test("requests at the same time each get their own", (contents) =>
    Effect.gen(function* () {
      const read = yield* Effect.forEach(
        Array.from({ length: 200 }, (_, index) => index),
        (index) =>
          Effect.gen(function* () {
            const organization = `org_${index % 7}`
            const messages = Array.from({ length: 1 + (index % 3) }, (_, at) => messageOf(`${index} ${at}`))
            const pointers = yield* writtenTo(contents, organization, messages)
            assert.deepStrictEqual(yield* contents.read(organization, pointers), messages)
            return pointers
          }),
        { concurrency: "unbounded" }
      )
      assert.lengthOf(new Set(read.flat()), read.flat().length)
    }))

  test("another organization's pointer, and one that was never given, find nothing", (contents) =>
    Effect.gen(function* () {
      const [pointer] = yield* writtenTo(contents, "org_a", [messageOf("secret")])
      yield* writtenTo(contents, "org_b", [messageOf("other")])
      assert.deepStrictEqual(yield* contents.read("org_b", [pointer!, "", "9.9", "x", `${pointer}0`]), [
        null,
        null,
        null,
        null,
        null
      ])
      assert.deepStrictEqual(yield* contents.read("org_nobody", [pointer!]), [null])
      assert.deepStrictEqual(yield* contents.read("org_a", []), [])
      assert.deepStrictEqual(yield* writtenTo(contents, "org_a", []), [])
    }))

  test("requests as large as they may be fit, several at once", (contents) =>
    Effect.gen(function* () {
      const all = yield* Effect.forEach(
        [1, 2, 3, 4, 5, 6],
        (index) => {
          const messages = largeMessages(241_000 + index)
          return Effect.map(writtenTo(contents, "org_a", messages), (pointers) => ({ messages, pointers }))
        },
        { concurrency: "unbounded" }
      )
      for (const { messages, pointers } of all)
        assert.deepStrictEqual(yield* contents.read("org_a", pointers), messages)
    }))
}
