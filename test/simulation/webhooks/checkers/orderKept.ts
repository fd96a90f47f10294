/**
 * The deliveries of a line go one after the other, in the order of their places: an attempt begins only when every earlier
 * delivery is over, for the process that makes it or in the store, and no other one of the line is under way there. What
 * a crash repeats comes again in order: nothing is attempted behind a later one that is recorded. A retry by hand is
 * outside of its line.
 */
import type { Checker, Lined, Sent } from "../Observer.ts"

const isBefore = (one: Lined, other: Lined): boolean =>
  one.sequence < other.sequence || (one.sequence === other.sequence && one.index < other.index)

export const orderKept: Checker = {
  name: "the order is kept",
  make: (simulation, violate) => {
    const lines = new Map<string, Array<Lined>>()
    const byId = new Map<string, Lined>()
    /** Deliveries that are over in the store, and those that are over for a process, by its number. */
    const recorded = new Set<string>()
    const told = new Map<string, number>()
    const deleted = new Set<string>()
    const sends = new Map<string, Array<{ readonly sent: Sent; readonly process: number }>>()
    const isOver = ({ id }: Lined): boolean => {
      const process = simulation.processes
      if (recorded.has(id) || told.get(id) === process) return true
      return (sends.get(id) ?? []).some((one) => one.process === process && one.sent.status === 200)
    }
    const isUnderWay = ({ id }: Lined): boolean =>
      (sends.get(id) ?? []).some(({ process, sent }) => process === simulation.processes && sent.status === undefined)
    return {
      lined: (lined) => {
        const name = `${lined.endpointId} ${lined.line}`
        const line = lines.get(name) ?? []
        lines.set(name, line)
        line.push(lined)
        byId.set(lined.id, lined)
      },
      decided: (endpointId, command) => {
        if (command._tag === "Delete") deleted.add(endpointId)
        if (command._tag === "RecordFailure") told.set(command.deliveryId, simulation.processes)
      },
      recorded: ({ delivery: { id }, result }) => {
        if (result._tag === "Settled") recorded.add(id)
      },
      sent: (sent) => {
        const { deliveryId, endpointId } = sent
        const own = byId.get(deliveryId)
        if (own !== undefined && !deleted.has(endpointId) && !simulation.retried.has(deliveryId))
          for (const other of lines.get(`${endpointId} ${own.line}`)!) {
            if (other.id === deliveryId || simulation.retried.has(other.id)) continue
            if (isUnderWay(other)) violate(`${deliveryId} is attempted beside ${other.id} of its line`)
            if (isBefore(other, own) && !isOver(other)) violate(`${deliveryId} is attempted before ${other.id} is over`)
            if (isBefore(own, other) && recorded.has(other.id))
              violate(`${deliveryId} is attempted although the later ${other.id} is recorded`)
            simulation.marks.reach(sends.has(deliveryId) ? "a line, again" : "a line")
          }
        const known = sends.get(deliveryId) ?? []
        sends.set(deliveryId, known)
        known.push({ sent, process: simulation.processes })
      }
    }
  }
}
