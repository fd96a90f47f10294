/** The folder of the local mailbox (docs/handoff.md, 3.5): it survives its process, cut files are skipped, and a full disk accepts nothing. */
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Layer, Logger } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { CaptureMailbox, maximumCaptured } from "../../../../src/send/handoff/CaptureMailbox.ts"
import { intoMailbox } from "../../../../src/send/handoff/MailTransport.ts"
import { envelope, mailOf } from "./mailOf.ts"

let root = ""
let count = 0
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "sluice-mailbox-folder-"))
})
afterAll(() => rm(root, { recursive: true, force: true }))

const folderOf = () => join(root, `${++count}`)

/** Runs on a mailbox that begins with what the folder has; answers what it logged too. */
const on = async <A>(folder: string, act: (mailbox: CaptureMailbox["Service"]) => Effect.Effect<A, unknown>) => {
  const logged: Array<string> = []
  const logger = Logger.layer([Logger.make(({ message }) => void logged.push(String(message)))])
  const value = await Effect.runPromise(
    Effect.flatMap(CaptureMailbox, act).pipe(Effect.provide(CaptureMailbox.layerIn(folder).pipe(Layer.provide(logger))))
  )
  return { value, logged }
}

const idsIn = async (folder: string) =>
  (await on(folder, ({ list }) => list)).value.map(({ isRead, mail }) => `${mail.id}${isRead ? " read" : ""}`)

describe("[handoff 3.5] the mailbox's folder", () => {
  it("has every accepted mail after another start, as it was", async () => {
    const folder = folderOf()
    const before = await on(folder, (mailbox) =>
      Effect.gen(function* () {
        for (const id of ["a", "b", "c", "d"]) yield* mailbox.keep(mailOf(id, { subject: `Grüße ${id}` }), envelope)
        yield* mailbox.mark(["b"], true)
        yield* mailbox.remove(["c"])
        return yield* mailbox.list
      })
    )
    const after = await on(folder, ({ list }) => list)
    expect(after).toEqual({ value: before.value, logged: [] })
    expect(await idsIn(folder)).toEqual(["d", "b read", "a"])
    // Numbers go on, and a mail that is handed over again is still known.
    await on(folder, ({ keep }) => Effect.andThen(keep(mailOf("a"), envelope), keep(mailOf("e"), envelope)))
    expect(await idsIn(folder)).toEqual(["e", "d", "b read", "a"])
  })

  it("skips cut, changed and unfinished files with a warning, and keeps the others", async () => {
    const folder = folderOf()
    await on(folder, ({ keep }) =>
      Effect.forEach(["a", "b", "c", "d"], (id) => keep(mailOf(id), envelope), { discard: true })
    )
    const at = (number: number) => join(folder, `00000000000${number}.new.mail`)
    const text = await readFile(at(1), "utf8")
    await writeFile(at(1), text.slice(0, -20))
    await writeFile(at(2), (await readFile(at(2), "utf8")).replace("Hello", "Hullo"))
    await writeFile(at(3), "")
    await writeFile(`${at(5)}.tmp`, "half")
    const { logged, value } = await on(folder, ({ list }) => list)
    expect(value.map(({ mail }) => mail.id)).toEqual(["d"])
    expect(logged).toEqual([
      "The local mailbox skips 3 damaged files: 000000000001.new.mail, 000000000002.new.mail, 000000000003.new.mail"
    ])
    expect(await readdir(folder)).not.toContain("000000000005.new.mail.tmp")
    await on(folder, ({ clear }) => clear)
    expect(await readdir(folder)).toEqual([])
  })

  it("is bounded like the memory", async () => {
    const folder = folderOf()
    const { value } = await on(folder, (mailbox) =>
      Effect.gen(function* () {
        for (let number = 0; number < maximumCaptured + 3; number++)
          yield* mailbox.keep(mailOf(`em_${number}`), envelope)
        return yield* mailbox.gone
      })
    )
    expect([value, (await readdir(folder)).length]).toEqual([3, maximumCaptured])
  })

  it("drops the files of an organization that is deleted", async () => {
    const folder = folderOf()
    await on(folder, ({ forget, keep }) =>
      Effect.gen(function* () {
        yield* keep(mailOf("a"), envelope)
        yield* keep({ ...mailOf("b"), organization: "org_b" }, envelope)
        yield* forget("org_a")
      })
    )
    expect(await idsIn(folder)).toEqual(["b"])
    expect(await readdir(folder)).toHaveLength(1)
  })

  it("that cannot be written to makes mail wait, and says so", async () => {
    const folder = folderOf()
    const { value } = await on(folder, (mailbox) =>
      Effect.gen(function* () {
        yield* mailbox.keep(mailOf("a"), envelope)
        yield* Effect.promise(() => rm(folder, { recursive: true }))
        const answer = yield* intoMailbox(mailbox).deliver(mailOf("b"), envelope)
        return { answer, kept: (yield* mailbox.list).map(({ mail }) => mail.id) }
      })
    )
    expect(value).toEqual({
      answer: { _tag: "Temporary", code: "4.3.1", reason: "the folder of the local mailbox cannot be written to" },
      kept: ["a"]
    })
  })

  it("that cannot be read is an empty mailbox and a warning", async () => {
    const folder = folderOf()
    await writeFile(folder, "a file in its place")
    const { logged, value } = await on(folder, ({ list }) => list)
    expect(value).toEqual([])
    expect(logged[0]).toContain("its folder cannot be read")
  })
})
