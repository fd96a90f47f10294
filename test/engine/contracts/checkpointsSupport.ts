/** Helpers for the contract of `Checkpoints`. Each test takes a partition that no other one uses. */
import { Effect } from "effect"
import type { ActorAddress } from "../../../src/engine/address.ts"
import { type ActorRow, type CheckpointRecord, Checkpoints } from "../../../src/engine/ports/Checkpoints.ts"

let nextPartition = 0

export const fresh = Effect.map(Checkpoints, (checkpoints) => ({ checkpoints, partition: nextPartition++ }))

export const recordAt = (partition: number, sequence: number): CheckpointRecord => ({
  partition,
  sequence,
  hash: sequence.toString(16).padStart(64, "0"),
  epoch: 3,
  number: sequence * 2,
  now: 1_763_632_000_000 + sequence,
  signalSequence: sequence * 10
})

export const address = (key: string, organization = "org_1", kind = "account"): ActorAddress => ({
  organization,
  kind,
  key
})

export const row = (key: string, sequence: number, state: unknown, wakeAt: number | null = null): ActorRow => ({
  ...address(key),
  sequence,
  version: 1,
  state: state === null ? null : JSON.stringify(state),
  wakeAt,
  expiresAt: null
})

/** A row that means nothing from `expiresAt` on. */
export const passing = (key: string, sequence: number, expiresAt: number): ActorRow => ({
  ...row(key, sequence, sequence),
  expiresAt
})

export const save = (
  checkpoints: Checkpoints["Service"],
  partition: number,
  previous: number,
  sequence: number,
  rows: Iterable<ActorRow>
) => checkpoints.save({ record: recordAt(partition, sequence), previous, rows })

export const byKey = (rows: ReadonlyArray<ActorRow>) => [...rows].sort((left, right) => (left.key < right.key ? -1 : 1))

export const states = (rows: ReadonlyArray<ActorRow>) =>
  byKey(rows).map((found) => [found.key, found.sequence, found.state])

export const names = (rows: ReadonlyArray<ActorAddress>) => rows.map((found) => found.key)
