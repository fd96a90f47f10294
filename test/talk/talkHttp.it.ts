/** Talk over HTTP with engines that a test holds in its hand (docs/platform.md, 10): access, fields, places, and callers who go away. */
import { Deferred, Effect, Layer, Stream } from "effect"
import { describe, expect, it, onTestFinished } from "vitest"
import { maximumWavBytes, speechPlaces } from "../../src/talk/limits.ts"
import { type AudioPart, SpeechEngine, type SpeechOrder, SpeechUnavailable } from "../../src/talk/SpeechEngine.ts"
import { patienceMillis } from "../support/patience.ts"
import { speechInit, useTalkServer } from "./talkServer.ts"

/** A WAV file of so many seconds, with the false length that a program gives which does not know it. */
const falseWav = (seconds: number): Uint8Array => {
  const file = Buffer.alloc(44 + seconds * 44_100, 7)
  file.write("RIFF\xff\xff\xff\xffWAVEfmt \x10\0\0\0\x01\0\x01\0", "latin1")
  file.writeUInt32LE(22_050, 24)
  file.writeUInt32LE(44_100, 28)
  file.write("\x02\0\x10\0data\xff\xff\xff\xff", 32, "latin1")
  return file
}

/** A frame of silence: MPEG-2 layer III, 48 kbit/s, 22,050 Hz, mono. */
const frame = Buffer.concat([Buffer.from([0xff, 0xf3, 0x60, 0xc0]), Buffer.alloc(152)])

/** What the engine does with the next order. */
let speaking: (order: SpeechOrder) => ReadonlyArray<AudioPart> = () => []
/** Texts whose work was given up or has ended. */
const ended: Array<string> = []

const voices = ["en-gb", "en-us", "de"].map((id) => ({ id, name: id, language: id, gender: null }))

const server = useTalkServer(() =>
  Layer.succeed(
    SpeechEngine,
    SpeechEngine.of({
      offer: Effect.succeed({ voices, formats: ["wav", "mp3"] }),
      speak: (order) =>
        speaking(order).map((part) =>
          Stream.ensuring(
            part,
            Effect.sync(() => void ended.push(order.text))
          )
        )
    })
  )
)

const good = { text: "hello", voice: "en-us" }
const gone = (text: string) => expect.poll(() => ended, { timeout: patienceMillis, interval: 10 }).toContain(text)

let lengths = 10
/** A text of a length that no other one has, by which its event is found. */
const uniqueText = () => "x".repeat(lengths++)

const charactersOf = (data: unknown) => (data as { readonly characters: number }).characters

/** The events of a text, once all that was decided before can be seen. */
const eventsOf = async (text: string) => {
  const last = uniqueText()
  speaking = () => [Stream.succeed(falseWav(1))]
  expect((await server().speak({ ...good, text: last })).status).toBe(200)
  const lengthsSeen = () => server().events.map(({ data }) => charactersOf(data))
  await expect.poll(lengthsSeen, { timeout: patienceMillis, interval: 10 }).toContain(last.length)
  return server().events.filter(({ data }) => charactersOf(data) === text.length)
}

describe("requests", () => {
  const text = "Invalid field 'text'. Expected 1 to 5000 characters that are not all blank."
  const speed = "Invalid field 'speed'. Expected a number from 0.25 to 4."
  it.each([
    [{ voice: "en-us" }, "Missing required field 'text'."],
    [{ text: "a" }, "Missing required field 'voice'."],
    [{ ...good, text: "" }, text],
    [{ ...good, text: " \n\t " }, text],
    [{ ...good, text: 5 }, text],
    [{ ...good, text: "a".repeat(5_001) }, text],
    [{ ...good, text: "😀".repeat(5_001) }, text],
    [{ ...good, speed: 0.24 }, speed],
    [{ ...good, speed: 4.01 }, speed],
    [{ ...good, speed: "1" }, speed],
    [{ ...good, speed: null }, speed],
    [{ ...good, format: "flac" }, "Invalid field 'format'. Expected wav, mp3 or ogg."],
    [{ ...good, format: "ogg" }, "The format 'ogg' cannot be made here. Available: wav, mp3."],
    [{ ...good, voice: "en_US" }, "Unknown voice \"en_US\". Did you mean 'en-us'?"],
    [{ ...good, voice: "en" }, "Unknown voice \"en\". Did you mean 'en-gb'?"],
    [{ ...good, voice: "de-AT" }, "Unknown voice \"de-AT\". Did you mean 'de'?"],
    [{ ...good, voice: "xhosa" }, 'Unknown voice "xhosa". Known: en-gb, en-us, de.'],
    [{ ...good, sped: 1 }, "Unknown field \"sped\". Did you mean 'speed'?"],
    ["{", "Invalid request body."],
    ["[]", "Invalid request body. Expected a JSON object."]
  ])("[platform 10.2] %j: 400", async (body, error) => {
    const reply = await server().speak(body)
    expect([reply.status, reply.json()]).toStrictEqual([400, { error: expect.stringContaining(error) }])
  })

  it("[platform 10.2] take 5,000 characters, a character of two units counting once", async () => {
    speaking = () => [Stream.succeed(falseWav(1))]
    expect((await server().speak({ ...good, text: "a".repeat(5_000) })).status).toBe(200)
    expect((await server().speak({ ...good, text: "😀".repeat(5_000), speed: 4, format: "wav" })).status).toBe(200)
  })
})

describe("an engine", () => {
  it("whose parts are WAV files with false lengths gives one with true ones", async () => {
    speaking = () => [
      Stream.succeed(falseWav(1)),
      Stream.fromIterable([falseWav(2).subarray(0, 30), falseWav(2).subarray(30)])
    ]
    const { bytes, headers } = await server().speak(good)
    expect(bytes.length).toBe(44 + 3 * 44_100)
    expect(headers.get("content-length")).toBe(`${bytes.length}`)
    expect([bytes.readUInt32LE(4), bytes.readUInt32LE(40)]).toEqual([bytes.length - 8, bytes.length - 44])
  })

  it.each([
    [
      "fails",
      [Stream.fail(new SpeechUnavailable({ message: "Not now.", cause: "10.0.0.7", retryAfterMillis: 4_000 }))],
      4
    ],
    ["gives nothing", [Stream.empty], 1],
    ["gives no audio", [Stream.succeed(Buffer.from("<html>it works</html>"))], 1]
  ] as ReadonlyArray<
    [string, ReadonlyArray<AudioPart>, number]
  >)("that %s is 503, without an event", async (_name, parts, leastSeconds) => {
    speaking = () => parts
    const text = uniqueText()
    const reply = await server().speak({ ...good, text })
    expect([reply.status, reply.json()]).toStrictEqual([503, { error: expect.stringMatching(/^(Not now|The speech)/) }])
    // It grows while 503 follow each other.
    expect(Number(reply.headers.get("retry-after"))).toBeGreaterThanOrEqual(leastSeconds)
    const running = await server().speak({ ...good, text, format: "mp3" })
    expect([running.status, running.json()]).toStrictEqual([503, reply.json()])
    expect(await eventsOf(text)).toEqual([])
  })

  it("that fails in the middle breaks the answer off, without an event", async () => {
    const broken = uniqueText()
    speaking = () => [Stream.concat(Stream.succeed(frame), Stream.fail(new SpeechUnavailable({ message: "Not now." })))]
    await expect(server().speak({ ...good, text: broken, format: "mp3" })).rejects.toThrow()
    expect(await eventsOf(broken)).toEqual([])
    const text = uniqueText()
    speaking = () => [Stream.succeed(frame), Stream.fromIterable([frame.subarray(0, 50), frame.subarray(50)])]
    const { bytes } = await server().speak({ ...good, text, format: "mp3" })
    expect(bytes.length).toBe(2 * frame.length)
    const data = {
      characters: text.length,
      voice: "en-us",
      format: "mp3",
      duration: Math.round((2 * 576_000) / 22_050),
      bytes: 2 * frame.length
    }
    expect(await eventsOf(text)).toMatchObject([{ type: "talk.speech.completed", livemode: true, data }])
  })

  it("that makes more than a WAV file holds is 400, and stopped", async () => {
    const second = falseWav(1)
    let made = 0
    const piece = Effect.sync(() => {
      made += second.length
      return second
    })
    speaking = () => [Stream.fromEffectRepeat(piece)]
    const reply = await server().speak({ ...good, text: "endless" })
    expect([reply.status, reply.json()]).toStrictEqual([400, { error: expect.stringContaining("48 MiB") }])
    await gone("endless")
    // No more is made than what shows it.
    expect(made).toBeLessThan(1.1 * maximumWavBytes)
  })
})

describe("places", () => {
  /** Speeches that stand still until they are let go. */
  const held = () => {
    const gate = Deferred.makeUnsafe<void>()
    const begun: Array<string> = []
    speaking = ({ text }) => [
      Stream.unwrap(
        Effect.gen(function* () {
          begun.push(text)
          yield* Deferred.await(gate)
          return Stream.succeed(falseWav(1))
        })
      )
    ]
    const begin = async (key: string, text: string, init: RequestInit = {}) => {
      const reply = server().speak({ ...good, text }, { key, ...init })
      await expect.poll(() => begun, { timeout: patienceMillis, interval: 10 }).toContain(text)
      // Not the answer itself, for which nobody waits here.
      return { reply }
    }
    const open = () => Deferred.doneUnsafe(gate, Effect.void)
    // After a failure the places would stay taken, and the next test would wait for them.
    onTestFinished(() => void open())
    return { begin, open }
  }

  it("[platform 10.2] over an organization's share 429, over all 503, both with Retry-After; then they are free again", async () => {
    const { begin, open } = held()
    const replies: Array<Promise<{ readonly status: number }>> = []
    const fill = async (key: string) => {
      for (let count = 0; count < speechPlaces.ofOrganization; count++) {
        replies.push((await begin(key, `${key} ${count}`)).reply)
      }
    }
    await fill("good")
    const over = await server().speak(good)
    expect([over.status, over.json(), over.headers.get("retry-after")]).toStrictEqual([
      429,
      { error: expect.stringMatching(/3 speeches/) },
      "1"
    ])
    expect((await server().ask("/v1/talk/voices")).status).toBe(200)
    await fill("other")
    expect(replies).toHaveLength(speechPlaces.total)
    const full = await server().speak(good, { key: "third" })
    expect([full.status, full.json(), full.headers.get("retry-after")]).toStrictEqual([
      503,
      { error: expect.stringMatching(/repeat/) },
      // It grows with the time since the first 503 of a row, and the tests before have caused some.
      expect.stringMatching(/^[1-9]\d*$/)
    ])
    // What is refused for its content needs no place.
    expect((await server().speak({ ...good, voice: "x" }, { key: "third" })).status).toBe(400)
    open()
    expect((await Promise.all(replies)).map(({ status }) => status)).toEqual(replies.map(() => 200))
    expect((await server().speak(good, { key: "third" })).status).toBe(200)
  })

  it("a caller who goes away gives the place back, and the work on the answer ends", async () => {
    const { begin, open } = held()
    for (let round = 0; round < 2 * speechPlaces.total; round++) {
      const leaving = new AbortController()
      const text = `left ${round}`
      const { reply } = await begin("good", text, { signal: leaving.signal })
      leaving.abort()
      await expect(reply).rejects.toThrow()
      await gone(text)
    }
    open()
    expect((await server().speak(good)).status).toBe(200)
  })

  it("so does one who goes away while the audio comes, and there is no event", async () => {
    const text = uniqueText()
    speaking = () => [Stream.forever(Stream.succeed(frame))]
    const leaving = new AbortController()
    const response = await fetch(`${server().url}/v1/talk/speech`, {
      ...speechInit({ ...good, text, format: "mp3" }),
      headers: { "content-type": "application/json", "x-api-key": "good" },
      signal: leaving.signal
    })
    expect((await response.body!.getReader().read()).value!.length).toBeGreaterThan(0)
    leaving.abort()
    await gone(text)
    expect(await eventsOf(text)).toEqual([])
  })
})
