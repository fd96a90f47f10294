import type { AreaCodeRecord, CarrierTypeRecord, CodeRecord, Country } from "../../src/directory/model.ts"
import { timeZoneNames } from "../../src/directory/timeZones.ts"

/**
 * The directory once more, as anybody would write it from docs/directory.md without a thought for speed: lists of
 * records that are filtered, sorted and counted for every question. The index must answer the same.
 */
export interface NaiveRecords {
  readonly codes: ReadonlyArray<CodeRecord>
  readonly carrierTypes: ReadonlyArray<CarrierTypeRecord>
  readonly areaCodes: ReadonlyArray<AreaCodeRecord>
}

const alphabetically = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

const tally = (values: ReadonlyArray<string | null>): Record<string, number> => {
  const counts: Record<string, number> = {}
  for (const value of values) if (value !== null) counts[value] = (counts[value] ?? 0) + 1
  return counts
}

const mostFrequent = (values: ReadonlyArray<string | null>): string | null => {
  const counts = Object.entries(tally(values))
  counts.sort(([a, countOfA], [b, countOfB]) => countOfB - countOfA || alphabetically(a, b))
  return counts[0]?.[0] ?? null
}

const lastByKey = <A>(records: ReadonlyArray<A>, key: (record: A) => string): ReadonlyArray<A> => [
  ...new Map(records.map((record) => [key(record), record])).values()
]

export const make = (given: NaiveRecords) => {
  const codes = [...lastByKey(given.codes, (code) => code.npa + code.nxx)].sort((a, b) =>
    alphabetically(a.npa + a.nxx, b.npa + b.nxx)
  )
  const list = new Map(given.carrierTypes.map((line) => [line.ocn, line]))
  const locationOf = (npa: string): string | null =>
    given.areaCodes.findLast((area) => area.npa === npa && area.locations.length > 0)?.locations[0] ?? null

  const detailsOf = (npa: string) => {
    const record = given.areaCodes.findLast((area) => area.npa === npa && area.details !== null)
    const details = record?.details
    if (record === undefined || details === null || details === undefined) return null
    const { dialingPlan: plan, relief } = details
    return {
      time_zones: [...timeZoneNames(details.zones, record.country, record.locations)],
      overlay_complexes: details.overlayComplexes.map((complex) => [...complex]),
      parent: details.parent,
      in_service_date: details.inServiceDate,
      dialing_plan: {
        home_local: plan.homeLocal,
        home_toll: plan.homeToll,
        foreign_local: plan.foreignLocal,
        foreign_toll: plan.foreignToll,
        permissive_home_local: plan.permissiveHomeLocal,
        permissive_home_toll: plan.permissiveHomeToll,
        permissive_foreign_local: plan.permissiveForeignLocal,
        notes: plan.notes
      },
      relief: { status: relief.status, planning: relief.planning, jeopardy: relief.jeopardy }
    }
  }

  const allOcns = new Set([...codes.map((code) => code.ocn), ...list.keys()])
  const carriers = [...allOcns]
    .filter((ocn): ocn is string => ocn !== null && ocn !== "MULT")
    .sort(alphabetically)
    .map((ocn) => {
      const own = codes.filter((code) => code.ocn === ocn)
      const assigned = own.filter((code) => code.status === "ASSIGNED")
      const line = list.get(ocn)
      return {
        ocn,
        company_name: mostFrequent(own.map((code) => code.company)) ?? line?.companyName ?? null,
        common_name: line?.commonName ?? null,
        carrier_type: line?.type ?? null,
        state:
          mostFrequent(own.map((code) => code.state)) ?? mostFrequent(own.map((code) => locationOf(code.npa))) ?? null,
        country: (mostFrequent(own.map((code) => code.country)) ?? "US") as Country,
        exchanges: { total: assigned.length, by_state: tally(assigned.map((code) => code.state)) }
      }
    })

  const areaCodes = [...new Set(codes.map((code) => code.npa))].map((npa) => {
    const own = codes.filter((code) => code.npa === npa)
    return {
      npa,
      state: mostFrequent(own.map((code) => code.state)) ?? locationOf(npa),
      country: mostFrequent(own.map((code) => code.country)),
      exchanges: own.map((code) => ({
        nxx: code.nxx,
        ocn: code.ocn,
        company_name: code.company,
        rate_center: code.rateCenter,
        status: code.status
      }))
    }
  })

  return { codes, carriers, areaCodes, detailsOf }
}
