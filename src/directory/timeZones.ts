/**
 * Names the time zones of an area code (docs/directory.md, 3.4). NANPA's report writes letters for a zone and the time
 * from Greenwich for islands; the same letter stands for places that change their clocks by different laws, so the
 * country and the state decide too. Pure.
 */
import type { Country } from "./model.ts"

/** Zones of the report: Newfoundland, Atlantic, Eastern, Central, Mountain, Pacific, Alaska, and those of islands. */
const zoneLetters = /^[NAECMP]+$/
const offset = /^\(?(UTC[+-][0-9]{1,2})\)?$/
/** A sentence instead of letters: `PT/MT only for W Wendover`. */
const inSentence = /\b([NAECMP])T\b/g

/** The zones of a cell, in its order; none where it is empty or says something else. */
export const zonesOfCell = (cell: string): ReadonlyArray<string> => {
  const text = cell.trim()
  if (text === "AK") return [text]
  if (zoneLetters.test(text)) return [...new Set(text)]
  const [, island] = offset.exec(text) ?? []
  if (island !== undefined) return [island]
  return [...new Set(Array.from(text.matchAll(inSentence), ([, letter]) => letter!))]
}

type Names = Readonly<Record<string, string>>

const namesOfCountry: Readonly<Record<Country, Names>> = {
  US: {
    A: "America/Puerto_Rico",
    E: "America/New_York",
    C: "America/Chicago",
    M: "America/Denver",
    P: "America/Los_Angeles",
    AK: "America/Anchorage",
    "UTC-10": "Pacific/Honolulu",
    "UTC-11": "Pacific/Pago_Pago",
    "UTC+10": "Pacific/Guam"
  },
  CA: {
    N: "America/St_Johns",
    A: "America/Halifax",
    E: "America/Toronto",
    C: "America/Winnipeg",
    M: "America/Edmonton",
    P: "America/Vancouver"
  }
}

/** States and provinces with another law: Arizona and Saskatchewan keep standard time, Yukon keeps UTC-7. */
const namesOfState: Readonly<Record<string, Names>> = {
  AZ: { M: "America/Phoenix" },
  SK: { C: "America/Regina" },
  YT: { P: "America/Whitehorse" },
  NU: { C: "America/Rankin_Inlet" }
}

/** The IANA names of an area code's zones, each once, in the order of the report. Unknown ones are left out. */
export const timeZoneNames = (
  zones: ReadonlyArray<string>,
  country: Country | null,
  locations: ReadonlyArray<string>
): ReadonlyArray<string> => {
  const names = zones.map(
    (zone) =>
      locations.map((state) => namesOfState[state]?.[zone]).find((name) => name !== undefined) ??
      (country === null ? undefined : namesOfCountry[country][zone])
  )
  return [...new Set(names.filter((name) => name !== undefined))]
}

/** Every name that {@link timeZoneNames} may give. */
export const allTimeZoneNames: ReadonlyArray<string> = [
  ...new Set(
    [...Object.values(namesOfCountry), ...Object.values(namesOfState)].flatMap((names) => Object.values(names))
  )
]
