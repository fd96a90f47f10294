/**
 * What an operator of a program with reactors does about parked records (docs/reactors.md, "When a handler fails"): see
 * whose they are and why, try them again in order, or give up the first. Needs `Engine`, in the process that runs the
 * organization's partition.
 */
import { Effect } from "effect"
import type { CursorsUnavailable, ParkedRecord } from "./Cursors.ts"
import { Engine, type EngineRefused } from "./Engine.ts"
import {
  type DismissOptions,
  dismissParked,
  listParked,
  type ParkedList,
  type RetriedParked,
  type RetryOptions,
  retryParked,
  showParkedRecords
} from "./operator/parked.ts"

export type { DismissOptions, ParkedList, ParkedRecord, RetriedParked, RetryOptions }

/** Lists the organizations with parked records at a reactor, in pages. */
export const list = (
  reactor: string,
  page: { readonly after?: string | undefined; readonly limit: number }
): Effect.Effect<ParkedList, CursorsUnavailable, Engine> =>
  Effect.flatMap(Engine, (engine) => listParked(engine, reactor, page))

/** The first parked records of an organization in log order, at most `limit`, each with its error. */
export const show = (
  reactor: string,
  organization: string,
  limit: number
): Effect.Effect<ReadonlyArray<ParkedRecord>, CursorsUnavailable, Engine> =>
  Effect.flatMap(Engine, (engine) => showParkedRecords(engine, reactor, organization, limit))

/** Tries an organization's parked records again, until none is left, one fails again, or `limit` is reached. */
export const retry = (
  reactor: string,
  organization: string,
  options?: RetryOptions
): Effect.Effect<RetriedParked, EngineRefused | CursorsUnavailable, Engine> =>
  Effect.flatMap(Engine, (engine) =>
    retryParked(engine, engine.partitionOf(organization), reactor, organization, options)
  )

/** Gives up an organization's first parked record, without its effects. False where nothing was taken away. */
export const dismiss = (
  reactor: string,
  organization: string,
  options?: DismissOptions
): Effect.Effect<boolean, EngineRefused | CursorsUnavailable, Engine> =>
  Effect.flatMap(Engine, (engine) =>
    dismissParked(engine, engine.partitionOf(organization), reactor, organization, options)
  )
