/**
 * Encodes messages of a stream as the bytes of a segment: for each message the lengths of its head and its data (4
 * bytes each), the head as JSON (sequence, time, subject, headers), and the data. Pure.
 */
import type { StoredMessage } from "../../nats/streamCopy.ts"

const lengthsBytes = 8

/** The largest head and data that are read: more than a server of NATS takes. */
const maximumHeadBytes = 4 * 1024 * 1024
const maximumDataBytes = 64 * 1024 * 1024

interface RecordHead {
  readonly q: number
  readonly t: string
  readonly s: string
  readonly h?: Readonly<Record<string, ReadonlyArray<string>>>
}

export const encodeRecord = ({ data, headers, sequence, subject, time }: StoredMessage): Buffer => {
  const content: RecordHead = { q: sequence, t: time, s: subject, ...(headers === undefined ? {} : { h: headers }) }
  const head = Buffer.from(JSON.stringify(content))
  const lengths = Buffer.alloc(lengthsBytes)
  lengths.writeUInt32BE(head.length, 0)
  lengths.writeUInt32BE(data.length, 4)
  return Buffer.concat([lengths, head, data])
}

/** Reads records from bytes that come in pieces of any size. Throws on bytes that are no records. */
export class RecordReader {
  private rest: Buffer = Buffer.alloc(0)

  /** The messages that are complete now. */
  push(bytes: Uint8Array): ReadonlyArray<StoredMessage> {
    const all = this.rest.length === 0 ? Buffer.from(bytes) : Buffer.concat([this.rest, bytes])
    const messages: Array<StoredMessage> = []
    let at = 0
    while (all.length - at >= lengthsBytes) {
      const headBytes = all.readUInt32BE(at)
      const dataBytes = all.readUInt32BE(at + 4)
      if (headBytes > maximumHeadBytes || dataBytes > maximumDataBytes) throw new Error("a message has no end")
      const begin = at + lengthsBytes
      const end = begin + headBytes + dataBytes
      if (end > all.length) break
      const {
        h: headers,
        q: sequence,
        s: subject,
        t: time
      } = JSON.parse(all.toString("utf8", begin, begin + headBytes)) as RecordHead
      messages.push({ sequence, subject, time, headers, data: all.subarray(begin + headBytes, end) })
      at = end
    }
    this.rest = all.subarray(at)
    return messages
  }

  /** Whether the bytes ended with a message. */
  get isComplete(): boolean {
    return this.rest.length === 0
  }
}

/** The messages of a segment, in the pieces in which its bytes come. */
export async function* recordsOf(source: AsyncIterable<Uint8Array>): AsyncGenerator<ReadonlyArray<StoredMessage>> {
  const reader = new RecordReader()
  for await (const bytes of source) {
    const messages = reader.push(bytes)
    if (messages.length > 0) yield messages
  }
  if (!reader.isComplete) throw new Error("the last message has no end")
}
