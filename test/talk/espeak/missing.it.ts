/** Speech by programs that are not there, do not work, or never end: stand-ins on a path of the test's own. */
import { mkdtempSync, rmSync } from "node:fs"
import { chmod, readFile, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe, expect, it } from "vitest"
import * as EspeakEngine from "../../../src/talk/espeak/EspeakEngine.ts"
import { patienceMillis } from "../../support/patience.ts"
import { useTalkServer } from "../talkServer.ts"

const folder = mkdtempSync(join(tmpdir(), "sluice-talk-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const server = useTalkServer(() => EspeakEngine.layer(folder))

/** Puts a shell script on the path. */
const install = async (name: string, script: string) => {
  const file = join(folder, name)
  await writeFile(file, `#!/bin/sh\n${script}\n`)
  await chmod(file, 0o755)
}

const listing = `if [ "$1" = --voices ]; then
  echo 'Pty Language       Age/Gender VoiceName          File                 Other Languages'
  echo ' 2  en-us           --/F      English_(America)  gmw/en-US            (en 3)'
  exit
fi`

const isRunning = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

const good = { text: "hello", voice: "en-us" }

describe("espeak-ng", () => {
  it("[platform 10.5] that is not installed is 503, with both choices named", async () => {
    for (const reply of [
      await server().speak(good),
      await server().ask("/v1/talk/voices"),
      await server().ask("/v1/talk/formats")
    ]) {
      expect([reply.status, reply.json()]).toStrictEqual([
        503,
        { error: expect.stringMatching(/SLUICE_TALK_URL.*espeak-ng/) }
      ])
    }
  })

  it("is found when it is installed later, with the encoders that make audio alone", async () => {
    await install("espeak-ng", `${listing}\ncat >/dev/null; printf RIFF`)
    await install("lame", "exit 3")
    expect((await server().ask("/v1/talk/voices")).json()).toStrictEqual({
      voices: [{ id: "en-us", name: "English (America)", language: "en-us", gender: "female" }]
    })
    expect((await server().ask("/v1/talk/formats")).json()).toStrictEqual({
      formats: [{ id: "wav", contentType: "audio/wav" }]
    })
  })

  it.each([
    ["writes no audio", "cat >/dev/null; echo hello"],
    ["fails", "cat >/dev/null; exit 1"],
    ["does not read", "exec <&-; exit 1"],
    ["is killed", "kill -9 $$"]
  ])("that %s is 503", async (_, script) => {
    await install("espeak-ng", `${listing}\n${script}`)
    const reply = await server().speak({ ...good, text: "hello ".repeat(800) })
    expect([reply.status, reply.json()]).toStrictEqual([503, { error: expect.stringMatching(/speech/) }])
    expect(reply.bytes.toString()).not.toContain(folder)
  })

  it("gets nothing of the platform's environment, and the text on its input", async () => {
    process.env.SLUICE_PLANTED_SECRET = "planted"
    try {
      await install(
        "espeak-ng",
        `${listing}\nenv > "${folder}/environment"; cat > "${folder}/input"; echo "$@" > "${folder}/args"`
      )
      await server().speak({ ...good, text: "--help $(id) [[x" })
    } finally {
      delete process.env.SLUICE_PLANTED_SECRET
    }
    expect(await readFile(join(folder, "environment"), "utf8")).not.toMatch(/SLUICE|DATABASE|HOME/)
    expect(await readFile(join(folder, "input"), "utf8")).toBe("--help $(id) [ [x")
    expect(await readFile(join(folder, "args"), "utf8")).not.toContain("help")
  })

  it("that never ends is killed when the caller goes away", async () => {
    const pidFile = join(folder, "pid")
    await install(
      "espeak-ng",
      `${listing}\necho $$ > "${pidFile}.new"; mv "${pidFile}.new" "${pidFile}"; exec sleep 1000`
    )
    const leaving = new AbortController()
    const reply = server().speak(good, { signal: leaving.signal })
    reply.catch(() => undefined)
    const pidOf = () => readFile(pidFile, "utf8").then(Number, () => 0)
    await expect.poll(pidOf, { timeout: patienceMillis, interval: 10 }).toBeGreaterThan(0)
    const pid = await pidOf()
    expect(isRunning(pid)).toBe(true)
    leaving.abort()
    await expect(reply).rejects.toThrow()
    await expect.poll(() => isRunning(pid), { timeout: patienceMillis, interval: 10 }).toBe(false)
  })
})
