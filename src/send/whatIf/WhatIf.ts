/**
 * Answers what an account's history would have been under other rules (docs/what-if.md). Needs `SqlClient` and the
 * engine, which for commands may have to be started first.
 */
import { Clock, Context, Effect, Layer, Semaphore } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { EngineOnDemand } from "../../platform/EngineOnDemand.ts"
import type { Organization } from "../../platform/model.ts"
import { type Mode, SendAccount, SendSender, senderKey, senderName } from "../account/actors/index.ts"
import { initialSender, type SenderState } from "../account/actors/model.ts"
import { AccountUnavailable } from "../account/operator/SendOperator.ts"
import { initialState } from "../rules/account.ts"
import { type DayFigure, dayOf } from "./DayFigures.ts"
import type { OtherRules } from "./otherRules.ts"
import { PastAccount, type PastBeginning, type PastPause } from "./PastAccount.ts"
import { type HistoryTooLong, readHistory } from "./readHistory.ts"
import type { PastEntry } from "./sendHistory.ts"

/** The account, the time and the rules of a question. */
export interface WhatIfAsked {
  readonly organization: Organization
  readonly mode: Mode
  /** Unix milliseconds; the days of the answer begin with its day. */
  readonly since: number
  /** The same, exclusive. */
  readonly until: number
  readonly rules: OtherRules
}

/** A history decided under some rules. */
export interface Decided {
  readonly days: ReadonlyArray<DayFigure>
  readonly pauses: ReadonlyArray<PastPause>
}

/** The answer: the history under the rules in force, and under the others. See {@link WhatIf}. */
export interface WhatIfAnswer {
  /** Decided again under the rules that are in force. */
  readonly asItWas: Decided
  readonly underRules: Decided
  /** Requests that the rules in force decide as they were answered, and the others. */
  readonly agreement: { readonly same: number; readonly other: number }
  readonly unknown: {
    /** Emails that were refused and would be accepted: they are taken to be handed over, and to please everybody. */
    readonly fates: number
    /** Refused requests of which the log kept no more than their number. */
    readonly requests: number
    /** Unix milliseconds from which on refused requests are known; null if none is. */
    readonly refusedSince: number | null
    /** Whether the account's facts do not reach back to the beginning, so that it begins with its present stage. */
    readonly beginning: boolean
  }
}

/** Entries between two pauses of the fiber: some ten milliseconds. */
const entriesOfTurn = 200

/** Decides a history again. */
const decide = Effect.fnUntraced(function* (
  beginning: PastBeginning,
  entries: ReadonlyArray<PastEntry>,
  rules: OtherRules,
  until: number
) {
  const account = new PastAccount(beginning, rules)
  for (const [index, entry] of entries.entries()) {
    account.take(entry)
    if (index % entriesOfTurn === entriesOfTurn - 1) yield* Effect.yieldNow
  }
  account.passUntil(until)
  return account
})

/** Decides an account's history again under other rules. */
export class WhatIf extends Context.Service<
  WhatIf,
  {
    /** One question at a time; the others wait. */
    readonly ask: (
      asked: WhatIfAsked
    ) => Effect.Effect<WhatIfAnswer, SqlError.SqlError | HistoryTooLong | AccountUnavailable>
  }
>()("sluice/send/WhatIf") {
  static readonly layer: Layer.Layer<WhatIf, never, EngineOnDemand | SqlClient.SqlClient> = Layer.effect(
    WhatIf,
    Effect.suspend(() => make())
  )
}

const make = Effect.fnUntraced(function* () {
  const sql = yield* SqlClient.SqlClient
  const started = yield* EngineOnDemand
  const turn = yield* Semaphore.make(1)

  /** The senders as they are now: their tiers are those that they begin with, if they were verified before. */
  const sendersOf = Effect.fnUntraced(function* (
    { mode, organization }: WhatIfAsked,
    entries: ReadonlyArray<PastEntry>,
    from: number
  ) {
    const engine = yield* Effect.mapError(started, ({ message }) => new AccountUnavailable({ message }))
    const names = new Set(
      entries.flatMap((entry) => (entry._tag === "Request" ? entry.emails : [])).map((one) => one.sender)
    )
    const states = new Map<string, SenderState>()
    for (const name of names) {
      const state = yield* Effect.mapError(
        engine.state(SendSender, { organization: organization.id, key: senderKey(mode, senderName(name)) }),
        ({ message }) => new AccountUnavailable({ message })
      )
      const { customCap, tier } = state
      const verifiedAt = tier.verifiedAt ?? from
      const begun = verifiedAt < from ? tier.tier : "new"
      states.set(name, {
        ...initialSender,
        customCap,
        tier: { ...initialSender.tier, tier: begun, verifiedAt, changedAt: verifiedAt }
      })
    }
    return states
  })

  const present = Effect.fnUntraced(function* ({ mode, organization }: WhatIfAsked) {
    const engine = yield* Effect.mapError(started, ({ message }) => new AccountUnavailable({ message }))
    return yield* Effect.mapError(
      engine.state(SendAccount, { organization: organization.id, key: mode }),
      ({ message }) => new AccountUnavailable({ message })
    )
  })

  const answer = Effect.fnUntraced(function* (asked: WhatIfAsked) {
    const { mode, organization, rules, since } = asked
    const until = Math.min(asked.until, yield* Clock.currentTimeMillis)
    const initial = { ...initialState, plan: organization.sendPlan }
    const owner = { organizationId: organization.id, mode }
    const history = yield* readHistory(sql, { owner, since, until, initial })
    const now = yield* present(asked)
    const senders = yield* sendersOf(asked, history.entries, history.from)
    const account = history.account ?? { ...initial, custom: now.custom, trust: now.trust }
    const beginning: PastBeginning = {
      account: { ...account, plan: organization.sendPlan },
      sender: (name) => senders.get(name) ?? initialSender
    }
    const asItWas = yield* decide(beginning, history.entries, {}, until)
    const underRules = yield* decide(beginning, history.entries, rules, until)
    const shown = ({ days, pauses }: PastAccount): Decided => ({
      days: days.list(since),
      pauses: pauses.filter(({ at }) => dayOf(at) >= dayOf(since))
    })
    return {
      asItWas: shown(asItWas),
      underRules: shown(underRules),
      agreement: asItWas.answers,
      unknown: {
        fates: underRules.assumedEmails,
        requests: history.sampled,
        refusedSince: history.refusedSince,
        beginning: history.account === undefined
      }
    }
  })

  return WhatIf.of({ ask: Effect.fn("WhatIf.ask")((asked) => turn.withPermit(answer(asked))) })
})
