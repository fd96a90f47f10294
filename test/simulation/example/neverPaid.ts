/** Accounts of which only one is ever opened, so that nobody can pay. */
import { plan } from "../../../src/simulation/index.ts"
import { Account } from "./transfers.ts"

export const alone = plan(Account, { keys: ["ann"] })
