/** Drawn histories of an account against the naive one: admission, stages and pauses together, around the edges of windows, hours and months. */
import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import {
  type AccountCommand,
  type AccountState,
  admission,
  nextTransition,
  retryAfterSeconds,
  SendLimits
} from "../../src/send/index.ts"
import { living } from "./given.ts"
import { NaiveAccount } from "./naiveAccount.ts"

const { hourMillis, dayMillis } = SendLimits
/** Shortly before the end of a leap year's February, so that probations cross it. */
const start = Date.UTC(2028, 1, 27, 21, 17, 4, 321)

const int = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

/** Where the clock goes before a step: on, or to a millisecond around a whole hour, or around the end of something accepted. */
const Move = Schema.Union([
  Schema.TaggedStruct("By", {
    millis: Schema.Union([
      Schema.Literal(0),
      int(0, 90_000),
      int(0, hourMillis),
      int(0, dayMillis),
      int(0, 5 * dayMillis)
    ])
  }),
  Schema.TaggedStruct("ToHour", { hours: int(1, 80), off: Schema.Literals([-1, 0, 1]) }),
  Schema.TaggedStruct("ToEdge", {
    which: int(0, 1_000),
    window: Schema.Literals([hourMillis, dayMillis]),
    off: Schema.Literals([-1, 0, 1])
  })
])

const Act = Schema.Union([
  Schema.TaggedStruct("Send", { emails: int(1, 40), domains: int(1, 12), from: int(0, 30), signals: int(0, 2) }),
  Schema.TaggedStruct("Send", { emails: int(1, 100), domains: int(1, 3), from: int(0, 5), signals: Schema.Literal(0) }),
  Schema.TaggedStruct("HandOver", { emails: int(1, 120) }),
  Schema.TaggedStruct("Feedback", { kind: Schema.Literals(["Bounce", "Bounce", "Complain"]), which: int(0, 400) }),
  Schema.TaggedStruct("SetRisk", { risk: Schema.Literals(["standard", "higher"]) }),
  Schema.TaggedStruct("SetLimits", {
    caps: Schema.Literals(["own", "few", "wide", "none"]),
    month: Schema.Literals([60, 400, 3_000])
  }),
  Schema.TaggedStruct("Lift", {}),
  Schema.TaggedStruct("Check", {})
])

const History = Schema.Array(Schema.Struct({ move: Move, act: Act })).check(
  Schema.isMinLength(40),
  Schema.isMaxLength(70)
)

/** Much in few hours: spikes, pauses and lifts come often. */
const HastyHistory = Schema.Array(
  Schema.Struct({
    move: Schema.TaggedStruct("By", { millis: Schema.Union([int(0, 90_000), int(0, 2 * hourMillis)]) }),
    act: Schema.Union([
      Schema.TaggedStruct("Send", {
        emails: Schema.Union([int(1, 9), int(1, 100)]),
        domains: int(1, 3),
        from: int(0, 9),
        signals: Schema.Literals([0, 0, 0, 1, 2])
      }),
      Schema.TaggedStruct("Feedback", { kind: Schema.Literals(["Bounce", "Bounce", "Complain"]), which: int(0, 150) }),
      Schema.TaggedStruct("Lift", {}),
      Schema.TaggedStruct("Lift", {}),
      Schema.TaggedStruct("SetLimits", {
        caps: Schema.Literals(["wide", "wide", "few", "none"]),
        month: Schema.Literal(3_000)
      })
    ])
  })
).check(Schema.isMinLength(40), Schema.isMaxLength(70))

type History = typeof History.Type | typeof HastyHistory.Type

const customCaps = {
  own: { emailsPerHour: 7, emailsPerDay: 9, domainsPerHour: 2 },
  few: { emailsPerHour: 50, emailsPerDay: 200, domainsPerHour: 3 },
  wide: { emailsPerHour: 5_000, emailsPerDay: 5_000, domainsPerHour: 500 },
  none: null
}

const moved = (move: typeof Move.Type, now: number, accepted: ReadonlyArray<number>): number => {
  if (move._tag === "By") return now + move.millis
  if (move._tag === "ToHour") return Math.max(now, (Math.floor(now / hourMillis) + move.hours) * hourMillis + move.off)
  const at = accepted[move.which % Math.max(1, accepted.length)]
  return at === undefined ? now : Math.max(now, at + move.window + move.off)
}

const sending = (emails: ReadonlyArray<string>, domains: ReadonlyArray<string>, signals: number): AccountCommand => ({
  _tag: "Send",
  emails: emails.map((id, index) => ({
    id,
    sender: "good.test",
    recipients: index === 0 ? domains.map((domain) => `a@${domain}`) : [`a@${domains[0]}`],
    signals: index === 0 ? (["foreign_link", "shortened_link"] as const).slice(0, signals) : []
  })),
  isVerified: () => true,
  isSuppressed: () => false,
  upgradeUrl: "https://up.test"
})

/**
 * The refused request passes its cap at its reset, and none a millisecond before. Another cap may refuse it then: where the cap of domains was lowered,
 * domains that lived on for nothing have died meanwhile.
 */
const checkReset = (state: AccountState, command: AccountCommand, now: number, resetsAt: number, cap: string): void => {
  const at = (time: number) => {
    const { rejection } = admission.decide(state, command, time)
    if (rejection === undefined || !("code" in rejection) || rejection.code !== "probation_limit_reached") return "none"
    return `${rejection.window} ${rejection.metric}`
  }
  expect(at(resetsAt)).not.toBe(cap)
  const stage = admission.decide(state, { _tag: "Check" }, resetsAt - 1).reply?.account.trustStage
  if (stage === "probation" && resetsAt - 1 >= now) expect(at(resetsAt - 1)).not.toBe("none")
}

/** Whether the request is over none of the caps by itself. */
const canFit = (state: AccountState, emails: number, domains: number): boolean => {
  const caps = state.custom.probation ?? SendLimits.probationCaps[state.trust.risk]
  return emails <= Math.min(caps.emailsPerHour, caps.emailsPerDay) && domains <= caps.domainsPerHour
}

/** How often the histories came to what: a property says nothing of what its histories do not reach. */
const reached = new Map<string, number>()
const reach = (what: string): void => void reached.set(what, (reached.get(what) ?? 0) + 1)

/** The rule and the naive account, who are told the same. */
class Pair {
  readonly naive = new NaiveAccount(start)
  readonly account = living(admission)
  readonly ids: Array<string> = []
  /** When something was accepted. */
  readonly times: Array<number> = []

  constructor() {
    this.account.ask({ _tag: "Begin", risk: "standard" }, start)
  }

  private send(act: Extract<typeof Act.Type, { readonly _tag: "Send" }>, now: number): void {
    const { account, ids, naive, times } = this
    const emails = Array.from({ length: act.emails }, (_, index) => `m${ids.length + index}`)
    const domains = Array.from({ length: act.domains }, (_, index) => `d${act.from + index}.test`)
    const expected = naive.send(emails, domains, act.signals, now)
    const command = sending(emails, domains, act.signals)
    const before = account.state()
    const { facts, rejection, reply } = account.ask(command, now)
    if ("state" in expected) {
      expect(rejection).toBeUndefined()
      expect(new Set(reply?.emails.map((email) => email.state))).toEqual(new Set([expected.state]))
      reach(expected.state)
      ids.push(...emails)
      times.push(now)
      return
    }
    expect(facts).toEqual([])
    if (rejection === undefined || !("code" in rejection)) throw new Error("it was not refused")
    expect(rejection.code).toBe(expected.code)
    reach(rejection.code)
    if ("resetsAt" in rejection) expect(Date.parse(rejection.resetsAt)).toBe(expected.resetsAt)
    if (rejection.code !== "probation_limit_reached") return
    const cap = `${rejection.window} ${rejection.metric}`
    expect(cap).toBe(expected.cap)
    reach(cap)
    const seconds = retryAfterSeconds(rejection, now)!
    expect(now + seconds * 1000).toBeGreaterThanOrEqual(expected.resetsAt!)
    expect(now + (seconds - 1) * 1000).toBeLessThan(expected.resetsAt!)
    if (canFit(before, act.emails, act.domains)) checkReset(before, command, now, expected.resetsAt!, cap)
  }

  private setLimits(caps: keyof typeof customCaps, month: number, now: number): void {
    this.naive.advance(now)
    this.naive.custom = customCaps[caps]
    this.naive.monthly = month
    const custom = { emailsPerMonth: month, probation: customCaps[caps] }
    this.account.ask({ _tag: "SetLimits", custom }, now)
  }

  act(act: History[number]["act"], now: number): void {
    const { account, ids, naive } = this
    switch (act._tag) {
      case "Send":
        this.send(act, now)
        return
      case "HandOver":
        naive.handOver(act.emails, now)
        account.ask({ _tag: "HandOver", emails: act.emails }, now)
        return
      case "Feedback": {
        const email = ids[act.which % Math.max(1, ids.length)] ?? "unknown"
        if (act.kind === "Bounce") naive.bounce(email, now)
        else naive.complain(email, now)
        account.ask({ _tag: act.kind, email }, now)
        return
      }
      case "SetRisk":
        naive.setRisk(act.risk, now)
        account.ask({ _tag: "SetRisk", risk: act.risk }, now)
        return
      case "SetLimits":
        this.setLimits(act.caps, act.month, now)
        return
      case "Lift":
        expect(account.ask({ _tag: "Lift" }, now).accepted).toBe(naive.lift(now))
        return
      case "Check":
        naive.advance(now)
    }
  }

  compare(now: number): void {
    const { account, naive } = this
    naive.advance(now)
    const { reply } = account.ask({ _tag: "Check" }, now)
    expect(reply?.account.trustStage).toBe(naive.stage)
    const isPaused = naive.stage === "sending_paused"
    if (isPaused) expect(reply?.account.pauseReason).toBe(naive.reason)
    reach(isPaused ? naive.reason! : naive.stage)
    const wakeAt = nextTransition(account.state().trust)?.at
    if (wakeAt === undefined) return
    // It wakes where something changes, and nowhere before.
    expect(wakeAt % hourMillis).toBe(0)
    expect(admission.decide(account.state(), { _tag: "Check" }, wakeAt - 1).facts).toEqual([])
    expect(admission.decide(account.state(), { _tag: "Check" }, wakeAt).facts).toHaveLength(1)
  }
}

/** Plays a history to the rule and to the naive account. */
const follow = (history: History): void => {
  const pair = new Pair()
  let now = start
  for (const { act, move } of history) {
    now = moved(move, now, pair.times)
    pair.act(act, now)
    pair.compare(now)
  }
  // Left alone for longer than any window.
  pair.compare(now + 40 * dayMillis)
}

/** Histories of each kind: fewer do not always reach the rarest reason. */
const runs = 150

describe("an account against the list of all that ever happened to it", () => {
  it.prop("admits, refuses, pauses and promotes alike", [History], ([history]) => follow(history), {
    arbitrary: { runs }
  })

  it.prop("does so where much happens in a few hours", [HastyHistory], ([history]) => follow(history), {
    arbitrary: { runs }
  })

  it("has come to every answer, stage and reason", () => {
    const all = [
      ...["accepted", "held", "sending_paused", "monthly_limit_reached"],
      ...["day sends", "hour sends", "hour recipient_domains"],
      ...["bounces", "complaint", "spike", "risky_content"],
      ...["probation", "established", "trusted"]
    ]
    expect(all.filter((what) => !reached.has(what))).toEqual([])
  })
})
