/**
 * Implements `sluice send show | lift | risk | limits | cap --org ID`: an operator's acts on an organization's accounts
 * (docs/platform.md, 9.9).
 */
import { Console, Data, Effect, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { AdminClient } from "../admin/AdminClient.ts"
import type { SendAccountShown } from "../admin/sendApi.ts"
import { risks } from "../platform/model.ts"
import { modes } from "../send/index.ts"
import { withAdmin } from "./admin.ts"
import { json, settingFlags } from "./flags.ts"
import { printJson, printTable, shownTime } from "./output.ts"

const account = {
  org: Flag.String("org").pipe(Flag.withDescription("Id of the organization")),
  mode: Flag.Literals("mode", modes).pipe(
    Flag.withDescription("The account of live keys or that of test keys"),
    Flag.withDefault("live" as const)
  ),
  json,
  dataDir: settingFlags.dataDir
}

const month = (emails: number | "unlimited") => (emails === "unlimited" ? "unlimited" : `${emails} a month`)

const caps = (of: NonNullable<SendAccountShown["inForce"]["probation"]>) =>
  `${of.emailsPerHour} an hour, ${of.emailsPerDay} a day, ${of.domainsPerHour} recipient domains an hour`

const text = (shown: SendAccountShown): string => {
  const own = (set: unknown) => (set === null ? "" : ", set by an operator")
  const lines: ReadonlyArray<readonly [field: string, value: string] | undefined> = [
    ["account", shown.mode],
    ["stage", shown.trustStage],
    shown.pausedAt === null ? undefined : ["paused", `${shownTime(shown.pausedAt)} for ${shown.pauseReason}`],
    shown.probationEndsAt === null ? undefined : ["probation", `until ${shownTime(shown.probationEndsAt)}`],
    ["risk", shown.risk],
    ["emails", `${month(shown.inForce.emailsPerMonth)}${own(shown.custom.emailsPerMonth)}`],
    shown.inForce.probation === null
      ? undefined
      : ["caps", `${caps(shown.inForce.probation)}${own(shown.custom.probation)}`],
    [
      "requests",
      `${shown.inForce.requestsPerMinute} a minute for each key${own(shown.custom.requestsPerMinute ?? null)}`
    ]
  ]
  return lines.flatMap((line) => (line === undefined ? [] : [`${line[0].padEnd(10)}${line[1]}`])).join("\n")
}

const print = (asJson: boolean, shown: SendAccountShown) => (asJson ? printJson(shown) : Console.log(text(shown)))

const show = Command.make("show", account, (flags) =>
  withAdmin(
    flags,
    Effect.gen(function* () {
      const client = yield* AdminClient
      const shown = yield* client.send.show({ params: { id: flags.org }, query: { mode: flags.mode } })
      if (flags.json) return yield* printJson(shown)
      yield* Console.log(`${text(shown)}\n`)
      yield* printTable(
        ["WHEN", "WHAT"],
        shown.facts.map(({ decidedAt, sentence }) => [new Date(decidedAt).toISOString(), sentence]),
        "Nothing has happened to this account yet."
      )
    })
  )
).pipe(Command.withDescription("Show an account, and the facts for which it was paused, in order"))

const lift = Command.make("lift", account, (flags) =>
  withAdmin(
    flags,
    Effect.gen(function* () {
      const client = yield* AdminClient
      yield* print(flags.json, yield* client.send.lift({ params: { id: flags.org }, payload: { mode: flags.mode } }))
    })
  )
).pipe(Command.withDescription("Lift a pause; probation begins again"))

const risk = Command.make(
  "risk",
  { risk: Argument.Literals("risk", risks).pipe(Argument.withDescription(`One of ${risks.join(", ")}`)), ...account },
  (flags) =>
    withAdmin(
      flags,
      Effect.gen(function* () {
        const client = yield* AdminClient
        const payload = { mode: flags.mode, risk: flags.risk }
        yield* print(flags.json, yield* client.send.setRisk({ params: { id: flags.org }, payload }))
      })
    )
).pipe(Command.withDescription("Set an account's risk; in force at its next decision"))

/** The command sets no limit, or caps that are not whole. */
export class LimitsNotSaid extends Data.TaggedError("LimitsNotSaid")<{ readonly message: string }> {}

const limitOf = Schema.String.check(
  Schema.isPattern(/^([1-9]\d{0,9}|unlimited|plan)$/, { message: "Expected a number of at least 1, unlimited or plan" })
)

const probationCaps = Schema.String.check(
  Schema.isPattern(/^(\d{1,6},\d{1,6},\d{1,6}|risk)$/, {
    message: "Expected emails an hour, emails a day and domains an hour, such as 100,500,50, or risk"
  })
)

const probationOf = (caps: string) => {
  if (caps === "risk") return null
  const [emailsPerHour = 0, emailsPerDay = 0, domainsPerHour = 0] = caps.split(",").map(Number)
  return { emailsPerHour, emailsPerDay, domainsPerHour }
}

const limits = Command.make(
  "limits",
  {
    perMonth: Flag.String("per-month").pipe(
      Flag.withSchema(limitOf),
      Flag.withDescription("Emails a month; unlimited for no limit, plan for the plan's own"),
      Flag.optional
    ),
    perMinute: Flag.String("per-minute").pipe(
      Flag.withSchema(limitOf),
      Flag.withDescription("Send requests a minute of each key; unlimited for no limit, plan for the plan's own"),
      Flag.optional
    ),
    probation: Flag.String("probation").pipe(
      Flag.withSchema(probationCaps),
      Flag.withDescription(
        "Caps on probation: emails an hour, emails a day, recipient domains an hour; risk for the risk's own"
      ),
      Flag.optional
    ),
    ...account
  },
  (flags) =>
    withAdmin(
      flags,
      Effect.gen(function* () {
        if ([flags.perMonth, flags.perMinute, flags.probation].every(Option.isNone))
          return yield* new LimitsNotSaid({ message: "Say which limit to set: --per-month, --per-minute, --probation" })
        const client = yield* AdminClient
        const params = { id: flags.org }
        // A limit that is not named stays.
        const { custom } = yield* client.send.show({ params, query: { mode: flags.mode } })
        const chosen = (given: string) => (given === "plan" ? null : given === "unlimited" ? given : Number(given))
        const month = Option.match(flags.perMonth, { onNone: () => custom.emailsPerMonth, onSome: chosen })
        const requestsPerMinute = Option.match(flags.perMinute, {
          onNone: () => custom.requestsPerMinute ?? null,
          onSome: chosen
        })
        const probation = Option.match(flags.probation, { onNone: () => custom.probation, onSome: probationOf })
        const ofKeys = requestsPerMinute === null ? {} : { requestsPerMinute }
        const payload = { mode: flags.mode, emailsPerMonth: month, probation, ...ofKeys }
        yield* print(flags.json, yield* client.send.setLimits({ params, payload }))
      })
    )
).pipe(
  Command.withDescription(
    "Set an organization's limits, for both of its accounts, in place of the plan's and the risk's"
  )
)

const dailyCap = Schema.String.check(
  Schema.isPattern(/^([1-9]\d{0,9}|tier)$/, { message: "Expected a number of at least 1, or tier" })
)

const cap = Command.make(
  "cap",
  {
    sender: Argument.String("sender").pipe(Argument.withDescription("A verified domain or address")),
    cap: Argument.String("cap").pipe(
      Argument.withSchema(dailyCap),
      Argument.withDescription("Emails a day; tier for the tier's own")
    ),
    ...account
  },
  (flags) =>
    withAdmin(
      flags,
      Effect.gen(function* () {
        const client = yield* AdminClient
        const own = flags.cap === "tier" ? null : Number(flags.cap)
        const payload = { mode: flags.mode, sender: flags.sender, dailyCap: own }
        const shown = yield* client.send.setCap({ params: { id: flags.org }, payload })
        if (flags.json) return yield* printJson(shown)
        const waiting = shown.waiting === 0 ? "" : `, ${shown.waiting} held`
        yield* Console.log(
          `${shown.sender} (${shown.mode}): ${shown.dailyCap} emails a day, tier ${shown.tier}${waiting}`
        )
      })
    )
).pipe(Command.withDescription("Set a sender's daily cap in place of its tier's"))

export const send = Command.make("send").pipe(
  Command.withDescription("Look at accounts that send, lift pauses, set risk, limits and caps"),
  Command.withSubcommands([show, lift, risk, limits, cap])
)
