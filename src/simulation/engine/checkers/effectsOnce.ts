/**
 * Checks that SQL effects happen exactly once, other effects at least once; a record that cannot be processed is
 * parked, and with it its organization (docs/architecture.md, rule 11).
 */
import { isInternalKind } from "../../../engine/internalActor.ts"
import type { Checker } from "../Checker.ts"
import { booksName, placeOfRecord } from "../SqlEffects.ts"

/** How old a record must be so that the reactor must have processed it at the end. */
const settledMillis = 2_000

export const effectsOnce: Checker = {
  name: "effects once",
  make: (simulation, violate) => {
    const { books, stores, truth } = simulation
    const lastOf = new Map<string, string>()
    const parkedAt = (partition: number, sequence: number, index: number) =>
      stores.cursors.parked.some(
        (record) =>
          record.partition === partition &&
          record.reactor === booksName &&
          record.sequence === sequence &&
          record.index === index
      )
    return {
      effected: (record) => {
        const place = placeOfRecord(record)
        if ((books.entries.get(place) ?? 0) > 1) return violate(`the SQL effects of record ${place} happened twice`)
        if (parkedAt(record.partition, record.sequence, record.index))
          return violate(`record ${place} is parked, and its SQL effects happened`)
        const stored = truth.commits[record.partition]![record.sequence - 1]?.frame.records[record.index]
        if (stored === undefined) return violate(`record ${place} is in no frame`)
        const actor = simulation.workload.actors.find(({ kind }) => kind === record.kind)!
        const seen = record._tag === "Fact" ? actor.encodeFact(record.fact) : record.event
        const wanted =
          record._tag !== "Fact"
            ? stored.event
            : stored.actor.version === actor.version
              ? stored.fact
              : actor.encodeFact(actor.decodeFact(stored.fact, stored.actor.version))
        if (JSON.stringify(seen) !== JSON.stringify(wanted)) {
          return violate(
            `the reactor was given ${JSON.stringify(seen)} for record ${place}, the log has ${JSON.stringify(wanted)}`
          )
        }
        const organization = `${record.partition}/${record.organization}`
        const before = lastOf.get(organization)
        const order = String(record.sequence).padStart(9, "0") + String(record.index).padStart(6, "0")
        if (before !== undefined && before >= order)
          return violate(`record ${place} was dealt with after a later one of ${record.organization}`)
        lastOf.set(organization, order)
      },
      healed: () => {
        for (const [partition, commits] of truth.commits.entries()) {
          for (const { at, frame, sequence } of commits) {
            // A timer may ring at the very end.
            if (at > simulation.world.now - settledMillis) continue
            for (let index = 0; index < frame.records.length; index++) {
              const { actor, message } = frame.records[index]!
              if (isInternalKind(actor.kind) || message !== undefined) continue
              const place = `${partition}/${sequence}/${index}`
              if (books.entries.has(place)) {
                if (!books.deeds.has(place)) return violate(`the work of record ${place} was never done`)
                continue
              }
              if (!parkedAt(partition, sequence, index))
                return violate(`the SQL effects of record ${place} never happened`)
            }
          }
        }
      }
    }
  }
}
