import { Effect } from "effect"
import { given, simulate } from "../../../src/simulation/index.ts"
import { Table } from "./seats.ts"

/** A specification of one case. It passes: nobody has thought of the case that is wrong. */
export const cancelling = () =>
  given(Table, [{ _tag: "Reserved", guest: "anna", seats: 3 }])
    .when({ _tag: "Cancel", guest: "anna" })
    .then({ facts: [{ _tag: "Cancelled", guest: "anna" }], reply: 4 })

/** The same rule in the real engine, with drawn commands and faults. */
export const proof = simulate(Table, {
  invariants: {
    "every seat is free or held": ({ free, held }) =>
      free + Object.values(held).reduce((sum, seats) => sum + seats, 0) === 4
  },
  seeds: 50
})

/** What it finds, as text. */
export const finding = Effect.match(proof, {
  onFailure: ({ message }) => message,
  onSuccess: () => "nothing found"
})
