/**
 * Implements `sluice ingest <file-or-URL>…`: reads published numbering files of any kind into the platform's directory.
 * Shows a progress bar on a terminal and plain lines elsewhere, and ends with a summary for each file.
 */
import { basename, join, resolve } from "node:path"
import { Clock, Console, Data, Effect, Stream } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { AdminClient } from "../admin/AdminClient.ts"
import { maximumSources } from "../admin/adminApi.ts"
import { bundledSources } from "../directory/files/bundledSources.ts"
import { isAddress } from "../directory/files/download.ts"
import type {
  IngestionEvent,
  IngestionProgress,
  IngestionRecord,
  IngestionSummary
} from "../directory/ingestionSchema.ts"
import { withAdmin } from "./admin.ts"
import { json, settingFlags } from "./flags.ts"
import { explained, printJson, printTable } from "./output.ts"

/** Cells of the progress bar. */
const barWidth = 24
/** The shortest time between two plain lines. */
const plainLineMillis = 1_000
/** Malformed lines that are printed; the summary counts all. */
const shownMalformed = 10

/** Area codes that are printed; the summary as JSON has all. */
const shownAreaCodes = 10

/** The command's arguments do not fit together. */
export class NoOrder extends Data.TaggedError("NoOrder")<{ readonly message: string }> {}

/** Checks the command's arguments before anything is started for it. */
const requireOrder = (sources: number, list: boolean): Effect.Effect<void, NoOrder> => {
  const fault = list
    ? sources > 0 && "--list takes no files: it shows what was ingested."
    : sources === 0
      ? "Name at least one file or address to ingest, or use --list to see what was ingested."
      : sources > maximumSources &&
        `At most ${maximumSources} files or addresses can be ingested at once, not ${sources}.`
  return fault === false ? Effect.void : Effect.fail(new NoOrder({ message: fault }))
}

/** At least one file was not taken; the reason was printed before. */
export class IngestionRefused extends Data.TaggedError("IngestionRefused")<{
  readonly refused: number
  readonly of: number
}> {
  override get message(): string {
    return this.of === 1
      ? "The file was not taken; the stored data is as it was."
      : `${this.refused} of ${this.of} files were not taken; their stored data is as it was.`
  }
}

const number = (value: number) => value.toLocaleString("en-US")

const progressText = ({ detail, fraction, phase, rows }: IngestionProgress, bar: boolean): string => {
  const share = fraction === null ? "" : `${String(Math.floor(fraction * 100)).padStart(bar ? 3 : 0)} % `
  const filled = Math.round((fraction ?? 0) * barWidth)
  const cells = bar && fraction !== null ? `[${"#".repeat(filled)}${".".repeat(barWidth - filled)}] ` : ""
  if (phase === "waiting") return `waiting: ${detail ?? "others are at work"}`
  return phase === "opening" ? phase : `${cells}${share}${phase}, ${number(rows)} records`
}

const areaCodes = (codes: ReadonlyArray<string>): string => {
  const others = codes.length - shownAreaCodes
  const shown = codes.slice(0, shownAreaCodes).join(", ")
  return `area code${codes.length === 1 ? "" : "s"} ${shown}${others > 0 ? ` and ${number(others)} more` : ""}`
}

type Change = IngestionSummary["changes"][number]

const shownValue = (value: unknown): string => (value === null || value === undefined ? "-" : JSON.stringify(value))

/** The fields of a record that differ; all that are not null of a record that comes or goes. */
const changeText = ({ after, before, change, key }: Change): string => {
  const names = Object.keys(after ?? before ?? {})
  const fields = names.flatMap((name) => {
    const [was, is] = [shownValue(before?.[name]), shownValue(after?.[name])]
    if (change === "changed") return was === is ? [] : [`${name} ${was} -> ${is}`]
    const one = change === "added" ? is : was
    return one === "-" ? [] : [`${name} ${one}`]
  })
  return `  ${{ added: "+", changed: "~", removed: "-" }[change]} ${key}  ${fields.join(", ")}`
}

const diffText = ({ added, changed, changes, removed }: IngestionSummary): ReadonlyArray<string> => {
  const others = added + changed + removed - changes.length
  if (changes.length === 0) return others === 0 ? [] : ["  all of it is new: the first file of its kind"]
  return [...changes.map(changeText), ...(others > 0 ? [`  and ${number(others)} more changes`] : [])]
}

const summaryText = (summary: IngestionSummary, diff: boolean): string => {
  const { malformed } = summary
  const lines = [
    `${summary.source}`,
    `  ${summary.kind}${summary.publicationDate === null ? "" : `, published ${summary.publicationDate}`}`,
    `  read ${number(summary.read)}, added ${number(summary.added)}, changed ${number(summary.changed)}, removed ${number(summary.removed)}, malformed ${number(malformed.total)}, ${(summary.durationMillis / 1000).toFixed(1)} s`,
    ...malformed.listed.slice(0, shownMalformed).map(({ line, reason }) => `  line ${line}: ${reason}`),
    ...(malformed.total > shownMalformed
      ? [`  and ${number(malformed.total - shownMalformed)} more malformed lines`]
      : []),
    ...(summary.kept === 0 ? [] : [`  kept ${number(summary.kept)} that malformed lines may be about`]),
    ...(summary.retired.length === 0 ? [] : [`  retired ${areaCodes(summary.retired)}`]),
    ...(summary.leftOut.length === 0 ? [] : [`  not in the file, and kept: ${areaCodes(summary.leftOut)}`]),
    ...(diff ? diffText(summary) : []),
    ...(summary.dryRun ? ["  dry run: nothing was stored"] : []),
    ...(summary.refusal === null ? [] : [`  would not be taken: ${summary.refusal}`])
  ]
  return lines.join("\n")
}

/** Shows progress: on a terminal by drawing over the last line, elsewhere by a line now and then. */
const makeReporter = (terminal: boolean) => {
  let lastLineAt = 0
  let lastPhase = ""
  return {
    progress: Effect.fnUntraced(function* (event: IngestionProgress) {
      if (terminal) {
        yield* Effect.sync(() => process.stderr.write(`\r\u001b[2K${progressText(event, true)}`))
        return
      }
      const now = yield* Clock.currentTimeMillis
      const phase = `${event.source} ${event.phase}`
      if (phase === lastPhase && now - lastLineAt < plainLineMillis) return
      lastLineAt = now
      lastPhase = phase
      yield* Console.error(`${event.source}: ${progressText(event, false)}`)
    }),
    clear: Effect.sync(() => {
      if (terminal) process.stderr.write("\r\u001b[2K")
    })
  }
}

const bundledNames = new Set(bundledSources.map(({ path }) => basename(path)))

/** Bundled files are shown by their names, wherever the package lay when they were read. */
const shownSource = (source: string): string => {
  const name = basename(source)
  return bundledNames.has(name) && source.endsWith(join("directory", "data", name)) ? `${name} (bundled)` : source
}

const listed = (records: ReadonlyArray<IngestionRecord>) =>
  printTable(
    ["WHEN (UTC)", "KIND", "PUBLISHED", "READ", "ADDED", "CHANGED", "REMOVED", "MALFORMED", "SOURCE"],
    records.map((record) => [
      record.finishedAt.replace("T", " ").slice(0, 16),
      record.kind,
      record.publicationDate ?? "-",
      ...[record.read, record.added, record.changed, record.removed, record.malformed].map(number),
      shownSource(record.source)
    ]),
    "Nothing was ingested yet."
  )

export const ingest = Command.make(
  "ingest",
  {
    sources: Argument.String("file-or-URL").pipe(
      Argument.withDescription(
        "Published numbering files: NANPA or CNAC codes, thousands blocks, carrier types, the NPA report; gz and zip too"
      ),
      Argument.variadic()
    ),
    dryRun: Flag.Boolean("dry-run").pipe(
      Flag.withDescription("Show the difference and store nothing"),
      Flag.withDefault(false)
    ),
    allowOlder: Flag.Boolean("allow-older").pipe(
      Flag.withDescription("Take a file although a newer publication is in force"),
      Flag.withDefault(false)
    ),
    allowRemovals: Flag.Int("allow-removals").pipe(
      Flag.withDescription("Take a file that removes up to so many records, more than 5 % of what is stored"),
      Flag.withDefault(0)
    ),
    retire: Flag.String("retire").pipe(
      Flag.withDescription("Remove this area code, which the files leave out; may be given several times"),
      Flag.atLeast(0)
    ),
    diff: Flag.Boolean("diff").pipe(
      Flag.withDescription("Show the first 100 records that a file adds (+), changes (~) and removes (-)"),
      Flag.withDefault(false)
    ),
    list: Flag.Boolean("list").pipe(
      Flag.withDescription("List what was ingested when, with the publication date"),
      Flag.withDefault(false)
    ),
    json,
    dataDir: settingFlags.dataDir
  },
  Effect.fnUntraced(function* (flags) {
    yield* explained(requireOrder(flags.sources.length, flags.list))
    return yield* withAdmin(
      flags,
      Effect.gen(function* () {
        const client = yield* AdminClient
        if (flags.list) {
          const { data } = yield* client.ingestions.list({ query: {} })
          return yield* flags.json ? printJson(data) : listed(data)
        }
        // The running platform has another working folder, so paths must be absolute.
        const sources = flags.sources.map((source) => (isAddress(source) ? source : resolve(source)))
        const [first, ...others] = sources
        const events = yield* client.ingestions.run({
          payload: {
            sources: [first!, ...others],
            dryRun: flags.dryRun,
            allowOlder: flags.allowOlder,
            allowRemovals: flags.allowRemovals,
            retire: flags.retire
          }
        })
        const reporter = makeReporter(process.stderr.isTTY === true && !flags.json)
        let refused = 0
        yield* Stream.runForEach(events, (event: IngestionEvent) => {
          if (event._tag === "Progress") return flags.json ? Effect.void : reporter.progress(event)
          if (event._tag === "Failed") refused++
          return Effect.andThen(
            reporter.clear,
            flags.json
              ? printJson(event)
              : event._tag === "Ingested"
                ? Console.log(summaryText(event, flags.diff))
                : Console.error(
                    // A failure's sentence begins with its source.
                    event._tag === "Failed"
                      ? `Not taken: ${event.message}`
                      : `Skipped: ${event.source}: ${event.reason}`
                  )
          )
        })
        if (refused > 0) return yield* new IngestionRefused({ refused, of: sources.length })
      }),
      { begins: !flags.list }
    )
  })
).pipe(Command.withDescription("Read published numbering files into the directory"))
