/** The verification of a backup, on files: what is missing, cut, changed, exchanged or does not fit is named. */
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Redacted } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { BackupSegment, BackupTable, BackupWitness, Manifest } from "../../../src/app/backup/backupManifest.ts"
import { encodeRecord } from "../../../src/app/backup/messageRecords.ts"
import { writeSealed } from "../../../src/app/backup/sealedFile.ts"
import { verifyBackup } from "../../../src/app/backup/verifyBackup.ts"
import { hashOf } from "../../../src/engine/frame.ts"
import { keys, sampleManifest } from "./sampleManifest.ts"

const { id } = sampleManifest
const frameOf = (sequence: number): Buffer => Buffer.from(`{"v":1,"n":${sequence}}`)

let folder = ""
let manifest: Manifest
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-verify-"))
  for (const inside of ["tables", "streams"]) await mkdir(join(folder, id, inside), { recursive: true })
  const write = async (file: string, content: ReadonlyArray<Buffer>) => ({
    file,
    ...(await writeSealed(
      { path: join(folder, file), name: file, key: keys[0] },
      (async function* () {
        yield* content
      })()
    ))
  })
  const table: BackupTable = {
    ...(await write(`${id}/tables/events`, [Buffer.from("1\ta\n2\tb\n"), Buffer.from("3\tc\n")])),
    name: "events",
    columns: ["id", "name"],
    rows: 3
  }
  const segmentOf = async (first: number, last: number): Promise<BackupSegment> => {
    const messages = Array.from({ length: last - first + 1 }, (_, index) =>
      encodeRecord({
        sequence: first + index,
        subject: "log.0",
        time: "1",
        headers: undefined,
        data: frameOf(first + index)
      })
    )
    return { ...(await write(`${id}/streams/log-0.${first}`, messages)), first, last, messages: messages.length }
  }
  manifest = {
    ...sampleManifest,
    tables: [table],
    witnesses: [witness(12)],
    streams: [
      {
        name: "log-0",
        created: "once",
        config: {},
        first: 8,
        last: 19,
        isWhole: true,
        newestTime: "1",
        segments: [await segmentOf(8, 14), await segmentOf(15, 19)]
      }
    ]
  }
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const witness = (sequence: number, hash = hashOf(frameOf(sequence))): BackupWitness => ({
  partition: 0,
  who: "the newest checkpoint",
  sequence,
  hash,
  needsTail: true
})
const problemsOf = async (changes: Partial<Manifest> = {}) =>
  (await Effect.runPromise(verifyBackup({ folder, keys: Redacted.make(keys) }, { ...manifest, ...changes }))).problems

/** Runs with another content of a file. */
const changed = async (file: string, change: (bytes: Buffer) => Buffer | undefined) => {
  const path = join(folder, file)
  const whole = await readFile(path)
  const bytes = change(Buffer.from(whole))
  if (bytes === undefined) await rm(path)
  else await writeFile(path, bytes)
  const problems = await problemsOf()
  await writeFile(path, whole)
  return problems
}

describe("a backup", () => {
  it("that is as it was written is whole, and counted", async () => {
    const found = await Effect.runPromise(verifyBackup({ folder, keys: Redacted.make(keys) }, manifest))
    expect(found).toMatchObject({ problems: [], files: 3, rows: 3, messages: 12 })
  })

  it.each([
    ["tables/events", /tables\/events: the \d+ bytes at byte 28 are not those that were written/],
    ["streams/log-0.8", /streams\/log-0\.8: the \d+ bytes at byte 28 are not those that were written/],
    ["streams/log-0.15", /streams\/log-0\.15: the \d+ bytes at byte 28 are not those that were written/]
  ])("names a flipped bit of %s", async (file, sentence) => {
    const problems = await changed(`${id}/${file}`, (bytes) => {
      bytes[bytes.length - 3]! ^= 1
      return bytes
    })
    expect(problems).toEqual([expect.stringMatching(sentence)])
  })

  it("names files that are missing, cut or longer", async () => {
    expect(await changed(`${id}/streams/log-0.8`, () => undefined)).toEqual([
      `${id}/streams/log-0.8: the file is missing`
    ])
    expect(await changed(`${id}/tables/events`, (bytes) => bytes.subarray(0, -4))).toEqual([
      expect.stringMatching(/tables\/events: the file is cut at byte \d+ of \d+/)
    ])
    expect(await changed(`${id}/tables/events`, (bytes) => Buffer.concat([bytes, Buffer.alloc(4)]))).toEqual([
      expect.stringMatching(/tables\/events: the file has \d+ bytes instead of \d+/)
    ])
  })

  it("names files in each other's place", async () => {
    const [one, other] = [join(folder, id, "streams/log-0.8"), join(folder, id, "streams/log-0.15")]
    await rename(one, `${one}.kept`)
    await rename(other, one)
    expect(await problemsOf()).toEqual([expect.stringMatching(/log-0\.8: the file is cut/)])
    await rename(one, other)
    await rename(`${one}.kept`, one)
    expect(await problemsOf()).toEqual([])
  })

  it("whose counts or sequences differ from the manifest is not whole", async () => {
    const [table] = manifest.tables
    expect(await problemsOf({ tables: [{ ...table!, rows: 4 }] })).toEqual([
      `${id}/tables/events: it has 3 rows, and the manifest says 4`
    ])
    const [stream] = manifest.streams
    const [first, second] = stream!.segments
    expect(await problemsOf({ streams: [{ ...stream!, segments: [first!] }] })).toEqual([
      "the stream log-0 ends at 14, and stood at 19"
    ])
    expect(await problemsOf({ streams: [{ ...stream!, segments: [second!] }] })).toEqual([
      `${id}/streams/log-0.15: message 15 came where 8 was expected`
    ])
    expect(await problemsOf({ streams: [{ ...stream!, segments: [{ ...first!, messages: 6 }, second!] }] })).toEqual([
      `${id}/streams/log-0.8: it has 7 messages up to 14, and the manifest says 6 up to 14`
    ])
  })

  it("whose log does not reach what the database has seen is not whole", async () => {
    expect(await problemsOf({ witnesses: [witness(20)] })).toEqual([
      "partition 0: the newest checkpoint has seen frame 20, and the log ends at 19: frames 20 to 20 are missing"
    ])
    expect(await problemsOf({ witnesses: [witness(3)] })).toEqual([
      "partition 0: the newest checkpoint stands at frame 3, and the log begins at 8: frames 4 to 7 are missing"
    ])
    expect(await problemsOf({ witnesses: [witness(9, "another")] })).toEqual([
      `${id}/streams/log-0.8: frame 9 is another one than the newest checkpoint has seen`
    ])
  })
})
