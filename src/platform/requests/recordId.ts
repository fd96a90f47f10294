/** Makes ids of the request log: a time, by which a record is found in its day, and a random text. Needs no service. */
import { randomText } from "../../common/identifiers.ts"

const timeLength = 9

/** The id of a record of a time in Unix milliseconds: `rq_…`. */
export const makeRecordId = (at: number): string => `rq_${at.toString(36).padStart(timeLength, "0")}${randomText()}`

/** The time in an id; undefined for a text that is none. */
export const timeOfRecord = (id: string): number | undefined => {
  const text = /^rq_([0-9a-z]{9})[0-9A-Za-z]{22}$/.exec(id)?.[1]
  return text === undefined ? undefined : Number.parseInt(text, 36)
}
