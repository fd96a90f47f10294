/** Measured unit costs (docs/capacity.md says where and how), the loads that the document reckons, and the machine. */
import type { Load, Machine, Units } from "./model.ts"

export const units: Units = {
  costs: {
    request: { nodeMicros: 51, natsMicros: 0, postgresMicros: 0, logBytes: 0, databaseBytes: 0 },
    decision: { nodeMicros: 19, natsMicros: 16, postgresMicros: 4, logBytes: 137, databaseBytes: 0 },
    rare: { nodeMicros: 60, natsMicros: 8, postgresMicros: 19, logBytes: 116, databaseBytes: 0 },
    event: { nodeMicros: 550, natsMicros: 86, postgresMicros: 158, logBytes: 194, databaseBytes: 556 },
    delivery: { nodeMicros: 245, natsMicros: 16, postgresMicros: 75, logBytes: 0, databaseBytes: 1_328 },
    send: { nodeMicros: 3_400, natsMicros: 367, postgresMicros: 652, logBytes: 2_518, databaseBytes: 2_735 }
  },
  organizationBytes: 263,
  residentBytes: 2_100,
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
    perSecond: { request: 10_000, rare: 10_000 },
    organizations: 1_000_000,
    residentShare: 0.2,
    keptDays: 30,
    peak: 2
  }
]
