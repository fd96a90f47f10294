/**
 * Checks the promises of the rules of sending under every fault of the engine: no window ever sees more than its cap, nothing is refused that would have
 * passed, a refusal names the very instant from which on it passes, nothing accepted is lost, counted twice, or held for ever, mail goes in its order,
 * and each change is told by one event.
 */
import type { Checker } from "../../../src/simulation/engine/Checker.ts"
import type { Decided } from "../../../src/simulation/engine/Decisions.ts"
import type { Simulation } from "../../../src/simulation/engine/Simulation.ts"
import { leap } from "../../../src/simulation/engine/steps.ts"
import { eventsProblem, type StoredRecord } from "./eventsOracle.ts"
import { SendModel } from "./SendModel.ts"

/** The organization and account that the workload plays. */
export const organization = "org_1"
export const mode = "live"

interface Admit {
  readonly _tag: "Admit"
  readonly goes?: boolean
  readonly emails: ReadonlyArray<{
    readonly id: string
    readonly from: string
    readonly recipients: ReadonlyArray<string>
    readonly scheduledAt?: number
  }>
}

interface Refusal {
  readonly code?: string
  readonly _tag?: string
  readonly resetsAt?: string
  readonly window?: string
  readonly metric?: string
}

interface Reply {
  readonly emails: ReadonlyArray<{ readonly id: string; readonly state: string; readonly suppressed: number }>
}

const isAdmit = (decided: Decided | undefined): decided is Decided & { readonly command: Admit } =>
  decided?.kind === "sendAccount" && (decided.command as Admit | undefined)?._tag === "Admit"

const domainOf = (address: string): string => address.slice(address.lastIndexOf("@") + 1)

/** What is left of each email's recipients. */
const leftOf = (model: SendModel, { emails }: Admit) =>
  emails.map(({ recipients }) => recipients.filter((one) => !model.suppressed.includes(one.toLowerCase())))

/** What the model makes of a request; undefined where it passes. */
const refusalOf = (model: SendModel, command: Admit, now: number): Refusal | undefined => {
  const isVerified = (from: string) => model.sender(domainOf(from)).isVerified || model.sender(from).isVerified
  if (command.emails.some(({ from }) => !isVerified(from))) return { code: "sender_not_verified" }
  if (model.stage === "sending_paused") return { code: "sending_paused" }
  const going = leftOf(model, command).filter(({ length }) => length > 0)
  if (going.length === 0) return undefined
  if (model.usedInMonth(now) + going.length > model.monthlyLimit) {
    const date = new Date(now)
    const resetsAt = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1)).toISOString()
    return { code: "monthly_limit_reached", resetsAt }
  }
  if (model.stage !== "probation") return undefined
  const crossed = model.crossed(going.length, [...new Set(going.flat().map(domainOf))], now)
  if (crossed === undefined) return undefined
  const [window, metric] = crossed.cap.split(" ")
  return {
    code: crossed.code,
    resetsAt: new Date(crossed.resetsAt).toISOString(),
    ...(window === undefined ? {} : { window }),
    ...(metric === undefined ? {} : { metric })
  }
}

const sameRefusal = (left: Refusal | undefined, right: Refusal): boolean =>
  left !== undefined &&
  left.code === right.code &&
  left.resetsAt === right.resetsAt &&
  left.window === right.window &&
  left.metric === right.metric

/** The last state of an account's actor. */
const stateOf = <State>(simulation: Simulation, kind: string, key: string): State => {
  const { moments } = simulation.truth.history({ organization, kind, key })
  return moments[moments.length - 1]!.state as State
}

/** The model, moved by every stored decision, and as it was behind each. */
class Followed {
  readonly model = new SendModel()
  readonly versions: Array<SendModel> = [new SendModel()]
  /** The model that the last decision was judged by: a transition that was due came with it, and before it. */
  judged: SendModel = this.versions[0]!
  /** Types of the events of the last decision. */
  told: ReadonlyArray<string> = []

  /** Takes a decision's facts in. Answers what is wrong with them, or with the events beside them. */
  take(decided: Decided): string | undefined {
    const records = decided.records.map((text) => JSON.parse(text) as StoredRecord)
    this.judged = this.versions[this.versions.length - 1]!
    for (const [, kind, key, content] of records) {
      if ("type" in content) continue
      const { stage } = this.model
      const problem = this.model.take(kind, key, content)
      if (problem !== undefined) return problem
      if (stage === "probation" && this.model.stage === "established") this.judged = this.model.copy()
    }
    this.told = records.flatMap(([, , , content]) => ("type" in content ? [content.type] : []))
    const before = this.versions[this.versions.length - 1]!
    this.versions.push(this.model.copy())
    return eventsProblem(before, this.model, decided, records)
  }
}

/** What an accepted request was told, against the model behind it. */
const answerProblem = (before: SendModel, after: SendModel, decided: Decided & { readonly command: Admit }) => {
  const refusal = refusalOf(before, decided.command, decided.now)
  if (refusal !== undefined) return `it was accepted, the oracle says ${JSON.stringify(refusal)}`
  const left = leftOf(before, decided.command)
  for (const [index, { id, recipients, scheduledAt }] of decided.command.emails.entries()) {
    const answer = (decided.reply as Reply).emails[index]
    const email = after.emails[id]
    if (email === undefined || answer?.id !== id) return `the accepted email ${id} is lost`
    const isOut = (one: string) => before.suppressed.includes(one.toLowerCase())
    const mask = recipients.reduce((sum, one, at) => (isOut(one) ? sum + 2 ** at : sum), 0)
    if (answer.suppressed !== mask) return `of ${id} the recipients ${answer.suppressed} were taken out, not ${mask}`
    const isScheduled = scheduledAt !== undefined && scheduledAt > decided.now
    const wanted = left[index]!.length === 0 ? "suppressed" : isScheduled ? "scheduled" : email.state
    // One that has the right to go is told as queued.
    const told = decided.command.goes === true && email.state === "sending" ? "queued" : email.state
    if (answer.state !== told || wanted !== email.state)
      return `${id} is ${email.state}, was told ${answer.state}, and should be ${wanted}`
  }
  return undefined
}

/** Counts of the actors against those of the model. */
const countsProblem = (simulation: Simulation, model: SendModel, at: number): string | undefined => {
  const account = stateOf<{ readonly accepted: number; readonly month: { readonly used: number } }>(
    simulation,
    "sendAccount",
    mode
  )
  const accepted = model.month.reduce((sum, { emails }) => sum + emails, 0)
  if (account.accepted !== accepted) return `${account.accepted} emails are counted, ${accepted} were accepted`
  const used = model.usedInMonth(at)
  if (used > 0 && account.month.used !== used) return `${account.month.used} emails of the month are counted of ${used}`
  for (const [name, sender] of Object.entries(model.senders)) {
    const state = stateOf<{
      readonly tier: { readonly handedOver: number }
      readonly holds: { readonly head: number; readonly tail: number; readonly cancelled: number }
    }>(simulation, "sendSender", `${mode}/${name}`)
    const { cancelled, head, tail } = state.holds
    if (tail - head - cancelled !== sender.waiting.length)
      return `${tail - head - cancelled} emails of ${name} are counted as waiting, ${sender.waiting.length} wait`
    if (state.tier.handedOver !== sender.handedOver)
      return `${state.tier.handedOver} emails of ${name} are counted as handed over, ${sender.handedOver} were`
  }
  return undefined
}

/** Days in which a healed deployment must let everything go, beside one for each email: a cap may be one a day. */
const patienceDays = 40

/** Lets midnight after midnight come until nothing waits; a pause is lifted by the operator. */
const letGo = (simulation: Simulation, model: SendModel): string | undefined => {
  if (model.stage === "sending_paused")
    simulation.ask(simulation.begin({ organization, actor: "sendAccount", key: mode }, { _tag: "Lift" }))
  simulation.world.advance(1_000)
  const waiting = () =>
    Object.values(model.senders).reduce((sum, sender) => sum + sender.waiting.length + sender.scheduled, 0)
  const days = patienceDays + waiting()
  for (let day = 0; day < days && waiting() > 0 && model.stage !== "sending_paused"; day++)
    leap(simulation, 24 * 3_600_000)
  if (waiting() === 0) return undefined
  return `${waiting()} emails are held for ever`
}

export const sendKept: Checker = {
  name: "sending is kept",
  make: (simulation, violate) => {
    const followed = new Followed()
    const { model } = followed
    let isBroken = false
    const complain = (problem: string | undefined, where: string): void => {
      if (problem === undefined || isBroken) return
      isBroken = true
      violate(`${where}: ${problem}`)
    }
    return {
      committed: ({ decisions, frame, sequence }) => {
        for (const decided of decisions) {
          if (isBroken) return
          const where = `frame ${sequence}, ${JSON.stringify(decided.command ?? "a wake")} at ${new Date(decided.now).toISOString()}`
          complain(followed.take(decided), where)
          for (const type of followed.told) simulation.marks.reach(`send, told ${type}`)
          if (isAdmit(decided)) complain(answerProblem(followed.judged, model, decided), where)
        }
        if (!isBroken && decisions.length > 0)
          complain(countsProblem(simulation, model, frame.now), `frame ${sequence}`)
      },
      answered: ({ answer, decided }) => {
        if (!isAdmit(decided) || decided.records.length > 0 || answer?._tag !== "Rejected" || isBroken) return
        const refusal = decided.rejection as Refusal
        simulation.marks.reach(`send, ${refusal.code ?? refusal._tag}`)
        if (refusal.code === undefined) return
        const restsOn = JSON.parse(decided.restsOn ?? "{}") as { readonly accepted?: number }
        // The state may have been that of several versions; the refusal must be right for one of them.
        const candidates = followed.versions.filter(
          ({ month }) => month.reduce((sum, { emails }) => sum + emails, 0) === restsOn.accepted
        )
        if (candidates.some((version) => sameRefusal(refusalOf(version, decided.command, decided.now), refusal))) return
        const now = refusalOf(model, decided.command, decided.now)
        complain(
          `refused with ${JSON.stringify(refusal)}, the oracle says ${JSON.stringify(now)}`,
          `${JSON.stringify(decided.command)} at ${new Date(decided.now).toISOString()}`
        )
      },
      healed: () => {
        if (isBroken) return
        const waits = Object.values(model.senders).some((sender) => sender.waiting.length > 0)
        if (waits) simulation.marks.reach("send, mail waited for the days after")
        if (model.stage === "sending_paused") simulation.marks.reach("send, a pause was lifted at the end")
        complain(letGo(simulation, model), "after healing")
      }
    }
  }
}
