/**
 * Implements `sluice lookup < numbers.csv > results.csv` (docs/platform.md, 4.5): a line for each number, in the order
 * of the input, as it is read. The memory in use does not grow with the input.
 */
import { Effect, Stdio, Stream } from "effect"
import { Command } from "effect/cli"
import { AdminClient } from "../admin/AdminClient.ts"
import type { DirectoryNumber } from "../admin/lookupsApi.ts"
import { makeLineSplitter, splitCsv } from "../directory/index.ts"
import { maximumLookups } from "../telco/numberResult.ts"
import type { TelcoFault } from "../telco/telcoApi.ts"
import { withAdmin } from "./admin.ts"
import { settingFlags } from "./flags.ts"
import { hasNoReader } from "./output.ts"

/** Requests in transit: while one is answered, the next one is written. */
const requestsAtOnce = 2

type Found = typeof DirectoryNumber.Type

const columns: ReadonlyArray<readonly [name: string, of: (found: Found) => string | boolean | null | undefined]> = [
  ["tn", ({ tn }) => tn],
  ["npa", ({ npa }) => npa],
  ["nxx", ({ nxx }) => nxx],
  ["country", ({ country }) => country],
  ["state", ({ state }) => state],
  ["rateCenter", ({ rateCenter }) => rateCenter],
  ["status", ({ status }) => status],
  ["ocn", ({ carrier }) => carrier?.ocn],
  ["companyName", ({ carrier }) => carrier?.companyName],
  ["commonName", ({ carrier }) => carrier?.commonName],
  ["carrierType", ({ carrier }) => carrier?.carrierType],
  ["pooled", ({ pooled }) => pooled],
  ["carrierBasis", ({ carrierBasis }) => carrierBasis],
  ["timeZones", ({ timeZones }) => timeZones.join(" ")]
]

const header = ["number", ...columns.map(([name]) => name), "error"].join(",")

const cellOf = (value: string | boolean | null | undefined): string => {
  const text = String(value ?? "")
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

const lineOf = (number: string, result: Found | typeof TelcoFault.Type): string => {
  const [found, error] = "error" in result ? [undefined, result.message] : [result, null]
  return [number, ...columns.map(([, of]) => found && of(found)), error].map(cellOf).join(",")
}

/** The first cell of each line, or the line where it cannot be split. A first line without a digit is a heading. */
const makeNumbers = () => {
  let waiting: Array<string> = []
  const splitter = makeLineSplitter({
    line: (text, line) => {
      if (text.trim() === "") return
      const cells = splitCsv(text)
      const first = typeof cells === "string" ? text : (cells[0] ?? "")
      if (line > 1 || /\d/.test(first)) waiting.push(first)
    },
    // No number, which the result says.
    malformed: () => waiting.push("")
  })
  const take = () => {
    const taken = waiting
    waiting = []
    return taken
  }
  return {
    push: (chunk: Uint8Array) => {
      splitter.push(chunk)
      return take()
    },
    end: () => {
      splitter.end()
      return take()
    }
  }
}

export const lookup = Command.make("lookup", { dataDir: settingFlags.dataDir }, (flags) =>
  withAdmin(
    flags,
    Effect.gen(function* () {
      const client = yield* AdminClient
      const stdio = yield* Stdio.Stdio
      const numbers = makeNumbers()
      const results = stdio.stdin.pipe(
        Stream.flatMap((chunk) => Stream.fromIterable(numbers.push(chunk))),
        Stream.concat(Stream.suspend(() => Stream.fromIterable(numbers.end()))),
        Stream.grouped(maximumLookups),
        Stream.mapEffect(
          (batch) =>
            Effect.map(client.lookups.run({ payload: { numbers: batch } }), ({ data }) =>
              batch.map((number, at) => `${lineOf(number, data[at]!)}\n`).join("")
            ),
          { concurrency: requestsAtOnce }
        )
      )
      const lines = Stream.concat(Stream.succeed(`${header}\n`), results)
      yield* Effect.catchIf(Stream.run(lines, stdio.stdout({ endOnDone: false })), hasNoReader, () => Effect.void)
    })
  )
).pipe(Command.withDescription("Look up the numbers of a CSV file on stdin in the directory, and write CSV to stdout"))
