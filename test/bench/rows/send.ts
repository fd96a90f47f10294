/**
 * Sending on an engine in memory: requests a second with accounts whose history is full, beside decisions of a small actor, which show what the engine
 * itself costs; and what accounts and their largest states take.
 */
import { atLeast, atMost, type Benchmark, benchmark, type Round } from "../runner/benchmark.ts"
import type { AccountsLoad } from "../workloads/accounts.ts"
import type { AdmissionsLoad } from "../workloads/admissions.ts"
import type { HandoffsLoad } from "../workloads/handoffs.ts"
import type { LoopSample } from "../workloads/latencies.ts"
import { runWorkload } from "../workloads/workload.ts"

type AdmissionsSample = LoopSample & { readonly cpuMicros: number }

/** The largest states, and for comparison an account's history as objects. */
type State = "established" | "custom" | "objects" | "sender" | "bucket"

type AccountsSample = Readonly<
  Record<
    | `${State}${"Bytes" | "Encode" | "Decode"}`
    | "heldEmails"
    | "residentPerAccount"
    | "residentPerEmail"
    | "storedPerAccount"
    | "storedPerEmail",
    number
  >
>

const admissions = (ask: AdmissionsLoad["ask"]) => (round: Round) =>
  runWorkload<AdmissionsSample>(round, "admissions", {
    ask,
    callers: 256,
    organizations: 500,
    warmUpSeconds: 1,
    seconds: 3
  } satisfies AdmissionsLoad)

const handoffs = (by: HandoffsLoad["by"]) => (round: Round) =>
  runWorkload<{ readonly perSecond: number }>(round, "handoffs", {
    by,
    connections: 10,
    warmUp: 500,
    mails: 3_000
  } satisfies HandoffsLoad)

/** An actor's bound. */
const maximumStateBytes = 64 * 1024
const sampledAccounts = 20_000

const bytes = (name: keyof AccountsSample, note: string) => ({
  name,
  unit: "bytes",
  figure: (samples: { readonly accounts: AccountsSample }) => samples.accounts[name],
  note
})

const bounded = (name: keyof AccountsSample, note: string) => ({
  ...bytes(name, note),
  goal: atMost(maximumStateBytes)
})

/** What it costs to write a state and to load it; the custom account's beside the layout with objects. */
const costs = (state: Exclude<State, "objects">) =>
  (["Encode", "Decode"] as const).map((what) => ({
    name: `${state}${what}`,
    unit: "us",
    figure: ({ accounts }: { readonly accounts: AccountsSample }) => accounts[`${state}${what}`],
    ...(state === "custom"
      ? { peer: ({ accounts }: { readonly accounts: AccountsSample }) => accounts[`objects${what}`] }
      : {}),
    note: what === "Encode" ? "into a checkpoint's text" : "from a checkpoint's text"
  }))

export const sendBenchmarks: ReadonlyArray<Benchmark> = [
  benchmark({
    name: "send/handoff",
    sides: { mailer: handoffs("mailer"), nodemailer: handoffs("nodemailer") },
    rows: [
      {
        name: "signed",
        unit: "mails/s",
        figure: ({ mailer }) => mailer.perSecond,
        peer: ({ nodemailer }) => nodemailer.perSecond,
        goal: atLeast(0.8),
        note: "composed, signed with a key of 2,048 bits and taken by an SMTP server; beside nodemailer's pool, same key, same server"
      }
    ]
  }),
  benchmark({
    name: "send/admission",
    sides: {
      small: admissions("small"),
      rule: admissions("rule"),
      request: admissions("request"),
      keyed: admissions("keyed")
    },
    rows: [
      {
        name: "rule",
        unit: "decisions/s",
        figure: ({ rule }) => rule.perSecond,
        goal: atLeast(60_000),
        note: "the account's rule alone"
      },
      { name: "rule/cpu", unit: "us", figure: ({ rule }) => rule.cpuMicros, peer: ({ small }) => small.cpuMicros },
      {
        name: "request",
        unit: "requests/s",
        figure: ({ request }) => request.perSecond,
        goal: atLeast(20_000),
        note: "with organization, senders, suppression bucket and a new email actor"
      },
      {
        name: "request/cpu",
        unit: "us",
        figure: ({ request }) => request.cpuMicros,
        peer: ({ small }) => small.cpuMicros
      },
      {
        name: "keyed/cpu",
        unit: "us",
        figure: ({ keyed }) => keyed.cpuMicros,
        peer: ({ request }) => request.cpuMicros,
        goal: atMost(1.4),
        note: "a request under an idempotency key, beside one without"
      }
    ]
  }),
  benchmark({
    name: "send/accounts",
    sides: {
      accounts: (round: Round) =>
        runWorkload<AccountsSample>(round, "accounts", { accounts: sampledAccounts, sends: 4 } satisfies AccountsLoad)
    },
    rounds: 1,
    rows: [
      bytes("residentPerAccount", `account, sender, bucket and first email in memory; ${sampledAccounts} accounts`),
      bytes("residentPerEmail", "a further email, its bucket and the account's growth in memory"),
      bytes("storedPerAccount", "account and sender as encoded, after four sends"),
      bytes("storedPerEmail", "an email as encoded"),
      bounded("establishedBytes", "an account after probation, at any number of emails a day"),
      bounded("customBytes", "an account at the highest custom caps, 5,000 times in a day"),
      bounded("senderBytes", "a sender with some 100,000 held emails"),
      bounded("bucketBytes", "the fullest bucket of 1,000,000 suppressed addresses"),
      bytes("objectsBytes", "5,000 times of a day as objects, as a comparison"),
      ...costs("established"),
      ...costs("custom"),
      ...costs("sender"),
      ...costs("bucket")
    ]
  })
]
