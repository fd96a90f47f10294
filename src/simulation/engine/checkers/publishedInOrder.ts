/**
 * Checks publishers: each record is in the stream at least once, under an id of its own, and the first messages of an
 * organization's records are in the order of the log (docs/streams.md, "Streams out").
 */
import type { StreamMessage } from "../../../engine/ports/ProgramStreams.ts"
import type { LogRecord } from "../../../engine/records.ts"
import type { Checker } from "../Checker.ts"
import { wantedRecords } from "../programReactors.ts"
import type { Simulation } from "../Simulation.ts"

/** How old a record must be so that it must be published at the end. */
const settledMillis = 2_000

/** The place that the id of a message names; undefined for a message of others. */
const placeOfId = (publisher: string, { headers }: StreamMessage): string | undefined => {
  const id = headers["Nats-Msg-Id"]
  if (id?.startsWith(`${publisher}.`) !== true) return undefined
  return id
    .slice(publisher.length + 1)
    .split(".")
    .slice(0, 3)
    .join("/")
}

const placeOf = ({ index, partition, sequence }: LogRecord): string => `${partition}/${sequence}/${index}`

/** The messages of a publisher, by their records' places, in the order of the stream. */
const firstMessages = ({ stores }: Simulation, publisher: string): ReadonlyMap<string, StreamMessage> => {
  const found = new Map<string, StreamMessage>()
  for (const { messages } of stores.streams.streams.values())
    for (const message of messages) {
      const place = placeOfId(publisher, message)
      if (place !== undefined && !found.has(place)) found.set(place, message)
    }
  return found
}

const isParked = ({ stores }: Simulation, publisher: string, { index, partition, sequence }: LogRecord): boolean =>
  stores.cursors.parked.some(
    (record) =>
      record.reactor === publisher &&
      record.partition === partition &&
      record.sequence === sequence &&
      record.index === index
  )

/** The fault of an organization's records, in the order of the log. */
const problemOf = (
  simulation: Simulation,
  publisher: string,
  records: ReadonlyArray<LogRecord>,
  messages: ReadonlyMap<string, StreamMessage>
): string | undefined => {
  let before: StreamMessage | undefined
  const ids = new Set<string>()
  for (const record of records) {
    const message = messages.get(placeOf(record))
    if (message === undefined) {
      const commit = simulation.truth.commits[record.partition]![record.sequence - 1]!
      if (commit.at > simulation.world.now - settledMillis || isParked(simulation, publisher, record)) continue
      return `${publisher} never published record ${placeOf(record)}`
    }
    const id = message.headers["Nats-Msg-Id"]!
    if (ids.has(id)) return `${publisher} published two records under the id ${id}`
    ids.add(id)
    if (before !== undefined && message.sequence < before.sequence)
      return `${publisher} published record ${placeOf(record)} of ${record.organization} as message ${message.sequence}, before an earlier record`
    before = message
  }
  return undefined
}

export const publishedInOrder: Checker = {
  name: "each record is published",
  make: (simulation, violate) => ({
    healed: () => {
      const engine = simulation.newest()
      if (engine === undefined) return
      for (const publisher of simulation.workload.publishers ?? []) {
        // The workload of the engine has some that nobody can publish.
        const parked = simulation.stores.cursors.parked.find(({ reactor }) => reactor === publisher.name)
        if (parked !== undefined && simulation.workload.isIndigestible === undefined)
          return violate(`${publisher.name} has parked record ${parked.sequence}/${parked.index}: ${parked.error}`)
        const messages = firstMessages(simulation, publisher.name)
        const records = wantedRecords(simulation, engine, publisher).flat()
        for (const group of Map.groupBy(records, ({ organization }) => organization).values()) {
          const problem = problemOf(simulation, publisher.name, group, messages)
          if (problem !== undefined) return violate(problem)
        }
        const known = new Set(records.map(placeOf))
        for (const place of messages.keys())
          if (!known.has(place)) return violate(`${publisher.name} published ${place}, which is no record of the log`)
        if (messages.size > 0) simulation.marks.reach(`stream, published: ${publisher.name}`)
      }
    }
  })
}
