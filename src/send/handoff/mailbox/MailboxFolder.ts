/**
 * Keeps the mails of the local mailbox in a folder (docs/handoff.md, 3.5): a file for each mail, written beside and moved
 * into place, so that a killed process leaves a whole file or none. Its name says the mail's number and whether it is
 * read. Needs no service.
 */
import { createHash } from "node:crypto"
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Data, Effect, Schema } from "effect"
import { Message } from "../../Message.ts"

const Stored = Schema.Struct({
  mail: Schema.Struct({
    id: Schema.String,
    organization: Schema.String,
    mode: Schema.Literals(["live", "test"]),
    message: Message,
    acceptedAt: Schema.Finite
  }),
  envelope: Schema.Struct({ from: Schema.String, to: Schema.Array(Schema.String) }),
  capturedAt: Schema.Finite
})

/** A mail of the mailbox. */
export interface CapturedMail extends Schema.Schema.Type<typeof Stored> {
  /** Its place among the mails of the mailbox, from 1. */
  readonly number: number
  /** Unix milliseconds. */
  readonly capturedAt: number
  readonly isRead: boolean
}

/** The folder cannot be written to; the mail is not in the mailbox. */
export class MailboxUnwritable extends Data.TaggedError("MailboxUnwritable")<{ readonly cause: unknown }> {
  override readonly message = "the folder of the local mailbox cannot be written to"
}

/** The mails of a folder, oldest first, and the files that cannot be read as one. */
export interface FolderContents {
  readonly mails: ReadonlyArray<CapturedMail>
  readonly damaged: ReadonlyArray<string>
}

export interface MailboxFolder {
  /** Reads all mails. A file that is cut or changed is named in `damaged`, and stays. */
  readonly read: Effect.Effect<FolderContents, MailboxUnwritable>
  readonly write: (mail: CapturedMail) => Effect.Effect<void, MailboxUnwritable>
  readonly mark: (mail: CapturedMail, isRead: boolean) => Effect.Effect<void, MailboxUnwritable>
  readonly remove: (mail: CapturedMail) => Effect.Effect<void, MailboxUnwritable>
  /** Removes every file of a mail, damaged ones too. */
  readonly clear: Effect.Effect<void, MailboxUnwritable>
}

const fileName = /^(\d{12})\.(new|read)\.mail$/

const nameOf = ({ isRead, number }: Pick<CapturedMail, "number" | "isRead">): string =>
  `${String(number).padStart(12, "0")}.${isRead ? "read" : "new"}.mail`

const digestOf = (text: string): string => createHash("sha256").update(text).digest("hex")

/** A digest, and behind it the mail as JSON: a file that lost its end has another digest. */
const textOf = ({ capturedAt, envelope, mail }: CapturedMail): string => {
  const json = JSON.stringify({ mail, envelope, capturedAt })
  return `${digestOf(json)}\n${json}`
}

const decode = Schema.decodeUnknownSync(Schema.fromJsonString(Stored))

/** The mail of a file; undefined if it is damaged. */
const mailIn = (name: string, text: string): CapturedMail | undefined => {
  const [, number, state] = fileName.exec(name) ?? []
  const end = text.indexOf("\n")
  const json = text.slice(end + 1)
  if (number === undefined || text.slice(0, Math.max(0, end)) !== digestOf(json)) return undefined
  try {
    return { ...decode(json), number: Number(number), isRead: state === "read" }
  } catch {
    return undefined
  }
}

const attempt = <A>(act: () => Promise<A>): Effect.Effect<A, MailboxUnwritable> =>
  Effect.tryPromise({ try: act, catch: (cause) => new MailboxUnwritable({ cause }) })

const readAll = async (folder: string): Promise<FolderContents> => {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const mails: Array<CapturedMail> = []
  const damaged: Array<string> = []
  for (const name of (await readdir(folder)).sort()) {
    // A killed process left it before it was whole, and nothing was accepted.
    if (name.endsWith(".tmp")) await rm(join(folder, name), { force: true })
    if (!fileName.test(name)) continue
    const mail = mailIn(name, await readFile(join(folder, name), "utf8"))
    if (mail === undefined) damaged.push(name)
    else mails.push(mail)
  }
  return { mails, damaged }
}

/** The mails under a path, which is made if it is missing. Only one process may use it. */
export const mailboxFolder = (folder: string): MailboxFolder => {
  const at = (mail: Pick<CapturedMail, "number" | "isRead">) => join(folder, nameOf(mail))
  return {
    read: attempt(() => readAll(folder)),
    write: (mail) =>
      attempt(async () => {
        const beside = `${at(mail)}.tmp`
        await writeFile(beside, textOf(mail), { mode: 0o600 })
        await rename(beside, at(mail))
      }),
    mark: (mail, isRead) => attempt(() => rename(at(mail), at({ ...mail, isRead }))),
    remove: (mail) => attempt(() => rm(at(mail), { force: true })),
    clear: attempt(async () => {
      for (const name of await readdir(folder)) if (fileName.test(name)) await rm(join(folder, name), { force: true })
    })
  }
}
