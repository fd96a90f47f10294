/**
 * Defines the requests and results of an actor's followers (docs/architecture.md, "Followers"): its facts as they are
 * stored, its state as it changes, and the keys of a kind. Needs no service.
 */
import { Schema } from "effect"
import type { AskError } from "./errors.ts"

/**
 * A place among an organization's facts. Every `FactRecord` is one, so the last processed fact says where to continue.
 * It is valid for this deployment only. See {@link beginning}.
 */
export interface FactPosition {
  /** The frame, from 1; 0 is before the first. */
  readonly sequence: number
  /** Place in the frame, from 0. */
  readonly index: number
}

/**
 * Before the first fact of every log. Following from here works as long as nothing of the log was purged.
 *
 * @example
 * ```ts
 * import { Effect, Stream } from "effect"
 * import { type Actor, beginning, Engine } from "sluice"
 *
 * // The first hundred facts of an organization's actors, the oldest first.
 * export const history = <Command, Fact, State>(actor: Actor.Actor<Command, Fact, State, void, never>, organization: string) =>
 *   Effect.flatMap(Engine.Engine, (engine) =>
 *     Stream.runCollect(Stream.take(engine.facts(actor, { organization }, { after: beginning, allKeys: true }), 100))
 *   )
 * ```
 */
export const beginning: FactPosition = { sequence: 0, index: 0 }

/** The facts to follow. See {@link beginning}. */
export interface FactsOptions {
  /** Only later facts are given; without it those stored from now on. */
  readonly after?: FactPosition
  /** Follows all actors of the kind in the organization, whatever the target's key. */
  readonly allKeys?: boolean
}

/** The keys of a kind to list. See {@link Engine.Engine}. */
export interface KeysOptions {
  /** Only keys behind this one, in the order of their UTF-8 bytes: the `next` of the page before. */
  readonly after?: string | undefined
  /** The most keys of a page, 1 to 1,000; default 100. */
  readonly limit?: number | undefined
}

/** A page of the keys of a kind in an organization. See {@link Engine.Engine}. */
export interface KeysPage {
  /** In the order of their UTF-8 bytes. */
  readonly keys: ReadonlyArray<string>
  /** The value of `after` for the next page; undefined when this is the last one. */
  readonly next: string | undefined
}

/** A page of the organizations that have actors of a kind. See {@link Engine.Engine}. */
export interface OrganizationsPage {
  /** By partition, and in the order of their bytes within one. */
  readonly organizations: ReadonlyArray<string>
  /** The value of `after` for the next page, an opaque text; undefined when this is the last one. */
  readonly next: string | undefined
}

/**
 * Some requested facts are no longer in the log: checkpoints cover them, and they were purged. Read the state, and
 * follow from now on or from `firstSequence`.
 *
 * @example
 * ```ts
 * import { FactsPurged } from "sluice"
 *
 * // a follower that was away for long reads the state, and goes on with the oldest frame that is kept
 * const error = new FactsPurged({ partition: 0, sequence: 5, firstSequence: 9 })
 * const after = { sequence: error.firstSequence, index: -1 }
 * console.log(after, error.retryable) // { sequence: 9, index: -1 } false
 * ```
 */
export class FactsPurged extends Schema.TaggedError<FactsPurged>()("FactsPurged", {
  partition: Schema.Number,
  /** The first requested frame. */
  sequence: Schema.Number,
  /** The oldest frame that the log has. */
  firstSequence: Schema.Number
}) {
  readonly retryable = false as const
  override get message() {
    return `the log of partition ${this.partition} begins at frame ${this.firstSequence}, and facts from frame ${this.sequence} on were asked for`
  }
}

/** The log holds a fact that this program's schema refuses. See {@link FactsPurged}. */
export class FactUnreadable extends Schema.TaggedError<FactUnreadable>()("FactUnreadable", {
  kind: Schema.String,
  sequence: Schema.Number,
  index: Schema.Number,
  reason: Schema.String
}) {
  readonly retryable = false as const
  override get message() {
    return `fact ${this.sequence}/${this.index} of ${this.kind} cannot be read: ${this.reason}`
  }
}

/**
 * The reasons why a stream of facts ends early. After a retryable one follow again from the last fact that was given.
 * See {@link FactsPurged}.
 */
export type FollowError = AskError | FactsPurged | FactUnreadable
