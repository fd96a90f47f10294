/**
 * Three rounds of the cluster test (`npm run test:cluster` runs twenty, and judges the times): a process, a machine and PostgreSQL fail once each.
 */
import { expect, it } from "vitest"
import { playBriefly } from "../support/longRun.ts"
import { needing } from "../support/needs.ts"
import { describeReport, faults, runCluster } from "./run.ts"

/** For a machine that does much else. */
const runMillis = 600_000

/** Callers ask seldom enough to leave the machine time for the nodes. */
const restMillis = 150

const chosen = ["a node is killed", "a machine's cable is pulled", "PostgreSQL is restarted"]

it("[platform 8.4] kept every answered decision, once, and served every partition again, through faults", {
  ...needing("namespaces"),
  timeout: runMillis
}, async () => {
  const wanted = faults.filter(({ name }) => chosen.includes(name))
  const report = await playBriefly((means) => runCluster({ ...means, faults: wanted, restMillis }), describeReport)
  expect(report.violations).toEqual([])
  expect(report.rounds.map(({ fault }) => fault)).toEqual(chosen)
  expect(report.answered).toBeGreaterThan(1_000)
})
