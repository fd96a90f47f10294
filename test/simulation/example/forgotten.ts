/** Transfers whose receiver is forgotten. */
import { Actor } from "../../../src/index.ts"
import { plan } from "../../../src/simulation/index.ts"
import { Account } from "./transfers.ts"

const Forgetful: typeof Account = Actor.make({
  ...Account.options,
  kind: "forgetful",
  touches: (command) => (command._tag === "Transfer" ? [Forgetful.at(command.to)] : []),
  decide: ({ balance }, command, { read }) => {
    if (command._tag === "Open") return Actor.decided({ facts: [{ amount: 100 }], reply: 100 })
    if (balance === null || read(Forgetful, command.to).balance === null) return Actor.rejected("not open")
    return Actor.decided({ facts: [{ amount: -command.amount }], reply: balance - command.amount })
  }
})

export const forgotten = plan(Forgetful, {
  keys: ["ann", "ben"],
  together: {
    "what was opened with is still there": (states) =>
      states.of(Forgetful).reduce((sum, { state }) => sum + (state.balance ?? 0), 0) % 100 === 0
  }
})
