/**
 * Implements `sluice suppressions export | import` (docs/platform.md, 9.15), with an API key, over HTTP. An import reads
 * its whole file first and sends nothing of one that is something else. Its parts are safe to repeat, so an import that
 * broke off can simply run again.
 */
import { Console, Data, Effect, FileSystem, Option, Redacted, Schedule, Stdio, Stream } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { FetchHttpClient, HttpClientError } from "effect/http"
import { make as makeClient } from "../api/client.ts"
import type { Config } from "../config/settings.ts"
import { findRunning } from "../embedded/dataFolder.ts"
import { origins } from "../send/account/suppressions/suppression.ts"
import {
  isRefused,
  makeSuppressionsReader,
  maximumFileAddresses,
  type SuppressionsCount
} from "../send/account/suppressions/suppressionsFile.ts"
import { maximumEmails } from "../send/limits.ts"
import { configuration, json, settingFlags } from "./flags.ts"
import { explained, hasNoReader, printJson } from "./output.ts"

/** The pause before a part is sent again, and how often: a minute of the request rate passes meanwhile. */
const repeatPauseMillis = 2_000
const repeats = 60

/** Malformed lines that are printed; the summary counts all. */
const shownMalformed = 10

const number = (value: number) => value.toLocaleString("en-US")

/** The command cannot do what it was asked for. */
export class SuppressionsRefused extends Data.TaggedError("SuppressionsRefused")<{ readonly message: string }> {}

const refuse = (message: string) => Effect.fail(new SuppressionsRefused({ message }))

const flags = {
  apiKey: Flag.String("api-key").pipe(
    Flag.withDescription("Key of the account, with the service send; default: SLUICE_API_KEY"),
    Flag.optional
  ),
  apiUrl: Flag.String("url").pipe(
    Flag.withDescription("Where the platform's API listens; SLUICE_API_URL"),
    Flag.optional
  ),
  dataDir: settingFlags.dataDir
}

const malformedText = ({ malformed }: SuppressionsCount): ReadonlyArray<string> => [
  ...malformed.listed.slice(0, shownMalformed).map(({ line, reason }) => `  line ${line} ${reason}`),
  ...(malformed.total > shownMalformed
    ? [`  and ${number(malformed.total - shownMalformed)} more malformed lines`]
    : [])
]

const refusalOf = (path: string, count: SuppressionsCount): string => {
  const why = count.isTooLong
    ? `it has more than ${number(maximumFileAddresses)} addresses; split it`
    : count.malformed.total === 0
      ? "it has no address"
      : `${number(count.malformed.total)} of its lines are malformed, more than have an address`
  return [`${path} was not imported: ${why}. The list is as it was.`, ...malformedText(count)].join("\n")
}

/** The addresses of a file that is one. */
const addressesIn = Effect.fnUntraced(function* (path: string) {
  const fileSystem = yield* FileSystem.FileSystem
  const reader = makeSuppressionsReader()
  yield* Stream.runForEach(fileSystem.stream(path), (chunk) => Effect.sync(() => reader.push(chunk))).pipe(
    Effect.catch(({ reason }) => refuse(`${path} cannot be read (${reason._tag})`))
  )
  const found = reader.end()
  return isRefused(found.count) ? yield* refuse(refusalOf(path, found.count)) : found
})

/** Whether a repeat may succeed: the platform was not reached, is busy, or the rate is used up. */
const isPassing = (error: unknown): boolean => {
  if (HttpClientError.isHttpClientError(error)) return true
  const tag = typeof error === "object" && error !== null && "_tag" in error ? error._tag : undefined
  return tag === "NestedUnavailable" || tag === "NestedRateLimited"
}

const clientOf = Effect.fnUntraced(function* (config: Config, given: Option.Option<string>) {
  const key = Option.isSome(given) ? Redacted.make(given.value) : config.apiKey
  if (key === undefined) return yield* refuse("A key is needed: give --api-key or set SLUICE_API_KEY.")
  if (config.apiUrl !== undefined) return yield* makeClient({ baseUrl: config.apiUrl, apiKey: key })
  const running = yield* findRunning(config.dataDir)
  return Option.isSome(running)
    ? yield* makeClient({ baseUrl: running.value.apiUrl, apiKey: key })
    : yield* refuse("No platform is running in the data folder; name one with --url or SLUICE_API_URL.")
})

/** Runs a command with the client of its account. */
const withClient = <A, E, R>(
  given: {
    readonly apiKey: Option.Option<string>
    readonly apiUrl: Option.Option<string>
    readonly dataDir: Option.Option<string>
  },
  use: (client: Effect.Success<ReturnType<typeof makeClient>>) => Effect.Effect<A, E, R>
) =>
  Effect.flatMap(configuration({ apiUrl: given.apiUrl, dataDir: given.dataDir }), (config) =>
    explained(
      clientOf(config, given.apiKey).pipe(Effect.flatMap(use), Effect.provide(FetchHttpClient.layer)),
      config.dataDir
    )
  )

const exportList = Command.make(
  "export",
  {
    origin: Flag.Literals("origin", origins).pipe(
      Flag.withDescription("Addresses of this origin alone"),
      Flag.optional
    ),
    ...flags
  },
  (given) =>
    withClient(given, (client) =>
      Effect.gen(function* () {
        const stdio = yield* Stdio.Stdio
        const query = Option.isSome(given.origin) ? { origin: given.origin.value } : {}
        const bytes = yield* client.sendSuppressions.export({ query })
        yield* Effect.catchIf(Stream.run(bytes, stdio.stdout({ endOnDone: false })), hasNoReader, () => Effect.void)
      })
    )
).pipe(Command.withDescription("Write the account's suppression list to stdout as CSV"))

const importFile = Command.make(
  "import",
  {
    file: Argument.String("file").pipe(
      Argument.withDescription("CSV with an address in each line, in the column email or in the first one")
    ),
    json,
    ...flags
  },
  Effect.fnUntraced(function* (given) {
    const { addresses, count } = yield* explained(addressesIn(given.file))
    return yield* withClient(given, (client) =>
      Effect.gen(function* () {
        for (let at = 0; at < addresses.length; at += maximumEmails)
          yield* client.sendSuppressions
            .addBatch({ headers: {}, payload: { emails: addresses.slice(at, at + maximumEmails) } })
            .pipe(Effect.retry({ schedule: Schedule.spaced(repeatPauseMillis), times: repeats, while: isPassing }))
        yield* given.json
          ? printJson({ addresses: count.addresses, repeated: count.repeated, malformed: count.malformed })
          : Console.log(
              [
                `${number(count.addresses)} addresses are on the list (${number(count.repeated)} lines repeat one, ${number(count.malformed.total)} are malformed)`,
                ...malformedText(count)
              ].join("\n")
            )
      })
    )
  })
).pipe(Command.withDescription("Add the addresses of a file to the account's suppression list"))

/** `sluice suppressions`. */
export const suppressions = Command.make("suppressions").pipe(
  Command.withDescription("Export and import the addresses that an account does not send to"),
  Command.withSubcommands([exportList, importFile])
)
