/** Reads MP3 streams (MPEG-1, 2 and 2.5, layer III): finds the frames, which give the duration of the audio. Pure. */
import { type AudioReader, makeByteBuffer } from "./AudioReader.ts"

/** Kilobits a second by the header's index; 0 is a frame of free format, which is not read. */
const rates1 = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320]
const rates2 = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160]
const sampleRates1 = [44_100, 48_000, 32_000]

const headerBytes = 4
const tagHeaderBytes = 10

interface Frame {
  readonly byteLength: number
  readonly seconds: number
  /** The place of an encoder's tag, if the frame is one of no audio. */
  readonly tagAt: number
}

/** The frame whose header is here; undefined if none is. */
const frameAt = (bytes: Uint8Array, at: number): Frame | undefined => {
  const [first, second, third, fourth] = bytes.subarray(at, at + headerBytes) as unknown as [
    number,
    number,
    number,
    number
  ]
  if (first !== 0xff || (second & 0xe0) !== 0xe0) return undefined
  const version = (second >> 3) & 3
  const layer = (second >> 1) & 3
  const rateIndex = third >> 4
  const sampleRateIndex = (third >> 2) & 3
  if (version === 1 || layer !== 1 || rateIndex === 0 || rateIndex === 15 || sampleRateIndex === 3) return undefined
  const isVersion1 = version === 3
  const kilobits = (isVersion1 ? rates1 : rates2)[rateIndex]!
  const sampleRate = sampleRates1[sampleRateIndex]! / (isVersion1 ? 1 : version === 2 ? 2 : 4)
  const samples = isVersion1 ? 1152 : 576
  const isMono = fourth >> 6 === 3
  return {
    byteLength: Math.floor(((samples / 8) * kilobits * 1000) / sampleRate) + ((third >> 1) & 1),
    seconds: samples / sampleRate,
    tagAt: headerBytes + (isVersion1 ? (isMono ? 17 : 32) : isMono ? 9 : 17)
  }
}

/** The length of an ID3v2 tag, its header included. */
const tagBytes = (bytes: Uint8Array, at: number): number =>
  tagHeaderBytes +
  ((bytes[at + 6]! << 21) | (bytes[at + 7]! << 14) | (bytes[at + 8]! << 7) | bytes[at + 9]!) +
  ((bytes[at + 5]! & 0x10) === 0 ? 0 : tagHeaderBytes)

/**
 * Reads a part. With `isJoined` only frames of audio go on: tags and the frame that tells a part's length would be
 * wrong in a stream of several.
 */
export const makeMp3Reader = ({ isJoined }: { readonly isJoined: boolean }): AudioReader => {
  const pending = makeByteBuffer()
  let seconds = 0
  let toSkip = 0
  return {
    push: (bytes) => {
      const all = pending.add(bytes)
      const audio: Array<Uint8Array> = []
      let at = 0
      for (;;) {
        const skipped = Math.min(toSkip, all.length - at)
        toSkip -= skipped
        at += skipped
        if (all.length - at < tagHeaderBytes) break
        if (all.toString("latin1", at, at + 3) === "ID3") {
          toSkip = tagBytes(all, at)
          continue
        }
        const frame = frameAt(all, at)
        if (frame === undefined) {
          at++
          continue
        }
        if (all.length - at < frame.byteLength) break
        const tag = all.toString("latin1", at + frame.tagAt, at + frame.tagAt + 4)
        if (tag !== "Xing" && tag !== "Info") {
          seconds += frame.seconds
          audio.push(all.subarray(at, at + frame.byteLength))
        }
        at += frame.byteLength
      }
      pending.keepFrom(at)
      return isJoined ? Buffer.concat(audio) : bytes
    },
    durationMillis: () => Math.round(seconds * 1000)
  }
}
