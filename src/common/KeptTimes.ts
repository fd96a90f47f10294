/** Names how long events and the request log are kept, which an operator sets (docs/operating.md). */
import { Context } from "effect"

const dayMillis = 24 * 60 * 60 * 1000

/** Times in milliseconds. */
export interface KeptTimesShape {
  /** At least 30 days, because deliveries and replays go back so far. */
  readonly eventsMillis: number
  readonly requestsMillis: number
}

/** The times by days, as settings give them. */
export const keptDays = ({ events, requests }: { readonly events: number; readonly requests: number }) => ({
  eventsMillis: events * dayMillis,
  requestsMillis: requests * dayMillis
})

/** The times in force; without a setting 30 days of events and 7 of requests. */
export const KeptTimes = Context.Reference<KeptTimesShape>("sluice/common/KeptTimes", {
  defaultValue: () => keptDays({ events: 30, requests: 7 })
})
