/** Speech by a service with OpenAI's interface, here one of the test's own: what it is asked, how its answers go on, and what stays with the platform. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { text } from "node:stream/consumers"
import { Redacted } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as UpstreamEngine from "../../../src/talk/upstream/UpstreamEngine.ts"
import { patienceMillis } from "../../support/patience.ts"
import { oggFile, readWav } from "../audioFiles.ts"
import { speechInit, useTalkServer } from "../talkServer.ts"

interface Asked {
  readonly path: string | undefined
  readonly authorization: string | undefined
  readonly body: { readonly input: string; readonly response_format: string }
}

let service: Server
let asked: Array<Asked> = []
/** How the service answers. */
let answer: (response: ServerResponse, body: Asked["body"], request: IncomingMessage) => void

beforeAll(async () => {
  service = createServer(async (request, response) => {
    const body = JSON.parse(await text(request))
    asked.push({ path: request.url, authorization: request.headers.authorization, body })
    answer(response, body, request)
  })
  await new Promise<void>((resolve) => service.listen(0, "127.0.0.1", resolve))
})
afterAll(() => {
  service.closeAllConnections()
  service.close()
})

const server = useTalkServer(() =>
  UpstreamEngine.layer({
    url: `http://127.0.0.1:${(service.address() as AddressInfo).port}/v1/`,
    key: Redacted.make("sk-upstream"),
    model: "tts-1",
    voices: ["alloy", "nova"]
  })
)

/** A WAV file as such services stream it: a second of 24,000 Hz, with lengths that are none. */
const streamedWav = (): Buffer => {
  const file = Buffer.alloc(44 + 48_000, 5)
  file.write("RIFF\xff\xff\xff\xffWAVEfmt \x10\0\0\0\x01\0\x01\0", "latin1")
  file.writeUInt32LE(24_000, 24)
  file.writeUInt32LE(48_000, 28)
  file.write("\x02\0\x10\0data\xff\xff\xff\xff", 32, "latin1")
  return file
}

/** A frame of MP3: MPEG-1, 128 kbit/s, 44,100 Hz. */
const frame = (content: number): Buffer =>
  Buffer.concat([Buffer.from([0xff, 0xfb, 0x90, 0]), Buffer.alloc(413, content)])
const tag = Buffer.from("ID3\x04\0\0\0\0\0\x03abc", "latin1")

const good = { text: "hello", voice: "alloy" }

describe("a speech service", () => {
  it("[platform 10.5] is asked as OpenAI's interface says, and its WAV file gets true lengths", async () => {
    asked = []
    answer = (response) => response.writeHead(200, { "content-type": "audio/wav" }).end(streamedWav())
    const { bytes, status } = await server().speak({ ...good, speed: 1.5 })
    expect(status).toBe(200)
    expect(readWav(bytes)).toMatchObject({ seconds: 1, sampleRate: 24_000 })
    expect(asked).toEqual([
      {
        path: "/v1/audio/speech",
        authorization: "Bearer sk-upstream",
        body: { model: "tts-1", input: "hello", voice: "alloy", response_format: "wav", speed: 1.5 }
      }
    ])
  })

  it("makes every format, of voices that are configured", async () => {
    expect((await server().ask("/v1/talk/formats")).json()).toMatchObject({
      formats: [{ id: "wav" }, { id: "mp3" }, { id: "ogg", contentType: "audio/ogg" }]
    })
    expect((await server().ask("/v1/talk/voices")).json()).toStrictEqual({
      voices: ["alloy", "nova"].map((id) => ({ id, name: id, language: "mul", gender: null }))
    })
    asked = []
    answer = (response) => response.writeHead(200, { "content-type": "audio/ogg" }).end(oggFile(48_312n))
    expect((await server().speak({ ...good, format: "ogg" })).headers.get("content-type")).toBe("audio/ogg")
    expect(asked[0]!.body.response_format).toBe("opus")
  })

  it("sends MP3 that goes on while it comes", async () => {
    let finish = () => {}
    answer = (response) => {
      response.writeHead(200, { "content-type": "audio/mpeg" }).write(Buffer.concat([tag, frame(1)]))
      finish = () => response.end(frame(2))
    }
    const response = await fetch(`${server().url}/v1/talk/speech`, {
      ...speechInit({ ...good, format: "mp3" }),
      headers: { "content-type": "application/json", "x-api-key": "good" }
    })
    const reader = response.body!.getReader()
    const first = await reader.read()
    expect(Buffer.from(first.value!).equals(Buffer.concat([tag, frame(1)]))).toBe(true)
    finish()
    expect(Buffer.from((await reader.read()).value!).equals(frame(2))).toBe(true)
    expect((await reader.read()).done).toBe(true)
    await expect
      .poll(() => server().events.at(-1)?.data, { timeout: patienceMillis, interval: 10 })
      .toMatchObject({
        format: "mp3",
        duration: Math.round((2 * 1_152_000) / 44_100),
        bytes: tag.length + 2 * 417
      })
  })

  it("gets a long text in parts, cut between sentences, which become one file", async () => {
    const sentence = "A sentence of thirty characters.  "
    const long = sentence.repeat(140)
    asked = []
    answer = (response) => response.writeHead(200, { "content-type": "audio/wav" }).end(streamedWav())
    expect(readWav((await server().speak({ ...good, text: long })).bytes).seconds).toBe(2)
    expect(asked.map(({ body }) => body.input).join("")).toBe(long)
    for (const { body } of asked) {
      expect(body.input.length).toBeLessThanOrEqual(4_096)
      expect(body.input.endsWith(sentence)).toBe(true)
    }
    answer = (response) => response.writeHead(200, { "content-type": "audio/mpeg" }).end(Buffer.concat([tag, frame(3)]))
    const joined = await server().speak({ ...good, text: long, format: "mp3" })
    expect(joined.bytes.equals(Buffer.concat([frame(3), frame(3)]))).toBe(true)
  })

  it("that answers with an error, no audio or nothing is 503, and its words stay here", async () => {
    const secret = "the upstream quota of org-17 is used up"
    const json = { "content-type": "application/json" }
    const cases: ReadonlyArray<[string, typeof answer, number]> = [
      ["400", (response) => response.writeHead(400, json).end(JSON.stringify({ error: { message: secret } })), 1],
      ["401", (response) => response.writeHead(401, json).end(JSON.stringify({ error: { message: secret } })), 1],
      ["429", (response) => response.writeHead(429, { ...json, "retry-after": "7" }).end(secret), 5],
      ["500", (response) => response.writeHead(500, json).end(secret), 5],
      ["200 with an error", (response) => response.writeHead(200, json).end(JSON.stringify({ error: secret })), 5],
      ["200 with a page", (response) => response.writeHead(200, { "content-type": "text/html" }).end(secret), 5],
      ["a redirect", (response) => response.writeHead(307, { location: "http://127.0.0.1:1/elsewhere" }).end(), 1],
      ["no bytes", (response) => response.writeHead(200, { "content-type": "audio/wav" }).end(), 1],
      ["a hang-up", (_, __, request) => request.socket.destroy(), 5],
      [
        "half a file",
        (response, _, request) => {
          response.writeHead(200, { "content-type": "audio/wav", "content-length": "100" }).write("RIFF")
          request.socket.end()
        },
        5
      ]
    ]
    for (const [name, given, leastSeconds] of cases) {
      answer = given
      for (const format of ["wav", ...(name === "half a file" ? [] : ["mp3"])]) {
        const reply = await server().speak({ ...good, format })
        expect([reply.status, reply.json()], `${name}, ${format}`).toStrictEqual([
          503,
          { error: expect.stringMatching(/^The speech (service|engine) /) }
        ])
        // It grows while 503 follow each other.
        expect(Number(reply.headers.get("retry-after")), name).toBeGreaterThanOrEqual(leastSeconds)
        expect(reply.bytes.toString()).not.toMatch(/org-17|127\.0\.0\.1|sk-/)
      }
    }
  })

  it.each(["mp3", "ogg"])("that answers a WAV file for %s is 503, not a connection that breaks", async (format) => {
    answer = (response) => response.writeHead(200, { "content-type": "audio/mpeg" }).end(streamedWav())
    const reply = await server().speak({ ...good, format })
    expect([reply.status, reply.json()]).toStrictEqual([
      503,
      { error: "The speech engine gives no audio; the request is safe to repeat." }
    ])
  })

  it("loses the request of a caller who goes away", async () => {
    let closed = false
    answer = (response) => {
      response.writeHead(200, { "content-type": "audio/mpeg" }).write(frame(1))
      response.on("close", () => {
        closed = true
      })
    }
    const leaving = new AbortController()
    const response = await fetch(`${server().url}/v1/talk/speech`, {
      ...speechInit({ ...good, format: "mp3" }),
      headers: { "content-type": "application/json", "x-api-key": "good" },
      signal: leaving.signal
    })
    await response.body!.getReader().read()
    leaving.abort()
    await expect.poll(() => closed, { timeout: patienceMillis, interval: 10 }).toBe(true)
  })
})
