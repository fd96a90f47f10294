/**
 * Keeps a node in a deployment whose nodes share the partitions: it registers the node, sends heartbeats, agrees with
 * the others on the formats in force (docs/cluster.md, "Two versions together"), and hands over its partitions on
 * request. The nodes communicate through a database, which the options access. Needs no service.
 */
import { Clock, Deferred, Duration, Effect, Result, Semaphore } from "effect"
import type { FormatsRefused, SeenLevel } from "../common/formatLevels.ts"

/** How often a node sends a heartbeat. */
export const beatMillis = 500

/** Heartbeats further apart do not belong to one membership. */
const gapMillis = 5_000

/**
 * How long a node must have been a member before it ignores silent ones: as long as the others need to send a heartbeat
 * too, after the database was away from all of them.
 */
export const attendedMillis = 10_000

/** How long a node that leaves waits until its row is gone. */
const leaveMillis = 2_000

/** The answer to a heartbeat. */
export interface Beat {
  readonly isDraining: boolean
  /** The level of formats in force. */
  readonly inForce: number
}

export interface NodeMembershipOptions<E> {
  /** The newest level of formats that the program knows. */
  readonly newest: number
  readonly seen: SeenLevel
  /**
   * Registers the node. Refused if its program does not know the formats in force; they are not raised before the other
   * nodes see this one.
   */
  readonly join: Effect.Effect<void, E | FormatsRefused>
  readonly beat: Effect.Effect<Beat, E>
  /**
   * Raises the level of formats to the highest that every node knows and has acknowledged; `forgets` ignores nodes that
   * were silent for long.
   */
  readonly raise: (forgets: boolean) => Effect.Effect<void, E | FormatsRefused>
  /** Removes the node's registration. */
  readonly leave: Effect.Effect<void, E>
  /** Hands the partitions over. */
  readonly drain: Effect.Effect<void>
}

export interface NodeMembership<E> {
  /** Registers the node, and raises the level if this node was the last one that held it down. */
  readonly join: Effect.Effect<void, E | FormatsRefused>
  /** Sends heartbeats until the node has left or is outdated. */
  readonly attend: Effect.Effect<void>
  readonly leave: Effect.Effect<void>
  /** Notes that the program does not know the formats in force. */
  readonly refuse: (refused: FormatsRefused) => Effect.Effect<void>
  /** Fails when formats are in force that the program does not know. */
  readonly outdated: Effect.Effect<never, FormatsRefused>
}

export const make = <E>(options: NodeMembershipOptions<E>): Effect.Effect<NodeMembership<E>> =>
  Effect.sync(() => {
    const { newest, seen } = options
    const outdated = Deferred.makeUnsafe<never, FormatsRefused>()
    /** A heartbeat under way when the node leaves would register it again. */
    const turn = Semaphore.makeUnsafe(1)
    let hasLeft = false
    let hasDrained = false
    /** The first and the last heartbeat of this membership, on the monotonic clock. */
    let since: number | undefined
    let last = 0

    const attended = Effect.map(Clock.Clock, (clock) => {
      const now = Number(clock.monotonicTimeNanosUnsafe()) / 1e6
      if (since === undefined || now - last > gapMillis) since = now
      last = now
      return now - since
    })

    const drain = Effect.gen(function* () {
      hasDrained = true
      yield* Effect.logInfo("This node was asked to hand its partitions over, and takes none until it is started again")
      yield* options.drain
      // The node keeps answering, and stays registered.
      yield* Effect.ignore(options.join)
    })

    /** Sends one heartbeat; returns whether to continue. */
    const step = Effect.gen(function* () {
      if (hasLeft) return false
      const beat = yield* Effect.result(options.beat)
      if (Result.isFailure(beat)) return true
      const { inForce, isDraining } = beat.success
      const millis = yield* attended
      const refused = yield* Effect.result(seen.saw(inForce))
      if (Result.isFailure(refused)) {
        yield* Deferred.fail(outdated, refused.failure)
        return false
      }
      if (inForce < newest) yield* Effect.ignore(options.raise(millis >= attendedMillis))
      return isDraining && !hasDrained ? ("drain" as const) : true
    })

    const attend = Effect.gen(function* () {
      while (true) {
        yield* Effect.sleep(Duration.millis(beatMillis))
        const next = yield* turn.withPermits(1)(step)
        if (next === false) return
        if (next === "drain" && !hasLeft) yield* drain
      }
    })

    return {
      join: Effect.andThen(options.join, options.raise(false)),
      attend,
      leave: Effect.suspend(() => {
        hasLeft = true
        return Effect.ignore(Effect.timeout(turn.withPermits(1)(options.leave), Duration.millis(leaveMillis)))
      }),
      refuse: (refused) => Effect.asVoid(Deferred.fail(outdated, refused)),
      outdated: Deferred.await(outdated)
    }
  })
