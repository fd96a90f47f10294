/** Tables of the send product. */
import { createDayPartitioned } from "../postgres/dayPartitions.ts"
import { accountFactsTable } from "./operator/accountFacts.ts"

/** Facts of accounts that operators are shown (docs/platform.md, 9.9). Those of one account are in the order of (decided_at, sequence, idx). */
export const createAccountFacts = createDayPartitioned(accountFactsTable, {
  column: "decided_at",
  columns: `
    organization_id text collate "C" not null,
    mode text collate "C" not null,
    decided_at int8 not null,
    sequence int8 not null,
    idx int4 not null,
    tag text collate "C" not null,
    signals int4 not null,
    fact text not null,
    primary key (organization_id, mode, decided_at, sequence, idx)`
})
