import { Schema } from "effect"
import { Actor } from "../../../src/index.ts"

const hourMillis = 3_600_000
const firstHour = 8

/** Goes out at its time, but never before eight in the morning (UTC). */
export const Newsletter = Actor.make({
  kind: "newsletter",
  command: Schema.Struct({ sendAt: Schema.Int }),
  fact: Schema.Union([Schema.Struct({ sendAt: Schema.Int }), Schema.Struct({ sentAt: Schema.Int })]),
  state: Schema.NullOr(Schema.Int),
  initial: () => null,
  evolve: (_, fact) => ("sendAt" in fact ? fact.sendAt : null),
  decide: (_, { sendAt }) => Actor.decided({ facts: [{ sendAt }] }),
  wakeAt: (sendAt) => sendAt ?? undefined,
  wake: (_, { now }) => {
    const hour = Math.floor(now / hourMillis)
    return hour % 24 < firstHour
      ? Actor.wakeAgain((hour - (hour % 24) + firstHour) * hourMillis)
      : Actor.decided({ facts: [{ sentAt: now }] })
  }
})
