/**
 * Handles a command under an idempotency key: finds its remembered answer, in memory or in the checkpoints, and adds
 * the new one to the frame of its decision (docs/architecture.md, "Idempotency keys").
 */
import type { ActorMemory } from "../actors/ActorMemory.ts"
import type { Cell, Entry } from "../actors/Organization.ts"
import type { Draft } from "../drain/Draft.ts"
import type { KeyGuard, KnownAnswer, Remembrance } from "./KeyGuard.ts"

/** Bytes that a remembered answer takes in a frame besides its text and its actor's names. */
const overheadBytes = 48

/** Most bytes of one character of an organization's name as JSON; the names of keys have none that grow. */
const maximumCharacterBytes = 2

/**
 * The remembered result of a command's key: the answer, undefined for none; the actor that must be loaded to know; or
 * no room for one more. `now` is the partition's time.
 */
export const recall = (
  memory: ActorMemory,
  { organization }: Entry,
  guard: KeyGuard,
  now: number
): KnownAnswer | Cell | "no room" | undefined => {
  const { key } = guard
  const held = memory.keys.find(organization, key)
  if (held !== undefined) return guard.recall(JSON.parse(held), now)
  const cell = organization.cell(memory.registry.keyIndex, key)
  if (cell !== undefined) return cell.loaded ? guard.recall(cell.state, now) : cell
  // An actor that is being read is waited for, or it would stay in memory beside what is decided now.
  if (memory.keys.stored.lacks(organization, key)) return undefined
  return memory.admitsActor() ? memory.cell(organization, memory.registry.keyIndex, key) : "no room"
}

/** Upper bound of the bytes that a remembered answer takes in a frame. */
export const bytesOf = ({ organization }: Entry, { key }: KeyGuard, { bytes }: Remembrance): number =>
  bytes + overheadBytes + key.length + maximumCharacterBytes * organization.name.length

/** Adds the answer of a decision to its frame. */
export const remember = (
  memory: ActorMemory,
  { builder }: Draft,
  { organization }: Entry,
  { key }: KeyGuard,
  remembrance: Remembrance
): void => {
  const { kind, version } = memory.registry.actors[memory.registry.keyIndex]!
  memory.keys.draft(organization, key, remembrance)
  // The name of a key's actor is a hash, which has nothing to escape.
  const actor = builder.addActorTexts(kind, version, organization.text, `"${key}"`)
  builder.addFact(actor, remembrance.text, remembrance.bytes)
}
