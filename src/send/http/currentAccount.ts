/** Finds the account that a request concerns. */
import { Effect } from "effect"
import { CurrentPrincipal } from "../../platform/access.ts"
import type { Account } from "../senders/domains/model.ts"

/** The account of the key that asks. */
export const currentAccount = Effect.map(
  CurrentPrincipal,
  ({ mode, organizationId }): Account => ({ organizationId, mode })
)
