/**
 * Reads Ogg streams of Opus (RFC 3533, RFC 7845): finds the pages, whose positions give the duration of the audio.
 * Consecutive parts are a chained stream, which needs no change. Pure.
 */
import { type AudioReader, makeByteBuffer } from "./AudioReader.ts"

const pageHeaderBytes = 27
/** Positions count samples of this rate, whatever the audio's own is. */
const positionsPerSecond = 48_000
/** A page on which no packet ends has this position. */
const noPosition = 0xffff_ffff_ffff_ffffn
const beginsStream = 2

export const makeOggReader = (): AudioReader => {
  /** The duration of the streams before the present one. */
  const pending = makeByteBuffer()
  let before = 0
  let skipped = 0
  let position = 0
  const lasts = () => before + Math.max(0, position - skipped)

  const read = (page: Buffer, bodyAt: number) => {
    if ((page[5]! & beginsStream) !== 0) {
      before = lasts()
      position = 0
      // The first samples of a decoder, which are not heard.
      skipped = page.toString("latin1", bodyAt, bodyAt + 8) === "OpusHead" ? page.readUInt16LE(bodyAt + 10) : 0
    }
    const at = page.readBigUInt64LE(6)
    if (at !== noPosition) position = Number(at)
  }

  return {
    push: (bytes) => {
      const all = pending.add(bytes)
      let at = 0
      while (all.length - at >= pageHeaderBytes) {
        if (all.toString("latin1", at, at + 4) !== "OggS") {
          at++
          continue
        }
        const bodyAt = at + pageHeaderBytes + all[at + 26]!
        if (all.length < bodyAt) break
        const end = all.subarray(at + pageHeaderBytes, bodyAt).reduce((sum, size) => sum + size, bodyAt)
        if (all.length < end) break
        read(all.subarray(at, end), bodyAt - at)
        at = end
      }
      pending.keepFrom(at)
      return bytes
    },
    durationMillis: () => Math.round((lasts() * 1000) / positionsPerSecond)
  }
}
