/** The accounts of a scenario and their emails: they decide by their real rules, and their facts are the log. Needs no service. */
import type * as Actor from "../../../src/engine/Actor.ts"
import type { FactRecord } from "../../../src/engine/records.ts"
import {
  type EmailFact,
  type EmailState,
  SendAccount,
  type SendAccountCommand,
  type SendAccountState,
  SendEmail,
  sendActors
} from "../../../src/send/account/actors/index.ts"

const mode = "live"
const sender = "one.test"

export class SimulatedAccounts {
  /** The log; the facts of a decision are a frame. */
  readonly log: Array<FactRecord> = []
  /** Emails in the order of their acceptance. */
  readonly emails: Array<{
    readonly organization: string
    readonly id: string
    readonly recipients: ReadonlyArray<string>
  }> = []
  private readonly states = new Map<string, unknown>()
  private sequence = 0
  private ids = 0

  /** An email that may go is accepted. */
  accept(organization: string, now: number): string {
    const id = `em_${this.emails.length}`
    const recipients = ["a", "b", "c"].slice(0, 1 + (this.emails.length % 3)).map((name) => `${name}.${id}@two.test`)
    this.emails.push({ organization, id, recipients })
    const fact: EmailFact = {
      _tag: "Accepted",
      at: now,
      state: "queued",
      mode,
      sender,
      place: null,
      scheduledAt: null,
      pointer: id
    }
    // Every second one gets the right to go with its acceptance, as where the workers have room.
    const isGoing = this.emails.length % 2 === 0
    const dispatched: EmailFact = { _tag: "Dispatched", at: now }
    const facts = isGoing ? [fact, dispatched] : [fact]
    this.append(
      organization,
      now,
      facts.map((one) => [SendEmail, id, one] as const)
    )
    return id
  }

  email(organization: string, id: string): EmailState {
    return this.state(organization, SendEmail, id) as EmailState
  }

  account(organization: string): SendAccountState {
    return this.state(organization, SendAccount, mode) as SendAccountState
  }

  /** Cancels an email, if it waits still. */
  cancel(organization: string, id: string, now: number): boolean {
    const decision = this.decide(organization, SendEmail, id, { _tag: "Cancel", mode, sender, place: null }, now)
    return decision.accepted
  }

  /** Pauses an account, as too many bounces do. */
  pause(organization: string, now: number): void {
    if (this.account(organization).trust.stage === "sending_paused") return
    this.append(organization, now, [[SendAccount, mode, { _tag: "Paused", at: now, reason: "bounces" }]])
  }

  ask(organization: string, command: SendAccountCommand, now: number) {
    return this.decide(organization, SendAccount, mode, command, now)
  }

  // biome-ignore lint/suspicious/noExplicitAny: actors of several types are kept beside each other
  private decide(organization: string, actor: Actor.AnyActor, key: string, command: any, now: number) {
    const context: Actor.DecideContext = {
      now,
      self: { organization, kind: actor.kind, key },
      level: Number.POSITIVE_INFINITY,
      id: () => `00000000-0000-8000-8000-${String(++this.ids).padStart(12, "0")}`,
      read: ((other: Actor.AnyActor, of = "") => this.state(organization, other, of)) as Actor.DecideContext["read"]
    }
    const decision = actor.options.decide(this.state(organization, actor, key), command, context)
    if (!decision.accepted) return decision
    const others = decision.others.flatMap(({ actor: other, facts, key: of }) =>
      facts.map((fact) => [other, of, fact] as const)
    )
    this.append(organization, now, [...decision.facts.map((fact) => [actor, key, fact] as const), ...others])
    return decision
  }

  private state(organization: string, actor: { readonly kind: string }, key: string): unknown {
    const known = this.states.get(`${organization} ${actor.kind} ${key}`)
    return known ?? sendActors.find(({ kind }) => kind === actor.kind)?.options.initial(key)
  }

  private append(
    organization: string,
    now: number,
    facts: ReadonlyArray<readonly [actor: { readonly kind: string }, key: string, fact: unknown]>
  ): void {
    if (facts.length === 0) return
    const sequence = ++this.sequence
    for (const [index, [actor, key, fact]] of facts.entries()) {
      const { kind } = actor
      const evolve = sendActors.find((one) => one.kind === kind)!.options.evolve as (
        state: unknown,
        fact: unknown
      ) => unknown
      this.states.set(`${organization} ${kind} ${key}`, evolve(this.state(organization, actor, key), fact))
      this.log.push({ _tag: "Fact", partition: 0, sequence, index, now, organization, kind, key, fact })
    }
  }
}
