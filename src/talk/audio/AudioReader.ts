/** Defines the reader of the audio of one part as it arrives. */
export interface AudioReader {
  /** Takes the next bytes and answers those that go on to the caller. */
  readonly push: (bytes: Uint8Array) => Uint8Array
  /** How long the audio lasts that was read so far. */
  readonly durationMillis: () => number
}

/** Bytes of a stream that are not yet a whole frame or page, and how many of the next ones are passed over. */
export interface ByteBuffer {
  /** Adds bytes and answers all that wait. */
  readonly add: (bytes: Uint8Array) => Buffer
  /** Keeps the bytes after this place. */
  readonly keepFrom: (at: number) => void
}

export const makeByteBuffer = (): ByteBuffer => {
  let waiting = Buffer.alloc(0)
  return {
    add: (bytes) => {
      waiting = waiting.length === 0 ? Buffer.from(bytes) : Buffer.concat([waiting, bytes])
      return waiting
    },
    keepFrom: (at) => {
      waiting = waiting.subarray(at)
    }
  }
}
