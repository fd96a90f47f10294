/**
 * Manages the parked records of a program with reactors (docs/reactors.md, "When a handler fails"): list them with
 * their errors, try them again in order, or give up the first. Needs `Engine`, in the process that runs the
 * organization's partition.
 */
import { Effect } from "effect"
import { Engine, type EngineRefused } from "./Engine.ts"
import type {
  Alongside,
  DismissOptions,
  ParkedEntry,
  ParkedList,
  RetriedParked,
  RetryOptions
} from "./operator/parked.ts"
import { dismissParked, listParked, retryParked, showParkedRecords } from "./operator/parkedRecords.ts"
import type { CursorsUnavailable, ParkedRecord } from "./ports/Cursors.ts"

export type { Alongside, DismissOptions, ParkedEntry, ParkedList, ParkedRecord, RetriedParked, RetryOptions }

/**
 * Lists the organizations with parked records at a reactor, in pages.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { Parked } from "sluice"
 *
 * // whether somebody must look
 * export const isStuck = Effect.map(Parked.list("sales", { limit: 1 }), ({ organizations }) => organizations.length > 0)
 * ```
 */
export const list = (
  reactor: string,
  page: { readonly after?: string | undefined; readonly limit: number }
): Effect.Effect<ParkedList, CursorsUnavailable, Engine> =>
  Effect.flatMap(Engine, (engine) => listParked(engine, reactor, page))

/**
 * The first parked records of an organization in log order, at most `limit`, each with its error.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { Parked } from "sluice"
 *
 * export const reason = Effect.map(Parked.show("sales", "acme", 1), ([first]) => first?.error ?? "nothing is parked")
 * ```
 */
export const show = (
  reactor: string,
  organization: string,
  limit: number
): Effect.Effect<ReadonlyArray<ParkedRecord>, CursorsUnavailable, Engine> =>
  Effect.flatMap(Engine, (engine) => showParkedRecords(engine, reactor, organization, limit))

/**
 * Tries an organization's parked records again, until none is left, one fails again, or `limit` is reached.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { Parked } from "sluice"
 *
 * // after the cause is repaired: what is parked at a reactor is tried again, one organization after the other
 * export const repaired = Effect.gen(function* () {
 *   const { organizations } = yield* Parked.list("sales", { limit: 100 })
 *   for (const { organization } of organizations) yield* Parked.retry("sales", organization)
 * })
 * ```
 */
export const retry = (
  reactor: string,
  organization: string,
  options?: RetryOptions
): Effect.Effect<RetriedParked, EngineRefused | CursorsUnavailable, Engine> =>
  Effect.flatMap(Engine, (engine) =>
    retryParked(engine, engine.partitionOf(organization), reactor, organization, options)
  )

/**
 * Gives up an organization's first parked record, without its effects. False if nothing was removed.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { Parked } from "sluice"
 *
 * // gives up the first record, then works off what waited behind it
 * export const skipped = Effect.andThen(Parked.dismiss("sales", "acme"), Parked.retry("sales", "acme"))
 * ```
 */
export const dismiss = (
  reactor: string,
  organization: string,
  options?: DismissOptions
): Effect.Effect<boolean, EngineRefused | CursorsUnavailable, Engine> =>
  Effect.flatMap(Engine, (engine) =>
    dismissParked(engine, engine.partitionOf(organization), reactor, organization, options)
  )
