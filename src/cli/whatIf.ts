/** Implements `sluice what-if`: an account's history under other rules (docs/what-if.md). */
import { Clock, Console, Effect, Option, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import { AdminClient } from "../admin/AdminClient.ts"
import type { WhatIfShown } from "../admin/whatIfApi.ts"
import { sendPlans } from "../platform/model.ts"
import { modes } from "../send/index.ts"
import { withAdmin } from "./admin.ts"
import { json, settingFlags } from "./flags.ts"
import { printJson } from "./output.ts"
import { whatIfCsv, whatIfText } from "./whatIfText.ts"

const units = { h: 3_600_000, d: 86_400_000 } as const

const timePattern = /^(?:(\d{1,4})([hd])|\d{4}-\d\d-\d\d(?:T[\d:.]+Z)?)$/

const timeOf = Schema.String.check(
  Schema.isPattern(timePattern, { message: "Expected a time such as 7d, 36h, 2026-11-01 or 2026-11-01T12:00:00Z" })
)

/** The instant that a text names: so long ago, or a time in UTC. */
const instantOf = (text: string, now: number): number => {
  const [, count, unit] = timePattern.exec(text) ?? []
  return count === undefined ? Date.parse(text) : now - Number(count) * units[unit as keyof typeof units]
}

const count = (name: string, description: string) =>
  Flag.Int(name).pipe(Flag.withDescription(description), Flag.optional)

const flags = {
  org: Flag.String("org").pipe(Flag.withDescription("Id of the organization")),
  mode: Flag.Literals("mode", modes).pipe(
    Flag.withDescription("The account of live keys or that of test keys"),
    Flag.withDefault("live" as const)
  ),
  since: Flag.String("since").pipe(
    Flag.withSchema(timeOf),
    Flag.withDescription("The first day: so long ago, such as 7d, or a time in UTC"),
    Flag.withDefault("30d")
  ),
  until: Flag.String("until").pipe(
    Flag.withSchema(timeOf),
    Flag.withDescription("The end; default: now"),
    Flag.optional
  ),
  plan: Flag.Literals("plan", sendPlans).pipe(Flag.withDescription("Another send plan"), Flag.optional),
  perMonth: Flag.String("per-month").pipe(
    Flag.withSchema(
      Schema.String.check(
        Schema.isPattern(/^([1-9]\d{0,9}|unlimited)$/, { message: "Expected a number of at least 1, or unlimited" })
      )
    ),
    Flag.withDescription("Emails a month, or unlimited"),
    Flag.optional
  ),
  probationHour: count("probation-hour", "Emails in any hour on probation"),
  probationDay: count("probation-day", "Emails in any 24 hours on probation"),
  probationHours: count("probation-hours", "Hours of a probation"),
  tierNew: count("tier-new", "Emails a day of a new sender"),
  tierWarming: count("tier-warming", "Emails a day of a sender that is warming"),
  tierTrusted: count("tier-trusted", "Emails a day of a trusted sender"),
  pauseBounces: count("pause-bounces", "Bounces among the first 25 emails that pause an account; 0 for none"),
  pauseComplaints: Flag.Literals("pause-complaints", ["on", "off"]).pipe(
    Flag.withDescription("Whether a complaint about one of the first 100 emails pauses an account"),
    Flag.optional
  ),
  pauseSpike: count("pause-spike", "The least emails of an hour that may be a spike; 0 for no pause by one"),
  pauseSignals: count("pause-signals", "Risky signals in 24 hours that pause an account; 0 for none"),
  liftHours: count("lift-hours", "Hours after which a pause is lifted that was not in the history"),
  csv: Flag.Boolean("csv").pipe(Flag.withDescription("Print CSV"), Flag.withDefault(false)),
  json,
  dataDir: settingFlags.dataDir
}

type Options = Command.Command.Config.Infer<typeof flags>

/** The fields of those flags that are given. */
const given = <Fields extends Readonly<Record<string, Option.Option<unknown>>>>(fields: Fields) =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) => (Option.isSome(value) ? [[name, value.value]] : []))
    // Each field that is there has the value of its flag.
  ) as { readonly [Name in keyof Fields]?: Option.Option.Value<Fields[Name]> }

const rulesOf = (options: Options) => {
  const { liftHours, pauseBounces, pauseComplaints, pauseSignals, pauseSpike, perMonth, plan } = options
  const { probationDay, probationHour, probationHours, tierNew, tierTrusted, tierWarming } = options
  const tiers = given({ new: tierNew, warming: tierWarming, trusted: tierTrusted })
  return {
    ...given({ plan, probationDay, probationHour, probationHours, pauseBounces, pauseSignals, pauseSpike, liftHours }),
    ...given({
      emailsPerMonth: Option.map(perMonth, (limit) => (limit === "unlimited" ? limit : Number(limit))),
      pauseComplaints: Option.map(pauseComplaints, (choice) => choice === "on")
    }),
    ...(Object.keys(tiers).length === 0 ? {} : { tiers })
  }
}

const print = (options: Options, shown: WhatIfShown) =>
  options.json ? printJson(shown) : Console.log(options.csv ? whatIfCsv(shown) : whatIfText(shown))

export const whatIf = Command.make("what-if", flags, (options) =>
  withAdmin(
    options,
    Effect.gen(function* () {
      const client = yield* AdminClient
      const now = yield* Clock.currentTimeMillis
      const until = Option.map(options.until, (text) => instantOf(text, now))
      const payload = {
        mode: options.mode,
        since: instantOf(options.since, now),
        ...given({ until }),
        rules: rulesOf(options)
      }
      yield* print(options, yield* client.whatIf.ask({ params: { id: options.org }, payload }))
    })
  )
).pipe(
  Command.withDescription("Decide an account's history again under other caps, plans and pauses; nothing is changed")
)
