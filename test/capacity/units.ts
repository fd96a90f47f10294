/** Measured unit costs (docs/capacity.md says where and how), the loads that the document reckons, and the machine. */
import type { Load, Machine, Units } from "./model.ts"

export const units: Units = {
  costs: {
    request: { nodeMicros: 85, natsMicros: 0, postgresMicros: 0, logBytes: 0, databaseBytes: 0 },
    decision: { nodeMicros: 19, natsMicros: 16, postgresMicros: 4, logBytes: 137, databaseBytes: 0 },
    event: { nodeMicros: 1_655, natsMicros: 115, postgresMicros: 305, logBytes: 196, databaseBytes: 573 },
    delivery: { nodeMicros: 245, natsMicros: 16, postgresMicros: 100, logBytes: 0, databaseBytes: 1_389 },
    send: { nodeMicros: 8_517, natsMicros: 433, postgresMicros: 933, logBytes: 2_558, databaseBytes: 2_225 }
  },
  organizationBytes: 250,
  residentBytes: 1_900,
  framesPerSecond: 9_000,
  partitionPerSecond: 40_000
}

export const machine: Machine = { cores: 16, busy: 0.6, memoryBytes: 64 * 1024 ** 3 }

export const loads: ReadonlyArray<Load> = [
  {
    name: "10,000 sends a second",
    perSecond: { send: 10_000, delivery: 20_000 },
    organizations: 10_000,
    residentShare: 1,
    keptDays: 30,
    peak: 1
  },
  {
    name: "a billion events a day",
    perSecond: { event: 11_574, delivery: 11_574 },
    organizations: 10_000,
    residentShare: 1,
    keptDays: 30,
    peak: 2
  },
  {
    name: "a million organizations",
    perSecond: { request: 10_000, decision: 10_000 },
    organizations: 1_000_000,
    residentShare: 0.2,
    keptDays: 30,
    peak: 2
  }
]
