/** `node test/capacity/tables.ts`: the tables of docs/capacity.md, from the model and the costs. */
import { kinds, type Load, needsOf } from "./model.ts"
import { loads, machine, units } from "./units.ts"

const row = (cells: ReadonlyArray<string>): string => `| ${cells.join(" | ")} |`

const table = (head: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>): string =>
  [row(head), `|${head.map(() => "---").join("|")}|`, ...rows.map(row)].join("\n")

const count = (value: number): string => Math.round(value).toLocaleString("en-US")

const bytes = (value: number): string => {
  if (value >= 1e12) return `${(value / 1e12).toFixed(1)} TB`
  if (value >= 1e9) return `${(value / 1e9).toFixed(1)} GB`
  return `${(value / 1e6).toFixed(0)} MB`
}

const costs = (): string =>
  table(
    ["one", "Sluice, us", "NATS, us", "PostgreSQL, us", "log, bytes", "database, bytes"],
    kinds.map((kind) => {
      const { databaseBytes, logBytes, natsMicros, nodeMicros, postgresMicros } = units.costs[kind]
      return [kind, ...[nodeMicros, natsMicros, postgresMicros, logBytes, databaseBytes].map(count)]
    })
  )

const needs = (load: Load): ReadonlyArray<string> => {
  const found = needsOf(load, units, machine)
  return [
    load.name,
    `${found.nodeCores.toFixed(1)} cores, ${found.nodes} nodes`,
    `${count(found.framesPerSecond)} frames/s, ${found.natsCores.toFixed(1)} cores, ${found.natsServers} servers`,
    `${found.postgresCores.toFixed(1)} cores`,
    count(found.partitions),
    bytes(found.logBytesPerDay),
    bytes(found.databaseBytes),
    bytes(found.residentBytes),
    `${found.limit.what}: ${(100 * found.limit.share).toFixed(0)} %`
  ]
}

/** Each table as it stands in the document. */
export const tables = (): ReadonlyArray<string> => [
  costs(),
  table(
    [
      "load",
      "nodes",
      "NATS",
      "PostgreSQL",
      "partitions",
      "log a day, a copy",
      "database",
      "in memory",
      "nearest limit"
    ],
    loads.map(needs)
  )
]

if (import.meta.main) process.stdout.write(`${tables().join("\n\n")}\n`)
