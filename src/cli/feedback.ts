/**
 * Implements `sluice feedback import <folder>`: imports bounces and complaints collected as files (docs/handoff.md,
 * 6.2).
 */
import { open, readdir } from "node:fs/promises"
import { join } from "node:path"
import { Console, Data, Effect } from "effect"
import { Argument, Command } from "effect/cli"
import { AdminClient } from "../admin/AdminClient.ts"
import { type IntakeOutcome, intakeOutcomes } from "../send/feedback/intake/FeedbackIntake.ts"
import { importedBytes } from "../send/feedback/intake/limits.ts"
import { withAdmin } from "./admin.ts"
import { json, settingFlags } from "./flags.ts"
import { printJson } from "./output.ts"

/** Most files in transit. */
const filesAtOnce = 4

/** The folder or a file in it cannot be read. */
export class FolderUnreadable extends Data.TaggedError("FolderUnreadable")<{ readonly message: string }> {}

const reading = <A>(path: string, read: () => Promise<A>): Effect.Effect<A, FolderUnreadable> =>
  Effect.tryPromise({
    try: read,
    catch: (cause) =>
      new FolderUnreadable({ message: `${path} cannot be read: ${cause instanceof Error ? cause.message : cause}` })
  })

/** The files below a folder, such as those of a Maildir, in order. */
const filesIn = (folder: string) =>
  reading(folder, async () => {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true })
    return entries
      .filter((entry) => entry.isFile() && !entry.name.startsWith("."))
      .map((entry) => join(entry.parentPath, entry.name))
      .sort()
  })

/** The beginning of a file. */
const beginningOf = (path: string) =>
  reading(path, async () => {
    const file = await open(path)
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(importedBytes), 0, importedBytes, 0)
      return buffer.subarray(0, bytesRead)
    } finally {
      await file.close()
    }
  })

const sentences: Readonly<Record<IntakeOutcome, string>> = {
  taken: "counted, now or before",
  silent: "reports that say nothing that counts",
  late: "of emails that are not kept any more",
  none: "no reports",
  stray: "reports that came to no return path of this platform and have none in them"
}

const importFolder = Command.make(
  "import",
  {
    folder: Argument.String("folder").pipe(
      Argument.withDescription("Folder with a mail in each file, as it came over the wire; folders in it too")
    ),
    json,
    dataDir: settingFlags.dataDir
  },
  (flags) =>
    withAdmin(
      flags,
      Effect.gen(function* () {
        const client = yield* AdminClient
        const files = yield* filesIn(flags.folder)
        const outcomes = yield* Effect.forEach(
          files,
          (file) =>
            Effect.gen(function* () {
              const bytes = yield* beginningOf(file)
              if (bytes.length === 0) return "none" as const
              const { outcome } = yield* client.send.takeFeedback({ payload: { mail: bytes.toString("base64") } })
              return outcome
            }),
          { concurrency: filesAtOnce }
        )
        const counts = Object.fromEntries(
          intakeOutcomes.map((outcome) => [outcome, outcomes.filter((one) => one === outcome).length] as const)
        )
        if (flags.json) return yield* printJson({ files: files.length, ...counts })
        yield* Console.log(`${files.length} files`)
        for (const outcome of intakeOutcomes)
          if (counts[outcome]! > 0) yield* Console.log(`  ${counts[outcome]}  ${sentences[outcome]}`)
      })
    )
).pipe(Command.withDescription("Take in bounces and complaints that were collected as files"))

export const feedback = Command.make("feedback").pipe(
  Command.withDescription("Reports of other mail systems about emails"),
  Command.withSubcommands([importFolder])
)
