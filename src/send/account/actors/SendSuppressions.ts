/**
 * Defines the actors of the addresses to which an account sends nothing (docs/platform.md, 9.7): hashes in buckets. A
 * bucket's state is one text of sorted entries of equal length, because a list of texts takes five times as long to
 * load.
 */
import { Schema } from "effect"
import * as Actor from "../../../engine/Actor.ts"
import { entryLength, type Mode, modes, suppressionPlace } from "./actorKeys.ts"

/** The reasons for which an address is suppressed. */
export const suppressionReasons = ["bounced", "complained", "manual", "unsubscribed"] as const
/** The reason why nothing is sent to an address. See {@link Admission}. */
export type SuppressionReason = (typeof suppressionReasons)[number]

/** Asked of the bucket that `suppressionPlace` names. */
const Command = Schema.Union([
  Schema.TaggedStruct("Suppress", { address: Schema.String, reason: Schema.Literals(suppressionReasons) }),
  Schema.TaggedStruct("Unsuppress", { address: Schema.String }),
  /** Whether the address is on the list. */
  Schema.TaggedStruct("Look", { address: Schema.String })
])
/** Asked of a bucket of suppressed addresses. See {@link Admission}. */
export type SuppressionCommand = typeof Command.Type

const Fact = Schema.Union([
  Schema.TaggedStruct("Suppressed", {
    at: Schema.Finite,
    entry: Schema.String,
    address: Schema.String,
    reason: Schema.Literals(suppressionReasons)
  }),
  Schema.TaggedStruct("Unsuppressed", { at: Schema.Finite, entry: Schema.String, address: Schema.String })
])
/** A fact of a bucket of suppressed addresses. See {@link Admission}. */
export type SuppressionFact = typeof Fact.Type

const State = Schema.Struct({ entries: Schema.String })
export type SuppressionState = typeof State.Type

/** Place of the first entry that is not before `entry`. */
const placeOf = (entries: string, entry: string): number => {
  let low = 0
  let high = entries.length / entryLength
  while (low < high) {
    const middle = (low + high) >>> 1
    if (entries.slice(middle * entryLength, (middle + 1) * entryLength) < entry) low = middle + 1
    else high = middle
  }
  return low * entryLength
}

/** Whether a bucket has an entry. */
export const isSuppressed = ({ entries }: SuppressionState, entry: string): boolean =>
  entries !== "" && entries.startsWith(entry, placeOf(entries, entry))

const evolve = (state: SuppressionState, { _tag, entry }: SuppressionFact): SuppressionState => {
  const has = isSuppressed(state, entry)
  if (has === (_tag === "Suppressed")) return state
  const at = placeOf(state.entries, entry)
  return {
    entries:
      _tag === "Suppressed"
        ? state.entries.slice(0, at) + entry + state.entries.slice(at)
        : state.entries.slice(0, at) + state.entries.slice(at + entryLength)
  }
}

/** The key's mode; only `suppressionPlace` makes keys of buckets. */
const modeOf = (key: string): Mode => (key.startsWith(modes[1]) ? modes[1] : modes[0])

/** Its reply is whether the address is on the list after the command. */
export const SendSuppressions = Actor.make<SuppressionCommand, SuppressionFact, SuppressionState, boolean>({
  kind: "sendSuppressions",
  command: Command,
  fact: Fact,
  state: State,
  reply: Schema.Boolean,
  initial: () => ({ entries: "" }),
  isOver: ({ entries }) => entries === "",
  evolve,
  decide: (state, command, { now: at, self }) => {
    const { address } = command
    const { entry, key } = suppressionPlace(self.organization, modeOf(self.key), address)
    if (key !== self.key) throw new Error(`${address} belongs into bucket ${key}, not ${self.key}`)
    const has = isSuppressed(state, entry)
    if (command._tag === "Suppress" && !has)
      return Actor.decided({ facts: [{ _tag: "Suppressed", at, entry, address, reason: command.reason }], reply: true })
    if (command._tag === "Unsuppress" && has)
      return Actor.decided({ facts: [{ _tag: "Unsuppressed", at, entry, address }], reply: false })
    return Actor.decided({ reply: has })
  }
})
