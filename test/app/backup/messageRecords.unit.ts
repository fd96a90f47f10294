/** Messages of a segment: as they were, however their bytes come. */
import { describe, expect, it } from "vitest"
import { encodeRecord, RecordReader, recordsOf } from "../../../src/app/backup/messageRecords.ts"
import type { StoredMessage } from "../../../src/nats/streamCopy.ts"

const messages: ReadonlyArray<StoredMessage> = [
  {
    sequence: 7,
    subject: "log.0",
    time: "1769850300123456789",
    headers: { "Sluice-Frame": ["0/1/7"] },
    data: Buffer.from("{}")
  },
  { sequence: 8, subject: "log.0", time: "1769850300123456790", headers: undefined, data: Buffer.alloc(0) },
  {
    sequence: 12,
    subject: "signals.1.org_ä.bounce",
    time: "1",
    headers: { "Nats-Msg-Id": ["a", "b"] },
    data: Buffer.alloc(3_000, 7)
  }
]

const collect = async (source: AsyncIterable<Uint8Array>) => {
  const found: Array<StoredMessage> = []
  for await (const batch of recordsOf(source)) found.push(...batch)
  return found.map((message) => ({ ...message, data: Buffer.from(message.data) }))
}
const pieces = async function* (bytes: Buffer, length: number) {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length)
}

describe("messages of a segment", () => {
  const bytes = Buffer.concat(messages.map(encodeRecord))

  it.each([1, 3, 100, 1_000_000])("come whole out of pieces of %s bytes", async (length) => {
    expect(await collect(pieces(bytes, length))).toEqual(messages)
  })

  it("that have no end are found", async () => {
    await expect(collect(pieces(bytes.subarray(0, -1), 100))).rejects.toThrow("the last message has no end")
    const reader = new RecordReader()
    expect(() => reader.push(Buffer.alloc(8, 255))).toThrow("a message has no end")
  })
})
