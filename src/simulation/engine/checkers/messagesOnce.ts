/**
 * Checks that each message of an ingest's stream, and each signal, counts once: its facts are stored once, those of an
 * organization in the order of the stream, and none is left out at the end but those that are parked (docs/streams.md).
 */
import { addresseeOf, type Ingest, parkedNameOf } from "../../../engine/ingestRules.ts"
import type { StreamMessage } from "../../../engine/ports/ProgramStreams.ts"
import type { Checker } from "../Checker.ts"
import type { Decided } from "../Decisions.ts"
import type { Simulation } from "../Simulation.ts"

/** Whether a message means a command of this partition. */
const isMeant = (ingest: Ingest, message: StreamMessage, partition: number, partitions: number): boolean => {
  if (addresseeOf(ingest, message, partition, partitions)._tag !== "Ours") return false
  try {
    return ingest.toCommand(message) !== undefined
  } catch {
    return true
  }
}

const isParked = ({ stores }: Simulation, ingest: string, sequence: number): boolean =>
  stores.cursors.parked.some((record) => record.reactor === parkedNameOf(ingest) && record.sequence === sequence)

export const messagesOnce: Checker = {
  name: "each message counts once",
  make: (simulation, violate) => {
    /** The last decision upon each message, and the frame that has its facts. */
    const last = new Map<string, Decided>()
    const storedIn = new Map<string, number>()
    const newest = new Map<string, number>()
    return {
      decided: (decided) => {
        const message = simulation.meaningOf(decided.command)
        if (message !== undefined) last.set(`${message.source}/${message.sequence}`, decided)
      },
      committed: ({ decisions, sequence }) => {
        for (const decided of decisions) {
          const message = simulation.meaningOf(decided.command)
          if (message === undefined) continue
          const { source } = message
          const name = `${source}/${message.sequence}`
          const before = storedIn.get(name)
          if (before !== undefined)
            return violate(`message ${message.sequence} of ${source} is in frame ${before}, and again in ${sequence}`)
          storedIn.set(name, sequence)
          simulation.marks.reach(`stream, decided: ${source}`)
          const order = `${source}/${decided.organization}`
          const latest = newest.get(order) ?? 0
          if (message.sequence < latest)
            return violate(
              `message ${message.sequence} of ${source} was decided behind message ${latest} of ${decided.organization}`
            )
          newest.set(order, message.sequence)
        }
      },
      healed: () => {
        const { partitions } = simulation.scenario.topology
        const engine = simulation.newest()
        for (const ingest of simulation.workload.ingests ?? []) {
          for (const partition of engine?.partitions() ?? []) {
            const { reason, state } = partition.ingestProgress(ingest.name)
            if (state === "stopped") return violate(`the ingest ${ingest.name} has stopped: ${reason}`)
            for (const message of simulation.stores.streams.streams.get(ingest.stream)?.messages ?? []) {
              // A function that answers otherwise another time may have left it out since.
              const wasMeant = simulation.meant.get(ingest.name)?.has(message.sequence) === true
              if (!wasMeant && !isMeant(ingest, message, partition.id, partitions)) continue
              const name = `${ingest.name}/${message.sequence}`
              const decided = last.get(name)
              const isDone = storedIn.has(name) || decided?.records.length === 0
              if (!isDone && !isParked(simulation, ingest.name, message.sequence))
                return violate(
                  `message ${message.sequence} of ${ingest.name} ${decided === undefined ? "was never decided" : "was decided, and nothing of it is stored"}`
                )
            }
          }
        }
      }
    }
  }
}
