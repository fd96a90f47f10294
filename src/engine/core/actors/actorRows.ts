/**
 * Encodes actors' states for the checkpoints' rows and reads them back. Facts that cannot be folded are kept in the row
 * until a program that can fold them runs (docs/architecture.md, rule 17).
 */
import type { AnyActor } from "../../Actor.ts"
import { formatAddress } from "../../address.ts"
import { describe } from "../../describe.ts"
import type { ActorRow } from "../../ports/Checkpoints.ts"
import type { RememberedKey } from "../keys/KeyTable.ts"
import { checkState, isOver, wakeAtOf } from "../ruleChecks.ts"
import type { Cell } from "./Organization.ts"

/** The version of rows with facts that could not be folded; definitions begin at 1. */
export const unreadableVersion = 0

/**
 * The content of such a row: the last good state with its version (the initial state when absent), and the facts since.
 */
interface Kept {
  readonly v: number
  readonly s?: unknown
  readonly f: ReadonlyArray<readonly [version: number, fact: unknown]>
}

/** A fact as the log holds it. */
export interface StoredFact {
  readonly version: number
  readonly fact: unknown
}

/**
 * Encodes a state. Every folded state can be encoded; only an initial state that its schema refuses cannot, and is made
 * again when read.
 */
const encoded = (actor: AnyActor, state: unknown): { readonly s?: unknown } => {
  try {
    return { s: actor.encodeState(state) }
  } catch {
    return {}
  }
}

/** The row's text for an actor whose `facts` cannot be folded into `state`. */
export const keep = (actor: AnyActor, state: unknown, facts: ReadonlyArray<StoredFact>): string => {
  const f = facts.map(({ fact, version }) => [version, fact] as const)
  const kept: Kept = { v: actor.version, ...encoded(actor, state), f }
  return JSON.stringify(kept)
}

/** Adds one more fact behind the kept ones. */
export const keepAlso = (row: string, { fact, version }: StoredFact): string => {
  const kept = JSON.parse(row) as Kept
  return JSON.stringify({ ...kept, f: [...kept.f, [version, fact]] })
}

/**
 * Puts a row into its actor, or its initial state where there is none. Marks an actor that cannot be read. An initial
 * state that cannot be made counts as unreadable only when facts depend on it (`hasFacts`).
 */
export const fill = (cell: Cell, row: ActorRow | undefined, hasFacts: boolean): void => {
  const { actor } = cell
  try {
    if (row === undefined || row.state === null) {
      cell.state = actor.options.initial(cell.key)
    } else {
      cell.state = stateOfRow(actor, row, row.state)
      // Facts of a drain that made it fresh may be counted already.
      cell.bytes = Math.max(cell.bytes, Buffer.byteLength(row.state))
      cell.ownsState = true
      cell.changedAt = row.sequence
      cell.wakeAt =
        row.version === unreadableVersion ? wakeAtOf(actor, cell.state) : (row.wakeAt ?? Number.POSITIVE_INFINITY)
    }
    cell.loaded = true
  } catch (cause) {
    const hasState = row !== undefined && row.state !== null
    cell.isNew = !hasState && !hasFacts
    if (cell.isNew) return
    cell.unreadable = {
      reason: `what is stored of ${formatAddress(cell.address)} cannot be read: ${describe(cause)}`,
      row: hasState ? keptRow(row.version, row.state!) : JSON.stringify({ v: actor.version, f: [] } satisfies Kept)
    }
  }
}

/** Gives an actor that has facts its initial state again, whatever was stored before. */
export const refill = (cell: Cell): void => {
  cell.loaded = false
  cell.unreadable = undefined
  cell.isNew = false
  cell.state = undefined
  cell.ownsState = false
  cell.bytes = 0
  cell.wakeAt = Number.POSITIVE_INFINITY
  fill(cell, undefined, true)
}

/** An unreadable row in the form in which it is kept; undefined when it is not even JSON. */
const keptRow = (version: number, text: string): string | undefined => {
  if (version === unreadableVersion) return text
  try {
    const kept: Kept = { v: version, s: JSON.parse(text), f: [] }
    return JSON.stringify(kept)
  } catch {
    return undefined
  }
}

/** The state of a row with this text. Throws when it cannot be read, or its kept facts cannot be folded. */
export const stateOfRow = (actor: AnyActor, { key, version }: ActorRow, text: string): unknown =>
  version === unreadableVersion ? readKept(actor, key, text) : actor.decodeState(JSON.parse(text), version)

const readKept = (actor: AnyActor, key: string, text: string): unknown => {
  const kept = JSON.parse(text) as Kept
  let state: unknown = kept.s === undefined ? actor.options.initial(key) : actor.decodeState(kept.s, kept.v)
  for (const [version, fact] of kept.f) state = actor.options.evolve(state, actor.decodeFact(fact, version))
  checkState(actor, state)
  return state
}

/** An actor's state at a checkpoint, by reference. */
export interface SnapshotActor {
  readonly cell: Cell
  readonly state: unknown
  readonly wakeAt: number
  /** The row to write for an actor that cannot be read; undefined for others. */
  readonly kept: string | undefined
}

/**
 * Makes the row of an actor at a checkpoint, written as the level of formats in force says. Its size is noted: a state
 * may grow by more than the counted facts, and is then measured with its next fact.
 */
export const rowOf = ({ cell, kept, state, wakeAt }: SnapshotActor, sequence: number, level: number): ActorRow => {
  const { actor } = cell
  if (kept !== undefined)
    return { ...cell.address, sequence, version: unreadableVersion, state: kept, wakeAt: null, expiresAt: null }
  const never = wakeAt === Number.POSITIVE_INFINITY
  const written = actor.written(level)
  const text = never && isOver(actor, state) ? null : JSON.stringify(written.encodeState(state))
  if (text !== null) cell.bytes = Math.max(cell.bytes, Buffer.byteLength(text))
  const expiresAt = actor.internal?.expiresAt?.(state) ?? null
  return { ...cell.address, sequence, version: written.version, state: text, wakeAt: never ? null : wakeAt, expiresAt }
}

/** Makes the row of an idempotency key, which has the text of its fact. */
export const rowOfKey = (
  { kind, version }: AnyActor,
  { key, organization, text, until }: RememberedKey,
  sequence: number
): ActorRow => ({
  organization: organization.name,
  kind,
  key,
  sequence,
  version,
  state: text,
  wakeAt: null,
  expiresAt: until
})
