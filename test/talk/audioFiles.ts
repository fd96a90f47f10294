/** Reads audio files strictly, by their formats' documents and not by the code under test: whatever does not fit throws. */

export interface Wav {
  readonly channels: number
  readonly sampleRate: number
  readonly samples: Int16Array
  readonly seconds: number
}

const must = (holds: boolean, what: string): void => {
  if (!holds) throw new Error(what)
}

/** A WAV file of 16 bits whose lengths agree with each other and with the file's. */
export const readWav = (file: Uint8Array): Wav => {
  const bytes = Buffer.from(file)
  must(bytes.toString("latin1", 0, 4) === "RIFF" && bytes.toString("latin1", 8, 12) === "WAVE", "no RIFF file of WAVE")
  must(bytes.readUInt32LE(4) === bytes.length - 8, `RIFF says ${bytes.readUInt32LE(4)} bytes of ${bytes.length - 8}`)
  must(bytes.toString("latin1", 12, 16) === "fmt " && bytes.readUInt32LE(16) === 16, "no plain format")
  must(bytes.readUInt16LE(20) === 1 && bytes.readUInt16LE(34) === 16, "no PCM of 16 bits")
  must(bytes.toString("latin1", 36, 40) === "data", "no data")
  must(bytes.readUInt32LE(40) === bytes.length - 44, `data says ${bytes.readUInt32LE(40)} of ${bytes.length - 44}`)
  const channels = bytes.readUInt16LE(22)
  const sampleRate = bytes.readUInt32LE(24)
  const data = bytes.subarray(44)
  const samples = new Int16Array(data.length / 2).map((_, at) => data.readInt16LE(at * 2))
  return { channels, sampleRate, samples, seconds: samples.length / channels / sampleRate }
}

/** How loud samples are, from 0 to 1. */
export const loudness = (samples: Int16Array): number =>
  Math.sqrt(samples.reduce((sum, sample) => sum + (sample / 32_768) ** 2, 0) / Math.max(1, samples.length))

/** Frames of MPEG-2 layer III at 22,050 Hz, one behind the other without anything between, and their seconds. */
export const readMp3 = (file: Uint8Array): { readonly frames: number; readonly seconds: number } => {
  const rates = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160]
  let frames = 0
  for (let at = 0; at < file.length; frames++) {
    must(file[at] === 0xff && (file[at + 1]! & 0xfe) === 0xf2, `no frame at ${at}`)
    must(((file[at + 2]! >> 2) & 3) === 0, "another sample rate")
    const kilobits = rates[file[at + 2]! >> 4]!
    at += Math.floor((72_000 * kilobits) / 22_050) + ((file[at + 2]! >> 1) & 1)
    must(at <= file.length, "the last frame is cut off")
  }
  return { frames, seconds: (frames * 576) / 22_050 }
}

const crcOf = (page: Uint8Array): number => {
  let crc = 0
  for (const [at, byte] of page.entries()) {
    crc ^= (at >= 22 && at < 26 ? 0 : byte) << 24
    for (let bit = 0; bit < 8; bit++) crc = (crc << 1) ^ (crc < 0 ? 0x04c1_1db7 : 0)
  }
  return crc >>> 0
}

/** Pages of Opus with their check sums, from the first page of a stream to the last; and their seconds. */
export const readOgg = (file: Uint8Array): { readonly pages: number; readonly seconds: number } => {
  const bytes = Buffer.from(file)
  let pages = 0
  let seconds = 0
  let preSkip = 0
  let isOpen = false
  for (let at = 0; at < bytes.length; pages++) {
    must(bytes.toString("latin1", at, at + 4) === "OggS", `no page at ${at}`)
    const head = at + 27 + bytes[at + 26]!
    const end = bytes.subarray(at + 27, head).reduce((sum, size) => sum + size, head)
    const page = bytes.subarray(at, end)
    must(end <= bytes.length && crcOf(page) === page.readUInt32LE(22), `a wrong check sum at ${at}`)
    if ((page[5]! & 2) !== 0) {
      must(!isOpen && bytes.toString("latin1", head, head + 8) === "OpusHead", "a stream that is not Opus")
      preSkip = bytes.readUInt16LE(head + 10)
    }
    isOpen = (page[5]! & 4) === 0
    if (!isOpen) seconds += (Number(page.readBigUInt64LE(6)) - preSkip) / 48_000
    at = end
  }
  must(!isOpen, "a stream without its last page")
  return { pages, seconds }
}

const page = (flags: number, position: bigint, body: Uint8Array): Buffer => {
  const head = Buffer.alloc(28)
  head.write("OggS", "latin1")
  head[5] = flags
  head.writeBigUInt64LE(position, 6)
  head[26] = 1
  head[27] = body.length
  return Buffer.concat([head, body])
}
const opusHead = Buffer.from("OpusHead\x01\x01\x38\x01\0\0\0\0\0\0\0", "latin1")

/** A file of Ogg Opus up to a position, of which a decoder skips the first 312 samples. Its check sums are none. */
export const oggFile = (position: bigint): Buffer =>
  Buffer.concat([
    page(2, 0n, opusHead),
    page(0, 0n, Buffer.from("OpusTags")),
    page(0, 0xffff_ffff_ffff_ffffn, Buffer.alloc(200)),
    page(4, position, Buffer.alloc(100))
  ])
