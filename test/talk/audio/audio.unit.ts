/** Files of audio as they come in pieces: how long they last, and how several become one. */
import { describe, expect, it } from "vitest"
import type { AudioReader } from "../../../src/talk/audio/AudioReader.ts"
import { makeMp3Reader } from "../../../src/talk/audio/mp3.ts"
import { makeOggReader } from "../../../src/talk/audio/ogg.ts"
import { joinWavs } from "../../../src/talk/audio/wav.ts"
import { oggFile, readWav } from "../audioFiles.ts"

/** Reads bytes in pieces of every size from one byte to all of them, which must make no difference. */
const readInPieces = (make: () => AudioReader, bytes: Uint8Array) => {
  const results = [1, 3, 64, 1_000, bytes.length].map((size) => {
    const reader = make()
    const out: Array<Uint8Array> = []
    for (let at = 0; at < bytes.length; at += size) out.push(reader.push(bytes.subarray(at, at + size)))
    return { out: Buffer.concat(out).toString("hex"), millis: reader.durationMillis() }
  })
  for (const result of results) expect(result).toEqual(results[0])
  return results[0]!
}

const chunk = (name: string, body: Uint8Array, size = body.length): Buffer => {
  const head = Buffer.alloc(8)
  head.write(name, "latin1")
  head.writeUInt32LE(size, 4)
  return Buffer.concat([head, body])
}

const format = (sampleRate = 8_000): Buffer => {
  const body = Buffer.alloc(16)
  body.writeUInt16LE(1, 0)
  body.writeUInt16LE(1, 2)
  body.writeUInt32LE(sampleRate, 4)
  body.writeUInt32LE(sampleRate * 2, 8)
  body.writeUInt16LE(2, 12)
  body.writeUInt16LE(16, 14)
  return chunk("fmt ", body)
}

const wav = (...chunks: ReadonlyArray<Uint8Array>): Buffer =>
  chunk("RIFF", Buffer.concat([Buffer.from("WAVE"), ...chunks]), 0xffff_ffff)

const samples = (count: number): Buffer => Buffer.alloc(count * 2, 9)

const whole = (...files: ReadonlyArray<Uint8Array>) => {
  const joined = joinWavs(files)!
  const bytes = Buffer.concat(joined.pieces)
  expect(joined.byteLength).toBe(bytes.length)
  const read = readWav(bytes)
  expect(joined.durationMillis).toBe(Math.round(read.seconds * 1000))
  return { ...read, count: read.samples.length }
}

describe("WAV", () => {
  it.each([
    ["a length that is true", wav(format(), chunk("data", samples(8_000))), 8_000],
    ["one that nothing fills", wav(format(), chunk("data", samples(8_000), 0xffff_ffff)), 8_000],
    ["none", wav(format(), chunk("data", samples(8_000), 0)), 8_000],
    ["no samples", wav(format(), chunk("data", samples(0))), 0],
    [
      "other chunks around",
      wav(chunk("LIST", Buffer.alloc(6)), format(), chunk("data", samples(80)), chunk("id3 ", samples(9))),
      80
    ],
    [
      "a chunk of odd length",
      wav(chunk("LIST", Buffer.alloc(5)), Buffer.alloc(1), format(), chunk("data", samples(80))),
      80
    ],
    ["half a sample at its end", wav(format(), chunk("data", Buffer.alloc(161), 0xffff_ffff)), 80]
  ])("with %s has true lengths then", (_, file, count) => {
    expect(whole(file).count).toBe(count)
  })

  it("of several is one, in order", () => {
    const first = wav(format(), chunk("data", Buffer.from([1, 0, 2, 0]), 0xffff_ffff))
    const second = wav(format(), chunk("data", Buffer.from([3, 0])))
    expect([...whole(first, second).samples]).toEqual([1, 2, 3])
  })

  it.each([
    ["nothing", [Buffer.alloc(0)]],
    ["no file", []],
    ["a page", [Buffer.from("<html><body>it works</body></html>")]],
    ["a header alone", [wav(format())]],
    ["no format", [wav(chunk("data", samples(8)))]],
    ["a format cut off", [wav(format().subarray(0, 20))]],
    ["frames of nothing", [wav(chunk("fmt ", Buffer.alloc(16)), chunk("data", samples(8)))]],
    ["two formats", [wav(format(), chunk("data", samples(8))), wav(format(16_000), chunk("data", samples(8)))]]
  ])("is not made of %s", (_, files) => {
    expect(joinWavs(files)).toBeUndefined()
  })
})

/** A frame of MPEG-1 layer III, 128 kbit/s, 44,100 Hz, stereo: 417 bytes and 1,152 samples. */
const frame = (content = 0): Buffer => Buffer.concat([Buffer.from([0xff, 0xfb, 0x90, 0]), Buffer.alloc(413, content)])
const infoFrame = (): Buffer => {
  const bytes = frame()
  bytes.write("Xing", 36, "latin1")
  return bytes
}
/** An ID3v2 tag of 300 bytes, which looks like frames inside. */
const tag = Buffer.concat([Buffer.from("ID3\x04\0\0\0\0\x02\x2c", "latin1"), frame().subarray(0, 300)])
const frameMillis = (1_152 * 1_000) / 44_100

describe("MP3", () => {
  const file = Buffer.concat([tag, infoFrame(), frame(1), frame(2), frame(3)])

  it("lasts as long as its frames of audio, and goes on as it is", () => {
    const { millis, out } = readInPieces(() => makeMp3Reader({ isJoined: false }), file)
    expect(millis).toBe(Math.round(3 * frameMillis))
    expect(out).toBe(file.toString("hex"))
  })

  it("that is joined with others has its frames of audio alone", () => {
    const { millis, out } = readInPieces(() => makeMp3Reader({ isJoined: true }), file)
    expect(millis).toBe(Math.round(3 * frameMillis))
    expect(out).toBe(Buffer.concat([frame(1), frame(2), frame(3)]).toString("hex"))
  })

  it("is found between what is none", () => {
    const noise = Buffer.from([0xff, 0xff, 0, 0xff, 0xfb, 0xf0, 1, 2, 3])
    const { millis } = readInPieces(
      () => makeMp3Reader({ isJoined: true }),
      Buffer.concat([noise, frame(), noise, frame(), Buffer.alloc(20)])
    )
    expect(millis).toBe(Math.round(2 * frameMillis))
  })
})

describe("Ogg", () => {
  it("lasts until its last position, without what a decoder skips", () => {
    const { millis, out } = readInPieces(makeOggReader, oggFile(48_312n))
    expect(millis).toBe(1_000)
    expect(out).toBe(oggFile(48_312n).toString("hex"))
  })

  it("of several streams lasts as long as all of them", () => {
    expect(readInPieces(makeOggReader, Buffer.concat([oggFile(48_312n), oggFile(24_312n)])).millis).toBe(1_500)
  })
})
