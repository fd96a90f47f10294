/**
 * Looks up and searches numbers (docs/platform.md, 4). Reads the directory in memory and the inventory in PostgreSQL,
 * and answers once the event is stored in the log. Needs `Directory`, `Inventory` and `Engine`.
 */
import { Clock, Context, Data, DateTime, Effect, Layer } from "effect"
import type { SqlError } from "effect/sql"
import {
  type CodeFilters,
  codesMatching,
  Directory,
  type DirectoryIndex,
  type DirectoryUnavailable,
  findNumber,
  type NumberingCode,
  searchCodes,
  timeZonesOf
} from "../directory/index.ts"
import { Engine } from "../engine/Engine.ts"
import { awaitEventStored, type EventNotStored } from "../platform/awaitEventStored.ts"
import { Inventory } from "./Inventory.ts"
import { isFound, type NumberFault, noRecordOf, numberResult } from "./numberResult.ts"
import { codeOf } from "./numbers.ts"
import { TelcoActor } from "./TelcoActor.ts"

// Tells the time in a zone (docs/platform.md, 4.2). Pure.

/** The time in a zone of an IANA name, to the second: `2026-07-06T08:30:00-04:00`. */
export const localTime = (atMillis: number, timeZone: string): string => {
  const wholeSeconds = Math.floor(atMillis / 1000) * 1000
  const local = DateTime.setZoneNamedUnsafe(DateTime.makeUnsafe(wholeSeconds), timeZone)
  return DateTime.formatIsoOffset(local).replace(".000", "")
}

/** The directory has no record of a number's code. */
export class CodeNotFound extends Data.TaggedError("CodeNotFound")<{ readonly tn: string }> {
  override get message(): string {
    return noRecordOf(this.tn)
  }
}

/** The caller. */
export interface Caller {
  readonly organizationId: string
  /** False for a test key. */
  readonly livemode: boolean
}

export interface LookupResult extends NumberingCode {
  readonly tn: string
  /** IANA names of the zones that the area code spans; empty where the directory does not know. */
  readonly timeZones: ReadonlyArray<string>
  /** The time of the answer in each of them. */
  readonly localTimes: ReadonlyArray<string>
  readonly inInventory: boolean
}

/** A number of the inventory. Fields that the directory does not know are null. */
export interface InventoryResult {
  readonly tn: string
  readonly npa: string
  readonly nxx: string
  readonly country: NumberingCode["country"] | null
  readonly state: string | null
  readonly rateCenter: string | null
  readonly status: NumberingCode["status"] | null
  readonly carrier: NumberingCode["carrier"]
  readonly pooled: boolean | null
  readonly carrierBasis: NumberingCode["carrierBasis"] | null
}

export interface SearchQuery extends CodeFilters {
  readonly source: "npanxx" | "inventory"
  readonly limit: number
  readonly offset: number
}

export interface SearchPage<A> {
  readonly data: ReadonlyArray<A>
  readonly pagination: { readonly limit: number; readonly offset: number; readonly total: number }
}

type Failure = DirectoryUnavailable | SqlError.SqlError | EventNotStored

export class Telco extends Context.Service<
  Telco,
  {
    /**
     * Looks up one number of 10 digits (docs/platform.md, 4.2). Without a record of its code it fails and emits no
     * event.
     */
    readonly lookup: (caller: Caller, tn: string) => Effect.Effect<LookupResult, CodeNotFound | Failure>
    /**
     * Looks up texts, at most `maximumLookups`, each as `lookup` does, and answers one result for each in their order.
     * One event tells of all of them (docs/platform.md, 4.5).
     */
    readonly lookups: (
      caller: Caller,
      texts: ReadonlyArray<string>
    ) => Effect.Effect<ReadonlyArray<LookupResult | NumberFault>, Failure>
    /**
     * Lists the directory's codes by NPA, then NXX, or the organization's numbers, ascending (docs/platform.md, 4.3).
     */
    readonly search: (
      caller: Caller,
      query: SearchQuery
    ) => Effect.Effect<SearchPage<NumberingCode | InventoryResult>, Failure>
  }
>()("sluice/telco/Telco") {
  static readonly layer: Layer.Layer<Telco, never, Directory | Inventory | Engine> = Layer.effect(
    Telco,
    Effect.suspend(() => make)
  )
}

/** Times in zones at one moment. Each zone is asked once, since its time costs more than the rest of a look-up. */
const makeTimes = (now: number) => {
  const times = new Map<string, string>()
  return (zones: ReadonlyArray<string>): ReadonlyArray<string> =>
    zones.map((zone) => {
      const time = times.get(zone) ?? localTime(now, zone)
      times.set(zone, time)
      return time
    })
}

type Command = Parameters<typeof TelcoActor.options.decide>[1]

/** The result of a number without a record. */
const unknown = {
  country: null,
  state: null,
  rateCenter: null,
  status: null,
  carrier: null,
  pooled: null,
  carrierBasis: null
}

const make = Effect.gen(function* () {
  const directory = yield* Directory
  const inventory = yield* Inventory
  const engine = yield* Engine

  const emit = (caller: Caller, command: Command): Effect.Effect<void, EventNotStored> =>
    awaitEventStored(engine.ask(TelcoActor, { organization: caller.organizationId }, command))

  const lookup = Effect.fn("Telco.lookup")(function* (caller: Caller, tn: string) {
    const { index } = yield* directory.snapshot
    const { npa, nxx } = codeOf(tn)
    const code = findNumber(index, tn)
    if (code === undefined) return yield* new CodeNotFound({ tn })
    const inInventory = yield* inventory.has(caller.organizationId, tn)
    yield* emit(caller, {
      _tag: "LookupCompleted",
      data: { tn, npa, nxx, hasCarrier: code.carrier !== null, hasInventory: inInventory },
      livemode: caller.livemode
    })
    const timeZones = timeZonesOf(index, npa)
    const timesIn = makeTimes(yield* Clock.currentTimeMillis)
    return { tn, ...code, timeZones, localTimes: timesIn(timeZones), inInventory }
  })

  const lookups = Effect.fn("Telco.lookups")(function* (caller: Caller, texts: ReadonlyArray<string>) {
    const { index } = yield* directory.snapshot
    const results = texts.map((text) => numberResult(index, text))
    const found = results.filter(isFound)
    const held = yield* inventory.among(
      caller.organizationId,
      found.map(({ tn }) => tn)
    )
    const inInventory = held.size === 0 ? 0 : found.filter(({ tn }) => held.has(tn)).length
    yield* emit(caller, {
      _tag: "LookupsCompleted",
      data: { numbers: texts.length, found: found.length, inInventory },
      livemode: caller.livemode
    })
    const timesIn = makeTimes(yield* Clock.currentTimeMillis)
    return results.map((result) =>
      isFound(result) ? { ...result, localTimes: timesIn(result.timeZones), inInventory: held.has(result.tn) } : result
    )
  })

  const numbersOf = Effect.fnUntraced(function* (
    index: DirectoryIndex,
    organizationId: string,
    filters: CodeFilters,
    page: { readonly limit: number; readonly offset: number }
  ) {
    const { npa, ocn, rateCenter, state } = filters
    const needsCodes = ocn !== undefined || rateCenter !== undefined || state !== undefined
    const codes = needsCodes ? codesMatching(index, filters) : undefined
    const { numbers, total } = yield* inventory.search(organizationId, { npa, codes }, page)
    const data = numbers.map((tn): InventoryResult => {
      const code = codeOf(tn)
      return { tn, ...code, ...(findNumber(index, tn) ?? unknown) }
    })
    return { data, total }
  })

  const search = Effect.fn("Telco.search")(function* (caller: Caller, query: SearchQuery) {
    const { limit, npa, ocn, offset, rateCenter, source, state } = query
    const { index } = yield* directory.snapshot
    const { data, total } =
      source === "npanxx"
        ? searchCodes(index, query, { limit, offset })
        : yield* numbersOf(index, caller.organizationId, query, { limit, offset })
    yield* emit(caller, {
      _tag: "SearchCompleted",
      data: {
        source,
        filters: { state: state ?? null, npa: npa ?? null, rateCenter: rateCenter ?? null, ocn: ocn ?? null }
      },
      livemode: caller.livemode
    })
    return { data, pagination: { limit, offset, total } }
  })

  return Telco.of({ lookup, lookups, search })
})
