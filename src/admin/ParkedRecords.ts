/**
 * Lets operators work on records that a reactor of the running platform could not process (`sluice parked`). Needs
 * `Engine` and `AdminActs`; a command without a running platform has no engine and says so.
 */
import { Context, Data, Effect, Layer } from "effect"
import type { SqlError } from "effect/sql"
import { Engine, type EngineRefused } from "../engine/Engine.ts"
import { atOwner } from "../engine/operator/atOwner.ts"
import type { ParkedList, RetriedParked } from "../engine/operator/parked.ts"
import {
  countParkedRecords,
  dismissParked,
  listParked,
  reactorNamed,
  retryParked,
  showParkedRecords
} from "../engine/operator/parkedRecords.ts"
import type { CursorsUnavailable, ParkedRecord } from "../engine/ports/Cursors.ts"
import { internals } from "../engine/shell/partition/internals.ts"
import { AdminActs } from "./AdminActs.ts"

/** There is no such record or reactor, or no engine runs. */
export class NothingParked extends Data.TaggedError("NothingParked")<{ readonly message: string }> {}

/** The stores cannot be reached; nothing was done. */
export class ParkedUnavailable extends Data.TaggedError("ParkedUnavailable")<{ readonly message: string }> {}

type Failure = NothingParked | ParkedUnavailable

/** A record's place in its organization's log. */
export interface RecordPosition {
  readonly sequence: number
  readonly index: number
}

/** The acts of the owner of an organization's partition for other processes. */
const retryAct = "retry parked"
const dismissAct = "dismiss parked"

interface Asked {
  readonly organization: string
  readonly reactor: string
}

/** Most records that one request tries again, since a request has ten seconds. */
const retriedAtOnce = 500

export class ParkedRecords extends Context.Service<
  ParkedRecords,
  {
    /** Lists the organizations with parked records. `reactor` may be left out when there is only one. */
    readonly list: (
      reactor: string | undefined,
      page: { readonly after?: string | undefined; readonly limit: number }
    ) => Effect.Effect<ParkedList, Failure>
    /** The first of an organization's parked records. */
    readonly show: (
      organization: string,
      reactor: string | undefined,
      limit: number
    ) => Effect.Effect<{ readonly reactor: string; readonly records: ReadonlyArray<ParkedRecord> }, Failure>
    /**
     * Tries some of an organization's parked records again, in order. The act is recorded in each transaction that
     * takes some off.
     */
    readonly retry: (
      organization: string,
      reactor: string | undefined
    ) => Effect.Effect<RetriedParked & { readonly reactor: string }, Failure>
    /**
     * Removes an organization's first parked record without its effects. The act is recorded in the same transaction.
     */
    readonly dismiss: (
      organization: string,
      reactor: string | undefined,
      place: RecordPosition
    ) => Effect.Effect<{ readonly reactor: string; readonly left: number }, Failure>
  }
>()("sluice/admin/ParkedRecords") {
  static readonly layer: Layer.Layer<ParkedRecords, never, Engine | AdminActs> = Layer.effect(
    ParkedRecords,
    Effect.gen(function* () {
      const engine = yield* Engine
      const acts = yield* AdminActs
      const { context } = internals(engine)
      const retryHere = (organization: string, reactor: string) =>
        retryParked(engine, engine.partitionOf(organization), reactor, organization, {
          limit: retriedAtOnce,
          alongside: (records) =>
            acts.record("parked.retried", organization, {
              reactor,
              records: records.length,
              from: placeOf(records[0]!),
              through: placeOf(records[records.length - 1]!)
            })
        })
      const dismissHere = (organization: string, reactor: string, place: RecordPosition) =>
        dismissParked(engine, engine.partitionOf(organization), reactor, organization, {
          record: place,
          alongside: ([record]) =>
            acts.record("parked.dismissed", organization, {
              reactor,
              record: placeOf(record!),
              error: record!.error
            })
        })
      context.acts.set(retryAct, (_, asked) => {
        const { organization, reactor } = asked as Asked
        return retryHere(organization, reactor)
      })
      context.acts.set(dismissAct, (_, asked) => {
        const { organization, place, reactor } = asked as Asked & { readonly place: RecordPosition }
        return dismissHere(organization, reactor, place)
      })
      /** Whether another process has to do it. */
      const isElsewhere = (organization: string) =>
        context.remote !== undefined && !context.local.has(engine.partitionOf(organization))
      return ParkedRecords.of({
        list: Effect.fn("ParkedRecords.list")(function* (reactor, page) {
          return yield* listParked(engine, yield* reactorNamed(engine, reactor), page)
        }, failing),
        show: Effect.fn("ParkedRecords.show")(function* (organization, reactor, limit) {
          const name = yield* reactorNamed(engine, reactor)
          return { reactor: name, records: yield* showParkedRecords(engine, name, organization, limit) }
        }, failing),
        retry: Effect.fn("ParkedRecords.retry")(function* (organization, reactor) {
          const name = yield* reactorNamed(engine, reactor)
          const asked: Asked = { organization, reactor: name }
          const done = isElsewhere(organization)
            ? ((yield* atOwner(context, engine.partitionOf(organization), retryAct, asked)) as RetriedParked)
            : yield* retryHere(organization, name)
          return { reactor: name, ...done }
        }, failing),
        dismiss: Effect.fn("ParkedRecords.dismiss")(function* (organization, reactor, place) {
          const name = yield* reactorNamed(engine, reactor)
          const asked = { organization, reactor: name, place }
          const isDone = isElsewhere(organization)
            ? (yield* atOwner(context, engine.partitionOf(organization), dismissAct, asked)) === true
            : yield* dismissHere(organization, name, place)
          if (!isDone) {
            return yield* new NothingParked({
              message: `the record ${place.sequence}/${place.index} is not the first of ${organization} that is parked at ${name}`
            })
          }
          return { reactor: name, left: yield* countParkedRecords(engine, name, organization) }
        }, failing)
      })
    })
  )

  static readonly layerNone: Layer.Layer<ParkedRecords> = Layer.sync(ParkedRecords, () => {
    const none = Effect.fail(
      new NothingParked({ message: "no platform is running here that has reactors; start it first" })
    )
    return ParkedRecords.of({ list: () => none, show: () => none, retry: () => none, dismiss: () => none })
  })
}

const placeOf = ({ index, sequence }: RecordPosition): string => `${sequence}/${index}`

const failing = <A>(effect: Effect.Effect<A, EngineRefused | CursorsUnavailable | SqlError.SqlError | Failure>) =>
  Effect.mapError(effect, (error): Failure => {
    switch (error._tag) {
      case "EngineRefused":
        return new NothingParked({ message: error.message })
      case "CursorsUnavailable":
      case "SqlError":
        return new ParkedUnavailable({ message: error.message })
      default:
        return error
    }
  })
