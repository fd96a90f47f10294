/** Questions about the history of accounts that were sent from over HTTP (docs/what-if.md). */
import { Effect, Logger } from "effect"
import { SqlClient } from "effect/sql"
import { describe, expect, it } from "vitest"
import { builtInCatalogue } from "../../../src/billing/index.ts"
import { Engine } from "../../../src/engine/Engine.ts"
import { Organizations } from "../../../src/platform/Organizations.ts"
import { RequestWriter } from "../../../src/platform/requests/RequestWriter.ts"
import { type Mode, SendSender, senderKey } from "../../../src/send/index.ts"
import type { OtherRules } from "../../../src/send/whatIf/otherRules.ts"
import { WhatIf } from "../../../src/send/whatIf/WhatIf.ts"
import { useBillingPlatform } from "../../billing/billingPlatform.ts"
import { until } from "../../cli/support.ts"

const platform = useBillingPlatform({
  catalogue: builtInCatalogue,
  terms: { settlement: "by operator", graceMillis: 0, dueMillis: 0 }
})

const mails = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    from: "ann@one.test",
    to: `bob${index}@two.test`,
    subject: "Hello",
    text: "Hello"
  }))

/** An account that has sent 40 emails, and was refused 20 more by the cap of an hour. */
const refusedAccount = async () => {
  const tenant = await platform().tenant()
  const { organization } = tenant
  await platform().run(
    Effect.flatMap(Engine, (engine) =>
      engine.ask(SendSender, { organization, key: senderKey("live", "one.test") }, { _tag: "Verify" })
    )
  )
  const accepted = await tenant.ask("POST", "/v1/send/emails/batch", mails(40))
  expect([accepted.status, accepted.body.error]).toEqual([202, undefined])
  expect((await tenant.ask("POST", "/v1/send/emails/batch", mails(20))).status).toBe(429)
  await platform().run(Effect.flatMap(RequestWriter, ({ flush }) => flush).pipe(Effect.provide(Logger.layer([]))))
  await until(async () => {
    const [found] = await platform().run(
      Effect.flatMap(
        SqlClient.SqlClient,
        (sql) => sql<{ readonly emails: number }>`
          select count(*)::int as emails from send_emails where organization_id = ${organization}`
      )
    )
    return found!.emails === 40
  })
  return tenant
}

const asked = (organizationId: string, rules: OtherRules, mode: Mode = "live") =>
  platform().run(
    Effect.gen(function* () {
      const organization = yield* (yield* Organizations).get(organizationId)
      const whatIf = yield* WhatIf
      return yield* whatIf.ask({
        organization,
        mode,
        since: Date.now() - 86_400_000,
        until: Number.MAX_SAFE_INTEGER,
        rules
      })
    })
  )

const sums = (days: ReadonlyArray<{ readonly accepted: number; readonly held: number; readonly refused: object }>) => {
  const total = { accepted: 0, held: 0, refused: {} as Record<string, number> }
  for (const { accepted, held, refused } of days) {
    total.accepted += accepted
    total.held += held
    for (const [code, emails] of Object.entries(refused)) total.refused[code] = (total.refused[code] ?? 0) + emails
  }
  return total
}

describe("a question about a history", () => {
  it("[platform 9.9] shows what other caps would have accepted, refused and held", async () => {
    const { organization } = await refusedAccount()
    const wider = await asked(organization, { probationHour: 100 })
    expect(sums(wider.asItWas.days)).toEqual({ accepted: 40, held: 0, refused: { probation_limit_reached: 20 } })
    expect(sums(wider.underRules.days)).toEqual({ accepted: 60, held: 0, refused: {} })
    expect(wider.agreement).toEqual({ same: 2, other: 0 })
    expect(wider.unknown).toEqual({
      fates: 20,
      requests: 0,
      refusedSince: expect.any(Number),
      beginning: false
    })
    const narrow = await asked(organization, { probationHour: 30, tiers: { new: 5 } })
    expect(sums(narrow.underRules.days)).toEqual({ accepted: 20, held: 15, refused: { probation_limit_reached: 40 } })
  })

  it("[platform 9.9] is of one organization and mode", async () => {
    const { organization } = await refusedAccount()
    const other = await platform().tenant()
    const answer = await asked(other.organization, { probationHour: 100 })
    expect([answer.asItWas.days, answer.underRules.days]).toEqual([[], []])
    expect(answer.agreement).toEqual({ same: 0, other: 0 })
    expect((await asked(organization, { probationHour: 100 }, "test")).agreement).toEqual({ same: 0, other: 0 })
  })
})
