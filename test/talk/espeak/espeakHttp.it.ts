/** Speech by the programs of this machine, over HTTP: what is answered is audio, of about the length that its words ask for. */
import { readdir } from "node:fs/promises"
import { tmpdir } from "node:os"
import { describe, expect, it } from "vitest"
import * as EspeakEngine from "../../../src/talk/espeak/EspeakEngine.ts"
import { needing } from "../../support/needs.ts"
import { patienceMillis } from "../../support/patience.ts"
import { loudness, readMp3, readOgg, readWav } from "../audioFiles.ts"
import { useTalkServer } from "../talkServer.ts"

const server = useTalkServer(() => EspeakEngine.layer(process.env.PATH ?? ""))

const sentence = "The quick brown fox jumps over the lazy dog."
const ten = Array.from({ length: 10 }, () => sentence).join(" ")

/** The seconds of a text in WAV, which must be audio and no silence. */
const secondsOf = async (body: object): Promise<number> => {
  const { bytes, headers, status } = await server().speak({ voice: "en-us", ...body })
  expect(status, bytes.subarray(0, 200).toString()).toBe(200)
  expect(headers.get("content-type")).toBe("audio/wav")
  expect(headers.get("content-length")).toBe(`${bytes.length}`)
  const { channels, sampleRate, samples, seconds } = readWav(bytes)
  expect([channels, sampleRate]).toEqual([1, 22_050])
  expect(loudness(samples)).toBeGreaterThan(0.02)
  return seconds
}

/** The event of an answer with these bytes, once it can be seen. */
const eventOf = async (bytes: Uint8Array) => {
  const found = () => server().events.find(({ data }) => (data as { readonly bytes: number }).bytes === bytes.length)
  await expect.poll(found, { timeout: patienceMillis, interval: 10 }).toBeDefined()
  return found()!
}

describe("a WAV file of espeak-ng", needing("espeak-ng"), () => {
  it("[platform 10.2] has a header that is true, is no silence, and lasts as long as its words", async () => {
    const one = await secondsOf({ text: sentence })
    // Nine words at 175 a minute are some three seconds.
    expect(one).toBeGreaterThan(1.5)
    expect(one).toBeLessThan(5)
    const more = await secondsOf({ text: ten })
    expect(more / one).toBeGreaterThan(8)
    expect(more / one).toBeLessThan(12)
  })

  it("[platform 10.2] is quicker or slower by the speed", async () => {
    const one = await secondsOf({ text: ten })
    expect((await secondsOf({ text: ten, speed: 2 })) / one).toBeCloseTo(0.5, 1)
    expect((await secondsOf({ text: ten, speed: 0.5 })) / one).toBeGreaterThan(1.7)
    expect((await secondsOf({ text: ten, speed: 4 })) / one).toBeLessThan(0.35)
    expect(await secondsOf({ text: sentence, speed: 0.25 })).toBeGreaterThan(one / 10)
  })

  it("is the same for the same request, and another one in another voice", async () => {
    const speak = async (voice: string) => (await server().speak({ text: sentence, voice })).bytes
    const american = await speak("en-us")
    expect((await speak("en-us")).equals(american)).toBe(true)
    expect((await speak("de")).equals(american)).toBe(false)
  })

  it("speaks whole texts, whatever characters they have", async () => {
    const plain = await secondsOf({ text: sentence })
    // Taken for an option, the end of the text, a command, phonemes or a tag, these would be much shorter, or an error.
    for (const before of ["-h ", "--version ", "-w file.wav ", "\u0001 500S ", "a [[", "<audio ", "$(id) `id` "]) {
      expect(await secondsOf({ text: `${before}${sentence}` }), JSON.stringify(before)).toBeGreaterThan(plain * 0.95)
    }
    expect(await secondsOf({ text: `\u0001 500S ${ten}` })).toBeGreaterThan(plain * 8)
    expect(await secondsOf({ text: "Grüße aus Köln, 東京, 😀!" })).toBeGreaterThan(1)
  })

  it("speaks 5,000 characters", async () => {
    const text = `${sentence} `.repeat(200).slice(0, 5_000)
    expect(await secondsOf({ text })).toBeGreaterThan(200)
  })

  it("has its event, of the key's mode", async () => {
    const { bytes } = await server().speak({ text: "Grüße 😀", voice: "de" }, { key: "test" })
    const { seconds } = readWav(bytes)
    expect(await eventOf(bytes)).toMatchObject({
      type: "talk.speech.completed",
      service: "talk",
      livemode: false,
      data: { characters: 7, voice: "de", format: "wav", duration: Math.round(seconds * 1000), bytes: bytes.length }
    })
  })

  it("leaves nothing in the folder of temporary files", async () => {
    const before = await readdir(tmpdir())
    await secondsOf({ text: ten })
    const after = await readdir(tmpdir())
    expect(after.filter((name) => !before.includes(name) && /espeak|lame|opus|speech|talk/i.test(name))).toEqual([])
  })
})

describe("other formats", () => {
  const formats = [
    ["mp3", "lame", "audio/mpeg", (bytes: Uint8Array) => readMp3(bytes).seconds],
    ["ogg", "opusenc", "audio/ogg", (bytes: Uint8Array) => readOgg(bytes).seconds]
  ] as const

  for (const [format, program, contentType, secondsIn] of formats) {
    it(`${format} is frames of as much audio as the WAV file has`, needing("espeak-ng", program), async () => {
      const wav = await secondsOf({ text: ten })
      const { bytes, headers, status } = await server().speak({ text: ten, voice: "en-us", format })
      expect([status, headers.get("content-type"), headers.get("content-length")]).toEqual([200, contentType, null])
      const seconds = secondsIn(bytes)
      expect(Math.abs(seconds - wav)).toBeLessThan(0.2)
      expect(bytes.length).toBeLessThan(wav * 10_000)
      const { data } = await eventOf(bytes)
      expect(data).toMatchObject({ format, bytes: bytes.length })
      expect(Math.abs((data as { readonly duration: number }).duration - seconds * 1000)).toBeLessThan(30)
    })
  }

  it("[platform 10.4] are listed as far as they can be made", needing("espeak-ng", "lame", "opusenc"), async () => {
    expect((await server().ask("/v1/talk/formats")).json()).toStrictEqual({
      formats: [
        { id: "wav", contentType: "audio/wav" },
        { id: "mp3", contentType: "audio/mpeg" },
        { id: "ogg", contentType: "audio/ogg" }
      ]
    })
  })
})

describe("voices of espeak-ng", needing("espeak-ng"), () => {
  const voices = async () =>
    ((await server().ask("/v1/talk/voices")).json() as { readonly voices: ReadonlyArray<{ readonly id: string }> })
      .voices

  it("[platform 10.3] are listed with id, name, language and gender", async () => {
    const all = await voices()
    expect(all.length).toBeGreaterThan(50)
    expect(all).toContainEqual({ id: "en-us", name: "English (America)", language: "en-us", gender: "male" })
    expect(new Set(all.map(({ id }) => id)).size).toBe(all.length)
  })

  it("can all be asked for", async () => {
    // Of every language one would take long; those with strange names are among these.
    const all = (await voices()).filter((_, index) => index % 9 === 0).map(({ id }) => id)
    const strange = (await voices()).map(({ id }) => id).filter((id) => id.length > 8)
    for (const voice of [...all, ...strange]) {
      const { bytes, status } = await server().speak({ text: "one two three", voice })
      expect(status, voice).toBe(200)
      expect(readWav(bytes).seconds, voice).toBeGreaterThan(0.3)
    }
  })
})
