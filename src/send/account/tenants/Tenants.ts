/**
 * Shows owners the accounts of their organization (docs/platform.md, 9.16). Needs `Engine`, `Organizations` and
 * `SqlClient`.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { Engine } from "../../../engine/Engine.ts"
import type { AskError } from "../../../engine/errors.ts"
import { OrganizationActor } from "../../../platform/OrganizationActor.ts"
import { type OrganizationNotFound, Organizations } from "../../../platform/Organizations.ts"
import type { SendPlan } from "../../limits.ts"
import type { Account } from "../../senders/domains/model.ts"
import { isAccountRejection, SendAccount, type SendAccountCommand } from "../actors/index.ts"
import { type FactShown, readFacts } from "../operator/SendOperator.ts"
import { type LimitUsage, limitUsageOf } from "./limitUsage.ts"

export type TenantError = AskError | OrganizationNotFound | SqlError.SqlError

export interface TenantShown extends LimitUsage {
  readonly plan: SendPlan
}

export class Tenants extends Context.Service<
  Tenants,
  {
    /**
     * Reads the account by the plan that is in force now. Its probation begins, if nothing has begun it yet. `known` is
     * the plan as the caller last heard of it.
     */
    readonly get: (account: Account, known: SendPlan) => Effect.Effect<TenantShown, TenantError>
    /**
     * The changes of the account's stage, risk and limits, and the facts behind its last pause; in order, the newest
     * 500. The newest may come a moment late.
     */
    readonly facts: (account: Account) => Effect.Effect<ReadonlyArray<FactShown>, SqlError.SqlError>
    /** Starts the organization's test account over. */
    readonly reset: (organizationId: string, known: SendPlan) => Effect.Effect<TenantShown, TenantError>
  }
>()("sluice/send/Tenants") {
  static readonly layer: Layer.Layer<Tenants, never, Engine | Organizations | SqlClient.SqlClient> = Layer.effect(
    Tenants,
    Effect.suspend(() => make)
  )
}

const make = Effect.gen(function* () {
  const engine = yield* Engine
  const organizations = yield* Organizations
  const sql = yield* SqlClient.SqlClient

  const targetOf = ({ mode, organizationId }: Account) => ({ organization: organizationId, key: mode })
  // Neither of the two commands is rejected for the account that it is asked of here.
  const tell = (account: Account, command: SendAccountCommand) =>
    Effect.catchIf(engine.ask(SendAccount, targetOf(account), command), isAccountRejection, Effect.die)

  const standing = Effect.fnUntraced(function* (account: Account, plan: SendPlan) {
    const state = yield* engine.state(SendAccount, targetOf(account))
    return limitUsageOf(state, plan, yield* Clock.currentTimeMillis)
  })

  /**
   * A key's knowledge of the plan follows a change by a moment; the organization's actor has it immediately. It knows
   * none of one from a version without an engine.
   */
  const planOf = ({ organizationId }: Account, known: SendPlan) =>
    Effect.map(
      engine.state(OrganizationActor, { organization: organizationId }),
      ({ sendPlan }): SendPlan => sendPlan ?? known
    )

  const begin = Effect.fnUntraced(function* (account: Account) {
    const { trust } = yield* engine.state(SendAccount, targetOf(account))
    if (trust.since !== null) return
    const { risk } = yield* organizations.get(account.organizationId)
    yield* tell(account, { _tag: "Begin", risk })
  })

  return Tenants.of({
    get: Effect.fn("Tenants.get")(function* (account, known) {
      yield* begin(account)
      const plan = yield* planOf(account, known)
      return { plan, ...(yield* standing(account, plan)) }
    }),
    facts: Effect.fn("Tenants.facts")(({ mode, organizationId }) =>
      readFacts(sql, { mode, organization: { id: organizationId } })
    ),
    reset: Effect.fn("Tenants.reset")(function* (organizationId, known) {
      const account = { organizationId, mode: "test" } as const
      const { risk } = yield* organizations.get(organizationId)
      yield* tell(account, { _tag: "Reset", risk })
      const plan = yield* planOf(account, known)
      return { plan, ...(yield* standing(account, plan)) }
    })
  })
})
