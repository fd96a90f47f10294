/**
 * Implements `sluice numbers import | list | remove` (docs/platform.md, 4.4). The command reads a file twice: first to
 * judge it as a whole, then to send its numbers in batches. A batch is stored whole or not at all, and existing numbers
 * stay, so an interrupted import can simply run again.
 */
import { Console, Data, Effect, FileSystem, Stream } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { AdminClient } from "../admin/AdminClient.ts"
import { maximumNumbers } from "../telco/Inventory.ts"
import { isRefused, makeNumbersReader, type NumbersCount } from "../telco/numbersFile.ts"
import { everyPage, withAdmin } from "./admin.ts"
import { json, settingFlags } from "./flags.ts"
import { explained, printJson, printTable, shownTime } from "./output.ts"

const dataDir = { dataDir: settingFlags.dataDir }

const org = Flag.String("org").pipe(Flag.withDescription("Id of the organization"))

/** Malformed lines that are printed; the summary counts all. */
const shownMalformed = 10

const number = (value: number) => value.toLocaleString("en-US")

/** The file cannot be read. */
export class FileUnreadable extends Data.TaggedError("FileUnreadable")<{
  readonly path: string
  readonly reason: string
}> {
  override get message(): string {
    return `${this.path} cannot be read: ${this.reason}`
  }
}

const malformedText = ({ malformed }: NumbersCount): ReadonlyArray<string> => [
  ...malformed.listed.slice(0, shownMalformed).map(({ line, reason }) => `  line ${line} ${reason}`),
  ...(malformed.total > shownMalformed
    ? [`  and ${number(malformed.total - shownMalformed)} more malformed lines`]
    : [])
]

/** The file is most likely not a file of numbers; nothing was sent. */
export class FileRefused extends Data.TaggedError("FileRefused")<{
  readonly path: string
  readonly count: NumbersCount
}> {
  override get message(): string {
    const { malformed, numbers } = this.count
    const why =
      malformed.total === 0
        ? "it holds no number"
        : `${number(malformed.total)} of ${number(malformed.total + numbers)} lines are malformed, more than 1 %`
    return [`${this.path} was not taken: ${why}. The inventory is as it was.`, ...malformedText(this.count)].join("\n")
  }
}

/** Reads a file. After each chunk, `flush` processes the numbers that were found. */
const readNumbers = <E, R>(path: string, onNumber: (tn: string) => void, flush: Effect.Effect<void, E, R>) =>
  Effect.gen(function* () {
    const fileSystem = yield* FileSystem.FileSystem
    const reader = makeNumbersReader(onNumber)
    const chunks = Stream.mapError(fileSystem.stream(path), ({ reason }) => {
      const words = { NotFound: "there is no such file", PermissionDenied: "permission is denied" }
      return new FileUnreadable({ path, reason: words[reason._tag as keyof typeof words] ?? "it is no readable file" })
    })
    yield* Stream.runForEach(chunks, (chunk) =>
      Effect.andThen(
        Effect.sync(() => reader.push(chunk)),
        flush
      )
    )
    return reader.end()
  })

/** Counts what the file holds. Fails for a file that is most likely something else. */
const judge = (path: string) =>
  Effect.filterOrFail(
    readNumbers(path, () => {}, Effect.void),
    (count) => !isRefused(count),
    (count) => new FileRefused({ path, count })
  )

const importNumbers = Command.make(
  "import",
  {
    file: Argument.String("file").pipe(
      Argument.withDescription("CSV with a number at the beginning of each line; further columns are ignored")
    ),
    org,
    json,
    ...dataDir
  },
  Effect.fnUntraced(function* (flags) {
    // Judge the file before anything is started for it.
    const count = yield* explained(judge(flags.file))
    return yield* withAdmin(
      flags,
      Effect.gen(function* () {
        const client = yield* AdminClient
        const batch: Array<string> = []
        let added = 0
        const send = (atLeast: number) =>
          Effect.gen(function* () {
            while (batch.length >= atLeast && batch.length > 0) {
              const numbers = batch.splice(0, maximumNumbers)
              added += (yield* client.numbers.add({ params: { id: flags.org }, payload: { numbers } })).added
            }
          })
        yield* readNumbers(flags.file, (tn) => batch.push(tn), send(maximumNumbers))
        yield* send(1)
        yield* flags.json
          ? printJson({ read: count.numbers, added, malformed: count.malformed })
          : Console.log(
              [
                `${flags.file}`,
                `  read ${number(count.numbers)}, added ${number(added)}, malformed ${number(count.malformed.total)}`,
                ...malformedText(count)
              ].join("\n")
            )
      })
    )
  })
).pipe(Command.withDescription("Add the numbers of a file to an organization's inventory"))

const list = Command.make("list", { org, json, ...dataDir }, (flags) =>
  withAdmin(
    flags,
    Effect.gen(function* () {
      const client = yield* AdminClient
      const numbers = yield* everyPage((query) => client.numbers.list({ params: { id: flags.org }, query }))
      yield* flags.json
        ? printJson(numbers)
        : printTable(
            ["NUMBER", "ADDED (UTC)"],
            numbers.map(({ addedAt, tn }) => [tn, shownTime(addedAt)]),
            "No numbers yet. Add some: sluice numbers import <file> --org <id>"
          )
    })
  )
).pipe(Command.withDescription("List an organization's numbers, ascending"))

const remove = Command.make(
  "remove",
  { number: Argument.String("number").pipe(Argument.withDescription("The number, 10 digits")), org, json, ...dataDir },
  (flags) =>
    withAdmin(
      flags,
      Effect.gen(function* () {
        const client = yield* AdminClient
        const { tn } = yield* client.numbers.remove({ params: { id: flags.org, tn: flags.number } })
        yield* flags.json ? printJson({ tn }) : Console.log(`Removed ${tn}.`)
      })
    )
).pipe(Command.withDescription("Take a number out of an organization's inventory"))

export const numbers = Command.make("numbers").pipe(
  Command.withDescription("Import, list and remove organizations' own numbers"),
  Command.withSubcommands([importNumbers, list, remove])
)
