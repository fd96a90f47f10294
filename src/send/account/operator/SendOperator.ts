/**
 * Serves operators' acts on an organization's accounts (docs/platform.md, 9.9): inspect one and why it was paused, lift
 * the pause, set its risk and limits. Acts are decisions of the account's actor. Needs `SqlClient` and the engine,
 * which for commands may have to be started first.
 */
import { Context, Data, Effect, Layer, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import type { Engine } from "../../../engine/Engine.ts"
import { AskError, isRetryable } from "../../../engine/errors.ts"
import { EngineOnDemand } from "../../../platform/EngineOnDemand.ts"
import type { Organization, Risk } from "../../../platform/model.ts"
import type { ProbationCaps } from "../../limits.ts"
import { type CustomLimits, capsOf, emailsPerMonth, sendRequestsPerMinute } from "../../rules/account.ts"
import { domainOf } from "../../rules/domainKey.ts"
import type { PauseReason, TriggerCount } from "../../rules/pause.ts"
import type { Stage } from "../../rules/trust.ts"
import { bareAddress } from "../actors/actorKeys.ts"
import {
  isAccountRejection,
  type Mode,
  SendAccount,
  type SendAccountCommand,
  type SendAccountRejection,
  type SendAccountReply,
  type SenderCommand,
  type SenderRejection,
  type SenderReply,
  SendSender,
  senderKey,
  senderName
} from "../actors/index.ts"
import { decidingTags, evidenceOf, maximumShownFacts, type ShownFact, sentenceOf } from "./accountFacts.ts"

/** An account, of an organization that exists. See {@link SendOperator}. */
export interface AccountOf {
  readonly organization: Organization
  readonly mode: Mode
}

/** An account by its names. */
export interface AccountNamed {
  readonly organization: { readonly id: string }
  readonly mode: Mode
}

/** An account as operators see it. Times are Unix milliseconds. */
export interface AccountShown {
  readonly mode: Mode
  readonly trustStage: Stage
  readonly probationEndsAt: number | null
  readonly pausedAt: number | null
  readonly pauseReason: PauseReason | null
  readonly risk: Risk
  /** The limits that an operator has set; null for those of the plan and the risk. */
  readonly custom: CustomLimits
  /** The progress of each trigger of a pause; empty in every stage but probation; null where it is not known. */
  readonly triggers: ReadonlyArray<TriggerCount> | null
  /** Emails of the present month; null where it is not known. */
  readonly emailsThisMonth: number | null
  /** The limits in force. The caps apply only on probation, and are null outside it. */
  readonly inForce: {
    readonly emailsPerMonth: number | "unlimited"
    readonly probation: ProbationCaps | null
    readonly requestsPerMinute: number | "unlimited"
  }
}

/** A sender as operators see it. */
export interface SenderShown extends SenderReply {
  readonly mode: Mode
  readonly sender: string
}

/** A fact with its place in the organization's log. */
export interface FactShown {
  readonly decidedAt: number
  readonly sequence: number
  readonly index: number
  readonly fact: ShownFact
  readonly sentence: string
}

/** The act does not fit the account, and nothing was done; the message says why. Terminal. See {@link SendOperator}. */
export class ActRefused extends Data.TaggedError("ActRefused")<{ readonly message: string }> {}

/** The engine cannot say or store it now; safe to repeat. See {@link SendOperator}. */
export class AccountUnavailable extends Data.TaggedError("AccountUnavailable")<{ readonly message: string }> {}

type Act = Effect.Effect<AccountShown, ActRefused | AccountUnavailable>

/** An operator's view of an account that sends, and acts on it: the facts behind a pause, lifting it, risk, limits. */
export class SendOperator extends Context.Service<
  SendOperator,
  {
    readonly show: (account: AccountOf) => Effect.Effect<AccountShown, AccountUnavailable>
    /**
     * The changes of the account's stage, risk and limits, and the facts behind its last pause; in order, the newest
     * 500. The newest may come a moment late.
     */
    readonly facts: (account: AccountNamed) => Effect.Effect<ReadonlyArray<FactShown>, SqlError.SqlError>
    /** The tier and the daily cap of a domain or an address, verified or not. */
    readonly sender: (account: AccountNamed, sender: string) => Effect.Effect<SenderShown, AccountUnavailable>
    readonly lift: (account: AccountOf) => Act
    readonly setRisk: (account: AccountOf, risk: Risk) => Act
    /** For both of the organization's accounts. */
    readonly setLimits: (account: AccountOf, custom: CustomLimits) => Act
    /** A daily cap of a verified domain or address in place of its tier's, at least 1; null for the tier's. */
    readonly setDailyCap: (
      account: AccountOf,
      sender: string,
      cap: number | null
    ) => Effect.Effect<SenderShown, ActRefused | AccountUnavailable>
  }
>()("sluice/send/SendOperator") {
  static readonly layer: Layer.Layer<SendOperator, never, EngineOnDemand | SqlClient.SqlClient> = Layer.effect(
    SendOperator,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const started = yield* EngineOnDemand
      return make(
        sql,
        Effect.mapError(started, ({ message }) => new AccountUnavailable({ message }))
      )
    })
  )
}

const isAskError = Schema.is(AskError)

const shown = (
  mode: Mode,
  organization: Organization,
  account: SendAccountReply["account"],
  { custom, emailsThisMonth, hasBegun, risk: own, triggers }: NonNullable<SendAccountReply["look"]>
): AccountShown => {
  const { trustStage } = account
  // An account that nothing has happened to begins with the organization's risk.
  const risk = hasBegun ? own : organization.risk
  return {
    mode,
    trustStage,
    probationEndsAt: account.probationEndsAt ?? null,
    pausedAt: account.pausedAt ?? null,
    pauseReason: account.pauseReason ?? null,
    risk,
    custom: { ...custom, requestsPerMinute: custom.requestsPerMinute ?? null },
    triggers: triggers ?? null,
    emailsThisMonth: emailsThisMonth ?? null,
    inForce: {
      emailsPerMonth: emailsPerMonth({ custom, plan: organization.sendPlan }),
      probation: trustStage === "probation" ? capsOf(custom, risk) : null,
      requestsPerMinute: sendRequestsPerMinute(custom, organization.sendPlan)
    }
  }
}

const senderRefusal = (rejection: SenderRejection, sender: string): string => {
  switch (rejection._tag) {
    case "NotVerified":
      return `The account has no verified sender ${JSON.stringify(sender)}`
    case "CapInvalid":
      return "A daily cap is a whole number of at least 1"
    default:
      return `The sender ${JSON.stringify(sender)} cannot be changed: ${rejection._tag}`
  }
}

const refusal = (rejection: SendAccountRejection): string => {
  // No act of an operator is a preview.
  if ("_tag" in rejection && rejection._tag === "Acceptable") return "The account accepts this"
  if ("_tag" in rejection && rejection._tag === "NotPaused")
    return `The account is not paused: its stage is ${rejection.trustStage}`
  return rejection.message
}

interface Row {
  readonly decided_at: number
  readonly sequence: number
  readonly idx: number
  readonly fact: string
}

const factOf = ({ decided_at, fact, idx, sequence }: Row): FactShown => {
  // The projection has written it.
  const read = JSON.parse(fact) as ShownFact
  return {
    decidedAt: Number(decided_at),
    sequence: Number(sequence),
    index: idx,
    fact: read,
    sentence: sentenceOf(read)
  }
}

/** The facts of an account, from a database alone. */
export const readFacts = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  { mode, organization: { id } }: AccountNamed
) {
  const ofAccount = sql`from send_account_facts where organization_id = ${id} and mode = ${mode}`
  const newest = sql`order by decided_at desc, sequence desc, idx desc`
  const [paused] = yield* sql<Row>`select * ${ofAccount} and tag = 'Paused' ${newest} limit 1`
  const pause = paused === undefined ? undefined : factOf(paused)
  const evidence = yield* Effect.suspend(() => {
    if (pause?.fact._tag !== "Paused") return Effect.succeed(sql`false`)
    const { decidedAt, fact } = pause
    return Effect.map(
      sql<{ readonly since: number | null }>`
        select max(decided_at) as since ${ofAccount} and tag in ('Began', 'Lifted') and decided_at <= ${decidedAt}`,
      ([begun]) => {
        const { onlyWithSignals, since, tag } = evidenceOf(fact.reason, fact.at, Number(begun?.since ?? 0))
        const until = sql`decided_at between ${since} and ${decidedAt}`
        return sql`tag = ${tag} and ${until} and (signals > 0 or not ${onlyWithSignals}::bool)`
      }
    )
  })
  const rows = yield* sql<Row>`
    select * ${ofAccount} and (${sql.in("tag", decidingTags)} or (${evidence})) ${newest} limit ${maximumShownFacts}`
  return rows.map(factOf).reverse()
})

const failing = (error: AskError): Effect.Effect<never, AccountUnavailable> =>
  isRetryable(error, { isIdempotent: true })
    ? Effect.fail(new AccountUnavailable({ message: error.message }))
    : Effect.die(error)

/** The acts on a sender. */
const makeSenderActs = (
  started: Effect.Effect<Engine["Service"], AccountUnavailable>
): Pick<SendOperator["Service"], "sender" | "setDailyCap"> => {
  const nameOf = (sender: string): string => (sender.includes("@") ? bareAddress(sender) : domainOf(sender))
  const askSender = Effect.fnUntraced(function* (
    { mode, organization }: AccountNamed,
    name: string,
    command: SenderCommand
  ) {
    const engine = yield* started
    const key = senderKey(mode, senderName(name))
    return yield* engine.ask(SendSender, { organization: organization.id, key }, command)
  })
  const sender = Effect.fn("SendOperator.sender")(function* (account: AccountNamed, given: string) {
    const name = nameOf(given)
    const reply = yield* Effect.catch(
      askSender(account, name, { _tag: "Check" }),
      (error): Effect.Effect<never, AccountUnavailable> =>
        error._tag === "AccountUnavailable"
          ? Effect.fail(error)
          : isAskError(error)
            ? failing(error)
            : Effect.die(error)
    )
    return { mode: account.mode, sender: name, ...reply }
  })
  const setDailyCap = Effect.fn("SendOperator.setDailyCap")(function* (
    account: AccountOf,
    sender: string,
    cap: number | null
  ) {
    const name = nameOf(sender)
    const ask = (command: SenderCommand) =>
      Effect.catch(
        askSender(account, name, command),
        (error): Effect.Effect<never, ActRefused | AccountUnavailable> =>
          error._tag === "AccountUnavailable"
            ? Effect.fail(error)
            : isAskError(error)
              ? failing(error)
              : Effect.fail(new ActRefused({ message: senderRefusal(error, sender) }))
      )
    // A name that is written wrong must not become a sender with a cap.
    const { isVerified } = yield* ask({ _tag: "Check" })
    if (!isVerified) return yield* new ActRefused({ message: senderRefusal({ _tag: "NotVerified" }, sender) })
    return { mode: account.mode, sender: name, ...(yield* ask({ _tag: "SetDailyCap", cap })) }
  })
  return { sender, setDailyCap }
}

const make = (
  sql: SqlClient.SqlClient,
  started: Effect.Effect<Engine["Service"], AccountUnavailable>
): SendOperator["Service"] => {
  const target = ({ mode, organization }: AccountOf) => ({ organization: organization.id, key: mode })
  const show = Effect.fn("SendOperator.show")(function* (account: AccountOf) {
    const engine = yield* started
    // Asked, because an actor's state can be read by the process that has it alone.
    const asked = engine.ask(SendAccount, target(account), { _tag: "Look" })
    const reply = yield* Effect.catch(asked, (error) =>
      isAccountRejection(error) ? Effect.die(error) : failing(error)
    )
    if (reply.look === undefined) return yield* Effect.die(new Error("the account has not said what it is"))
    return shown(account.mode, account.organization, reply.account, reply.look)
  })
  const refused = (error: SendAccountRejection | AskError): Effect.Effect<never, ActRefused | AccountUnavailable> =>
    isAccountRejection(error) ? Effect.fail(new ActRefused({ message: refusal(error) })) : failing(error)
  const act = (account: AccountOf, command: SendAccountCommand): Act =>
    Effect.gen(function* () {
      const engine = yield* started
      const ask = (asked: SendAccountCommand) => Effect.catch(engine.ask(SendAccount, target(account), asked), refused)
      // Any other first command would begin the account with the standard risk.
      yield* ask({ _tag: "Begin", risk: account.organization.risk })
      yield* ask(command)
      return yield* show(account)
    })
  return SendOperator.of({
    ...makeSenderActs(started),
    show,
    facts: Effect.fn("SendOperator.facts")((account) => readFacts(sql, account)),
    lift: Effect.fn("SendOperator.lift")((account) => act(account, { _tag: "Lift" })),
    setRisk: Effect.fn("SendOperator.setRisk")((account, risk) => act(account, { _tag: "SetRisk", risk })),
    setLimits: Effect.fn("SendOperator.setLimits")((account, custom) => act(account, { _tag: "SetLimits", custom }))
  })
}
