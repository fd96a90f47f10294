/**
 * Defines the levels of the written formats: frames, facts, checkpoints, rows of work queues, and asks between nodes
 * (docs/cluster.md, "Two versions together"). A program names the newest level that it knows. A deployment has one
 * present level; it rises when every node knows a higher one, and never falls. Changes of a level are written from then
 * on. If you change a format so that a released program would refuse it, or lose a part of it, add a level here, and
 * ask for it where the format is written (`DecideContext.level`, `Placement.level`).
 */

import { Data, Effect } from "effect"

/** This program may not run with the formats in force. The message says why and what to do. Terminal. */
export class FormatsRefused extends Data.TaggedError("FormatsRefused")<{ readonly message: string }> {}

/** The level that brought each format, by a name that its writers ask for. */
export const formatLevels = {
  /** Everything that was written before levels were counted. */
  first: 1,
  /**
   * The size of an email's content, in the facts of its acceptance and its end and in its state. A program of level 1
   * folds it away.
   */
  contentSizes: 2,
  /** The order of a webhook endpoint, in its facts and state, and lines in the queue of deliveries. */
  orderedDeliveries: 3,
  /** The label of a webhook endpoint, in its facts and state, and sessions that see the endpoints of one label alone. */
  endpointLabels: 4,
  /** The places of ingests, in frames and checkpoints. */
  ingestPlaces: 5,
  /** The progress of a reactor that is rebuilt from states, beside its cursor. */
  rebuildsFromStates: 6
} as const

/** The formats that a program can write and read. */
export interface KnownFormats {
  /** The newest level that it knows. */
  readonly newest: number
  /**
   * The oldest level that it can work beside: nodes of an older one may not be about. Old frames and rows it reads in
   * any case.
   */
  readonly oldest: number
}

/** The levels of this program. */
export const knownFormats: KnownFormats = {
  newest: Math.max(...Object.values(formatLevels)),
  oldest: formatLevels.first
}

/** Why a program may not run where a level is in force, in a sentence that says what to do; undefined where it may. */
export const formatsProblem = (
  { newest, oldest }: KnownFormats,
  inForce: number,
  version: string
): string | undefined => {
  if (inForce > newest)
    return `Newer versions run on this database: formats of level ${inForce} are in force, and this version (${version}) knows level ${newest}. What was written since it cannot read, so it does not start; start the newer version. The way back is the backup from before the upgrade`
  if (inForce < oldest)
    return `Older versions may run on this database: formats of level ${inForce} are in force, and this version (${version}) works beside level ${oldest} and later. Upgrade to a version in between first, on every node`
  return undefined
}

/**
 * A node that has given no sign of life for so long does not hold the level down. It finds out when it wakes, and ends.
 */
export const forgottenMillis = 60_000

/** A node as seen by the code that raises the level. */
export interface ShownNode {
  /** The newest level that it knows. */
  readonly level: number
  /** Milliseconds since its last sign of life. */
  readonly silentMillis: number
}

/**
 * The level to have in force from now on: the highest that every node knows, and never less than before. Only one that
 * `forgets` leaves out nodes that have been silent for long: a node that has just come back cannot know whether they
 * were away, or everybody's database.
 */
export const raisedLevel = (inForce: number, nodes: ReadonlyArray<ShownNode>, forgets: boolean): number => {
  const known = nodes
    .filter(({ silentMillis }) => !forgets || silentMillis <= forgottenMillis)
    .map(({ level }) => level)
  return known.length === 0 ? inForce : Math.max(inForce, Math.min(...known))
}

/** The level in force as a process has seen it. */
export interface SeenLevel {
  /** The level in force, as this process saw it last; it may be a higher one for a moment. */
  readonly level: () => number
  /** Notes a level that was read. Fails where this program does not know it. */
  readonly saw: (inForce: number) => Effect.Effect<void, FormatsRefused>
}

/** The level as a program of a version sees it. */
export const seenLevel = (known: KnownFormats, version: string): SeenLevel => {
  let seen: number = formatLevels.first
  return {
    level: () => seen,
    saw: (inForce) =>
      Effect.suspend(() => {
        const message = formatsProblem(known, inForce, version)
        if (message !== undefined) return Effect.fail(new FormatsRefused({ message }))
        seen = Math.max(seen, inForce)
        return Effect.void
      })
  }
}
