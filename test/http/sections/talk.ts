/** Talk (docs/platform.md, 10) in the running platform: scopes and services of real keys, the audio, its event in the log, and JetStream away. */
import { beforeAll, describe, expect, it } from "vitest"
import { needing } from "../../support/needs.ts"
import { patienceMillis } from "../../support/patience.ts"
import { readMp3, readWav } from "../../talk/audioFiles.ts"
import { speechInit } from "../../talk/talkServer.ts"
import type { Reached, TestPlatform } from "../harness.ts"
import { makeTenant, type Tenant } from "./emitted.ts"

const text = "The quick brown fox jumps over the lazy dog."

const speaker = (url: string, key: string) => async (body: object) => {
  const init = speechInit({ text, voice: "en-us", ...body })
  const response = await fetch(`${url}/v1/talk/speech`, {
    ...init,
    headers: { "content-type": "application/json", authorization: `Bearer ${key}` }
  })
  const bytes = Buffer.from(await response.arrayBuffer())
  return { status: response.status, headers: response.headers, bytes }
}

export const talkSection = (platform: () => Reached): void => {
  describe("talk", () => {
    let tenant: Tenant
    let key = ""
    beforeAll(async () => {
      tenant = await makeTenant(platform(), "talk")
      key = (await tenant.newKey({ services: ["talk"], scopes: ["talk:*"] })).key
    })

    const speak = (body: object, by = key) => speaker(platform().url, by)(body)

    it(
      "answers audio, and its event is in the log, with the mode of the key",
      needing("espeak-ng", "lame"),
      async () => {
        const { key: test } = await tenant.newKey({ mode: "test", services: ["talk"], scopes: ["talk:speech"] })
        const wav = await speak({})
        expect([wav.status, wav.headers.get("content-type")]).toEqual([200, "audio/wav"])
        expect(wav.headers.get("x-ratelimit-limit")).toBe("6000")
        const mp3 = await speak({ format: "mp3" }, test)
        expect([mp3.status, mp3.headers.get("content-type")]).toEqual([200, "audio/mpeg"])
        expect(readMp3(mp3.bytes).seconds).toBeCloseTo(readWav(wav.bytes).seconds, 0)
        const [second, first] = await tenant.events(2, "type=talk.*")
        const duration = Math.round(readWav(wav.bytes).seconds * 1000)
        const common = { type: "talk.speech.completed", service: "talk" }
        expect(first).toMatchObject({
          ...common,
          livemode: true,
          data: { characters: text.length, voice: "en-us", format: "wav", duration, bytes: wav.bytes.length }
        })
        expect(second).toMatchObject({ ...common, livemode: false, data: { format: "mp3", bytes: mp3.bytes.length } })
      }
    )

    it("is closed to other services and scopes of real keys", async () => {
      const { key: telco } = await tenant.newKey({ services: ["telco"], scopes: ["*"] })
      const { key: voices } = await tenant.newKey({ services: ["talk"], scopes: ["talk:voices"] })
      const refused = async (by: string) => JSON.parse((await speak({}, by)).bytes.toString())
      expect(await refused(telco)).toStrictEqual({ error: "API key does not have access to the talk service" })
      expect(await refused(voices)).toStrictEqual({ error: "Insufficient scope. Required: talk:speech" })
    })

    it("takes no voice that would be a path or an option of a program", needing("espeak-ng"), async () => {
      for (const voice of ["../../../etc/passwd", "-h", "--help", "gmw/en-US", "en-us\0", "!v/Storm", "__proto__"]) {
        const { bytes, status } = await speak({ voice })
        expect([status, JSON.parse(bytes.toString())], voice).toStrictEqual([
          400,
          { error: expect.stringMatching(/\S \S/) }
        ])
      }
    })

    it("[platform 10.6] voip and transcribe have no endpoints, and say so", async () => {
      for (const service of ["voip", "transcribe"]) {
        for (const path of [`/v1/${service}`, `/v1/${service}/calls`]) {
          const { body, status } = await platform().get(path)
          expect([status, body]).toStrictEqual([
            404,
            {
              success: false,
              error: {
                code: "not_found",
                message: `No such path: "${path}". The service ${service} has no endpoints yet.`
              }
            }
          ])
        }
      }
    })
  })
}

/** What becomes of speech whose event cannot be stored. */
export const talkOutageSection = (platform: () => TestPlatform): void => {
  describe("talk", () => {
    it("without JetStream a WAV file is 503 and other audio breaks off", needing("espeak-ng", "lame"), async () => {
      const tenant = await makeTenant(platform(), "talk outage")
      const speak = speaker(platform().url, (await tenant.newKey({ services: ["talk"], scopes: ["talk:*"] })).key)
      platform().nats.cut()
      try {
        const { bytes, headers, status } = await speak({})
        expect([status, JSON.parse(bytes.toString())]).toStrictEqual([503, { error: expect.stringMatching(/stored/) }])
        expect(headers.get("retry-after")).toMatch(/^[1-9]\d*$/)
        await expect(speak({ format: "mp3" })).rejects.toThrow()
      } finally {
        platform().nats.restore()
      }
      await expect.poll(async () => (await speak({})).status, { timeout: patienceMillis, interval: 100 }).toBe(200)
    })
  })
}
