/**
 * Makes the table of accounts by their standing (docs/platform.md, 9.9), for its migration: from the states of
 * checkpoints, which are there for every account, and from the newer facts. Needs `SqlClient`.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { accountsTable } from "./accountStages.ts"

export const createAccountsTable = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table ${sql(accountsTable)} (
      organization_id text collate "C" not null,
      mode text collate "C" not null,
      stage text collate "C" not null,
      risk text collate "C" not null,
      changed_at int8 not null,
      paused_at int8,
      pause_reason text collate "C",
      warned_at int8,
      primary key (organization_id, mode)
    )`
  yield* sql`
    insert into ${sql(accountsTable)} (organization_id, mode, stage, risk, changed_at, paused_at, pause_reason)
    select organization, key, trust->>'stage', trust->>'risk', since,
      case when trust->>'stage' = 'sending_paused' then since end, trust->>'pauseReason'
    from (
      select distinct on (a.organization, a.key) a.organization, a.key, a.state::jsonb->'trust' as trust,
        (a.state::jsonb->'trust'->>'since')::float8::int8 as since, a.state::jsonb->'closedAt' as closed
      from engine_actors a join organizations o on o.id = a.organization and o.deleted_at is null
      where a.kind = 'sendAccount' and a.state is not null
      order by a.organization, a.key, a.sequence desc) newest
    where since is not null and closed is null`
  yield* sql`
    insert into ${sql(accountsTable)} (organization_id, mode, stage, risk, changed_at, paused_at, pause_reason)
    select l.organization_id, l.mode,
      case l.tag when 'Paused' then 'sending_paused' when 'Established' then 'established' when 'Trusted' then 'trusted'
        else 'probation' end,
      coalesce(r.risk, s.risk, o.risk), l.decided_at, case l.tag when 'Paused' then l.decided_at end, l.fact->>'reason'
    from (
      select distinct on (organization_id, mode) organization_id, mode, tag, decided_at, fact::jsonb as fact
      from send_account_facts where tag in ('Began', 'Paused', 'Lifted', 'Established', 'Trusted', 'Closed')
      order by organization_id, mode, decided_at desc, sequence desc, idx desc) l
    join organizations o on o.id = l.organization_id and o.deleted_at is null
    left join (
      select distinct on (organization_id, mode) organization_id, mode, fact::jsonb->>'risk' as risk
      from send_account_facts where tag in ('Began', 'RiskSet')
      order by organization_id, mode, decided_at desc, sequence desc, idx desc) r using (organization_id, mode)
    left join ${sql(accountsTable)} s using (organization_id, mode)
    where l.tag <> 'Closed'
    on conflict (organization_id, mode) do update
      set stage = excluded.stage, risk = excluded.risk, changed_at = excluded.changed_at,
        paused_at = excluded.paused_at, pause_reason = excluded.pause_reason
      where excluded.changed_at >= ${sql(accountsTable)}.changed_at`
  yield* sql`create index send_accounts_newest on ${sql(accountsTable)} (changed_at desc, organization_id desc, mode desc)`
  yield* sql`
    create index send_accounts_by_stage on ${sql(accountsTable)}
    (stage, changed_at desc, organization_id desc, mode desc)`
  // Few accounts are warned or of a higher risk, and a list of them must not read all others.
  yield* sql`
    create index send_accounts_warned on ${sql(accountsTable)} (changed_at desc, organization_id desc, mode desc)
    where stage = 'probation' and warned_at is not null`
  yield* sql`
    create index send_accounts_by_risk on ${sql(accountsTable)} (changed_at desc, organization_id desc, mode desc)
    where risk = 'higher'`
})
