/**
 * The load: callers that ask one thing after the other, each as a client of the platform would. On organizations of its own a
 * caller repeats a booking until it is acknowledged and then knows exactly what it must see there; on shared ones it asks once.
 * They go to whichever process is current, and wait while there is none.
 */
import type { Random } from "effect"
import { partitionOf } from "../../src/engine/address.ts"
import { type Decisions, known, knownAfter } from "./decisions.ts"
import { type AccountCommand, digestAfter, firstAccount } from "./model.ts"
import type { Outcome, WorkerProcess } from "./workerProcess.ts"

export interface CallersOptions {
  readonly callers: number
  /** Organizations that only one caller asks, each. */
  readonly ownOrganizations: number
  /** Organizations that all of them ask. */
  readonly sharedOrganizations: number
  readonly partitions: number
  readonly decisions: Decisions
  readonly random: (typeof Random.Random)["Service"]
  /** Something that must never happen has happened. */
  readonly violation: (text: string) => void
}

/** Parts of the load. */
const ownShare = 0.7
const lookShare = 0.1
const transferShare = 0.3
const announceShare = 0.1
const sendShare = 0.2

/** A caller that was told to come again does so after at most this long. */
const retryMillis = 50

/** What an organization's only caller knows of its first account. */
interface OwnState {
  readonly organization: string
  count: number
  digest: number
}

type Answered = Extract<Outcome, { readonly _tag: "Seen" }>

export class Callers {
  /** Failed asks by error. */
  readonly errors = new Map<string, number>()
  /** The last message of each error, for people. */
  readonly messages = new Map<string, string>()
  /** Acknowledged decisions by partition. */
  readonly acknowledged: Array<number>
  /** Acknowledged when the caller had already gone elsewhere. */
  lateAnswers = 0
  /** Bookings that a caller repeated, and answers that said it was stored before. */
  repeats = 0
  recognized = 0
  looks = 0
  asks = 0
  private readonly options: CallersOptions
  private current: WorkerProcess | undefined
  private waiters: Array<(worker: WorkerProcess) => void> = []
  private stopping = false
  private aborted = false
  private readonly own: ReadonlyArray<ReadonlyArray<OwnState>>
  private readonly running: Array<Promise<void>> = []

  constructor(options: CallersOptions) {
    this.options = options
    this.acknowledged = Array.from({ length: options.partitions }, () => 0)
    this.own = Array.from({ length: options.callers }, (_, caller) =>
      Array.from(
        { length: options.ownOrganizations },
        (_, index): OwnState => ({ organization: `own-${caller}-${index}`, count: 0, digest: 0 })
      )
    )
  }

  get organizations(): ReadonlyArray<string> {
    return this.options.decisions.organizations
  }

  get acknowledgedCount(): number {
    return this.acknowledged.reduce((sum, count) => sum + count, 0)
  }

  /** Where asks go from now on; undefined for nowhere. */
  route(worker: WorkerProcess | undefined): void {
    this.current = worker
    if (worker === undefined) return
    const { waiters } = this
    this.waiters = []
    for (const resume of waiters) resume(worker)
  }

  start(): void {
    for (const own of this.own) this.running.push(this.run(own))
  }

  /** No new bookings; returns when every caller knows what became of its last. */
  async stop(): Promise<void> {
    this.stopping = true
    await Promise.all(this.running)
  }

  /** Ends all callers where they are; what they wait for is of no interest any more. */
  abort(): void {
    this.stopping = true
    this.aborted = true
  }

  /** Asks one process, once, and counts the answer. */
  ask(worker: WorkerProcess, organization: string, command: AccountCommand): Promise<Outcome> {
    return new Promise((resolve) => {
      let first = true
      this.asks++
      worker.ask({ organization, account: firstAccount, command }, (outcome) => {
        this.note(organization, command, outcome, !first)
        first = false
        resolve(outcome)
      })
    })
  }

  private note(organization: string, command: AccountCommand, outcome: Outcome, late: boolean): void {
    const { decisions, partitions, violation } = this.options
    if (outcome._tag === "Failed") {
      if (late) return
      this.errors.set(outcome.error, (this.errors.get(outcome.error) ?? 0) + 1)
      this.messages.set(outcome.error, outcome.message)
      if (command._tag === "Book") decisions.learn(command.decision, knownAfter(outcome.error))
      return
    }
    if (command._tag === "Look") {
      this.looks++
      return
    }
    if (outcome._tag === "Seen") {
      violation(`decision ${command.decision} was answered with a look`)
      return
    }
    if (late) this.lateAnswers++
    if (outcome._tag === "Repeated") this.recognized++
    if (decisions.knownOf(command.decision) === known.acknowledged) return
    decisions.learn(command.decision, known.acknowledged)
    this.acknowledged[partitionOf(organization, partitions)]!++
  }

  private owner(): WorkerProcess | Promise<WorkerProcess> {
    return this.current ?? new Promise((resume) => this.waiters.push(resume))
  }

  private pick(count: number): number {
    return Math.floor(this.options.random.nextDoubleUnsafe() * count)
  }

  private chance(share: number): boolean {
    return this.options.random.nextDoubleUnsafe() < share
  }

  private booking(organization: string): Extract<AccountCommand, { readonly _tag: "Book" }> {
    const transfer = this.chance(transferShare)
    const announce = this.chance(announceShare)
    const decision = this.options.decisions.add({ organization, transfer, announce })
    const amount = this.pick(1_000)
    const to = this.chance(sendShare) ? { sendTo: `shared-${this.pick(this.options.sharedOrganizations)}` } : {}
    return { _tag: "Book", decision, amount, transfer, announce, ...to }
  }

  /** A booking on a shared organization, of which the process given is asked once. */
  bookOnce(worker: WorkerProcess): Promise<Outcome> {
    const organization = `shared-${this.pick(this.options.sharedOrganizations)}`
    return this.ask(worker, organization, this.booking(organization))
  }

  /** What a process shows of an account. */
  see(worker: WorkerProcess, organization: string, account: string): Promise<Outcome> {
    return new Promise((resolve) => worker.ask({ organization, account, command: { _tag: "Look" } }, resolve))
  }

  /** Looks at an organization through the process given, which may be no owner any more: an error, or nothing stale. */
  async probe(worker: WorkerProcess): Promise<void> {
    const own = this.own[this.pick(this.own.length)]!
    const { count, organization } = own[this.pick(own.length)]!
    const outcome = await this.ask(worker, organization, { _tag: "Look" })
    if (outcome._tag === "Failed") return
    const { count: seen } = outcome as Answered
    if (seen >= count) return
    this.options.violation(
      `${worker.name} showed ${organization} with ${seen} bookings after ${count} were acknowledged: it owned the partition no longer`
    )
  }

  private async run(own: ReadonlyArray<OwnState>): Promise<void> {
    while (!this.stopping) {
      if (!this.chance(ownShare)) {
        const outcome = await this.bookOnce(await this.owner())
        if (outcome._tag === "Failed") await this.pause()
        continue
      }
      const state = own[this.pick(own.length)]!
      if (this.chance(lookShare)) await this.look(state)
      else await this.bookUntilKnown(state)
    }
  }

  /** What an organization's only caller sees is exactly what it did there, whichever process answers. */
  private async look(state: OwnState): Promise<void> {
    const { count, digest, organization } = state
    const worker = await this.owner()
    const outcome = await this.ask(worker, organization, { _tag: "Look" })
    if (outcome._tag === "Failed") return this.pause()
    const { count: seen, digest: seenDigest } = outcome as Answered
    if (seen === count && seenDigest === digest) return
    this.options.violation(
      `${worker.name} showed ${organization} with ${seen} bookings (digest ${seenDigest}), its caller made ${count} (digest ${digest})`
    )
  }

  private async bookUntilKnown(state: OwnState): Promise<void> {
    const command = this.booking(state.organization)
    while (!this.aborted) {
      const outcome = await this.ask(await this.owner(), state.organization, command)
      if (outcome._tag !== "Failed") {
        state.count++
        state.digest = digestAfter(state.digest, command.decision)
        return
      }
      this.repeats++
      await this.pause()
    }
  }

  private pause(): Promise<void> {
    return new Promise((resume) => setTimeout(resume, 1 + this.pick(retryMillis)))
  }
}
