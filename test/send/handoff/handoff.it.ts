/**
 * From a request's acceptance to the transport and the recorded outcome, on a real nats-server and PostgreSQL (docs/handoff.md, 2): what may go goes once, what may not
 * waits.
 */
import { assert, describe, it, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { Engine } from "../../../src/engine/Engine.ts"
import * as Reactors from "../../../src/engine/Reactors.ts"
import { handoffDelaysMillis } from "../../../src/send/handoff/limits.ts"
import type { HandoffAnswer, PartAnswer } from "../../../src/send/handoff/MailTransport.ts"
import { patienceMillis } from "../../support/patience.ts"
import { until } from "../../webhooks/until.ts"
import { type Deployment, Pauser, type Process, startProcess, steps } from "./handoffProcess.ts"
import { deploy } from "./handoffSupport.ts"
import { messageTo } from "./messageTo.ts"

class Subject extends Context.Service<Subject, { readonly running: Process; readonly deployment: Deployment }>()(
  "test/Subject"
) {}

const shared = Layer.effect(
  Subject,
  Effect.gen(function* () {
    const deployment = yield* deploy
    return Subject.of({ deployment, running: yield* startProcess(deployment) })
  })
)

let names = 0

/** An organization of the test's own that may send as one.test in both modes. */
const fresh = Effect.gen(function* () {
  const { deployment, running } = yield* Subject
  const organization = `org_${++names}`
  for (const mode of ["live", "test"] as const) yield* running.admission(mode).verify(organization, "one.test")
  const taken = () => deployment.taken.filter(({ mail }) => mail.organization === organization)
  return { organization, running, taken }
})

layer(shared, { excludeTestServices: true, timeout: patienceMillis })("an accepted email", (it) => {
  it.effect("is handed over as it was written, and recorded", () =>
    Effect.gen(function* () {
      const { organization, running, taken } = yield* fresh
      const message = messageTo(["Bob <bob@two.test>"], { cc: ["cy@two.test"], bcc: ["di@two.test"] })
      const [sent] = yield* running.send(organization, [message])
      assert.strictEqual(sent!.state, "queued")
      yield* running.reaches(organization, sent!.id, "sent")
      const [one, ...others] = taken()
      assert.deepStrictEqual(others, [])
      assert.deepStrictEqual(one!.mail.message, message)
      assert.deepStrictEqual(one!.envelope, {
        from: "ann@one.test",
        to: ["bob@two.test", "cy@two.test", "di@two.test"]
      })
      yield* until(Effect.map(running.jobs, (jobs) => jobs === 0))
    })
  )

  it.effect.each(["delivered", "bounced", "complained"] as const)("[handoff 2.6] to %s@simulator.invalid is", (what) =>
    Effect.gen(function* () {
      const { organization, running } = yield* fresh
      const [sent] = yield* running.send(organization, [messageTo([`${what}+label@simulator.invalid`])], {
        mode: "test"
      })
      yield* running.reaches(organization, sent!.id, what)
    })
  )

  it.effect("[handoff 2.6] of a live key knows no simulator", () =>
    Effect.gen(function* () {
      const { organization, running } = yield* fresh
      const [sent] = yield* running.send(organization, [messageTo(["bounced@simulator.invalid"])])
      yield* running.reaches(organization, sent!.id, "sent")
      yield* until(Effect.map(running.jobs, (jobs) => jobs === 0))
      assert.strictEqual((yield* running.stateOf(organization, sent!.id)).state, "sent")
    })
  )

  it.effect("waits for its time", () =>
    Effect.gen(function* () {
      const { organization, running, taken } = yield* fresh
      const scheduledAt = Date.now() + 1_500
      const [sent] = yield* running.send(organization, [messageTo(["bob@two.test"])], { scheduledAt })
      assert.strictEqual(sent!.state, "scheduled")
      yield* running.reaches(organization, sent!.id, "sent")
      assert.lengthOf(taken(), 1)
      assert.isAtLeast((yield* running.stateOf(organization, sent!.id)).changedAt, scheduledAt)
    })
  )

  it.effect("waits for a place in its sender's queue, and passes those that were cancelled", () =>
    Effect.gen(function* () {
      const { organization, running, taken } = yield* fresh
      const admission = running.admission()
      yield* admission.setDailyCap(organization, "one.test", 1)
      const sent = yield* running.send(
        organization,
        ["a", "b", "c"].map((subject) => messageTo(["bob@two.test"], { subject }))
      )
      assert.deepStrictEqual(
        sent.map(({ state }) => state),
        ["queued", "held", "held"]
      )
      yield* running.reaches(organization, sent[0]!.id, "sent")
      assert.isTrue(yield* admission.cancel(organization, sent[1]!.id))
      yield* admission.setDailyCap(organization, "one.test", 10)
      yield* running.reaches(organization, sent[2]!.id, "sent")
      assert.deepStrictEqual(
        taken().map(({ mail }) => mail.message.subject),
        ["a", "c"]
      )
      yield* until(Effect.map(running.jobs, (jobs) => jobs === 0))
    })
  )
})

interface Relay {
  waits: boolean
  /** Whether the account cannot be told what the relay has done. */
  isDeaf: boolean
  /** How often the hand-off has asked. */
  asked: number
  readonly answers: Array<HandoffAnswer>
  /** To whom the relay never answers, and how many mails have met that. */
  hangs: (to: string) => boolean
  hanging: number
}

class Slow extends Context.Service<
  Slow,
  { readonly running: Process; readonly deployment: Deployment; readonly relay: Relay }
>()("test/Slow") {}

/** A process whose relay can be away, and answers what it is told. */
const slow = Layer.effect(
  Slow,
  Effect.gen(function* () {
    const deployment = yield* deploy
    const relay: Relay = { waits: false, isDeaf: false, asked: 0, answers: [], hangs: () => false, hanging: 0 }
    const running = yield* startProcess(deployment, {
      waits: () => {
        relay.asked++
        return relay.waits ? "the relay is away" : undefined
      },
      isDeaf: () => relay.isDeaf,
      answer: () => relay.answers.shift() ?? { _tag: "Accepted" },
      hangs: (to) => {
        if (!relay.hangs(to)) return false
        relay.hanging++
        return true
      }
    })
    return Slow.of({ deployment, running, relay })
  })
)

layer(slow, { excludeTestServices: true, timeout: patienceMillis })("while no relay can be reached", (it) => {
  const freshSlow = Effect.gen(function* () {
    const { deployment, relay, running } = yield* Slow
    const organization = `org_slow${++names}`
    yield* running.sql`
      insert into organizations (id, name, email, plan, send_plan, risk, created_at)
      values (${organization}, 'Acme', 'owner@acme.test', 'free', 'hobby', 'standard', now())`
    const admission = running.admission()
    yield* admission.verify(organization, "one.test")
    const taken = () => deployment.taken.filter(({ mail }) => mail.organization === organization)
    const untilWaiting = (count: number) => until(Effect.map(running.jobs, (jobs) => jobs === count))
    /** The relay goes, and the hand-off has noticed. */
    const goes = Effect.suspend(() => {
      relay.waits = true
      const before = relay.asked
      return until(Effect.sync(() => relay.asked > before))
    })
    return { admission, goes, organization, relay, running, taken, untilWaiting }
  })

  it.effect("[handoff 2] mail waits, can be taken back, and is looked at again by the account before it goes", () =>
    Effect.gen(function* () {
      const { admission, goes, organization, relay, running, taken, untilWaiting } = yield* freshSlow
      yield* goes
      const sent = yield* running.send(organization, [
        messageTo(["bob@two.test"]),
        messageTo(["cy@two.test", "di@two.test"]),
        messageTo(["cy@two.test"])
      ])
      yield* untilWaiting(3)
      assert.isTrue(yield* admission.cancel(organization, sent[0]!.id))
      yield* admission.suppress(organization, "cy@two.test")
      relay.waits = false
      yield* running.reaches(organization, sent[1]!.id, "sent")
      yield* running.reaches(organization, sent[2]!.id, "suppressed")
      yield* untilWaiting(0)
      assert.deepStrictEqual(
        taken().map(({ envelope }) => envelope.to),
        [["di@two.test"]]
      )
      assert.strictEqual((yield* running.stateOf(organization, sent[0]!.id)).state, "canceled")
    })
  )

  it.effect("[handoff 4] a pause keeps what waits, the contact hears of it once, and the lift lets it go", () =>
    Effect.gen(function* () {
      const { admission, goes, organization, relay, running, taken, untilWaiting } = yield* freshSlow
      const [first] = yield* running.send(organization, [messageTo(["bob@two.test"])])
      yield* running.reaches(organization, first!.id, "sent")
      yield* goes
      const [second] = yield* running.send(organization, [messageTo(["cy@two.test"])])
      yield* untilWaiting(1)
      const { trustStage } = yield* admission.report(organization, [
        { id: first!.id, what: "complained", recipient: "bob@two.test" }
      ])
      assert.strictEqual(trustStage, "sending_paused")
      yield* untilWaiting(2)
      relay.waits = false
      const notices = () => taken().filter(({ envelope }) => envelope.to[0] === "owner@acme.test")
      yield* until(Effect.sync(() => notices().length === 1))
      const paused = Effect.map(running.sql`select id from send_jobs where lane = 2`, (rows) => rows.length === 1)
      yield* until(paused)
      assert.strictEqual((yield* running.stateOf(organization, second!.id)).state, "queued")
      assert.lengthOf(taken(), 2)
      yield* admission.lift(organization)
      yield* running.reaches(organization, second!.id, "sent")
      yield* untilWaiting(0)
      assert.lengthOf(notices(), 1)
      assert.include(notices()[0]!.mail.message.text!, "complained")
    })
  )

  it.effect("a mail of the platform itself goes once, however often it is ordered", () =>
    Effect.gen(function* () {
      const { organization, running, taken, untilWaiting } = yield* freshSlow
      const order = (id: string, text: string) =>
        running.notices.order({ id, organization, mode: "live", to: "dee@two.test", subject: "Confirm", text })
      yield* order(`${organization}-1`, "https://one.test/a")
      yield* order(`${organization}-1`, "https://one.test/b")
      yield* until(Effect.sync(() => taken().length === 1))
      yield* order(`${organization}-1`, "https://one.test/c")
      yield* order(`${organization}-2`, "https://one.test/d")
      yield* until(Effect.sync(() => taken().length === 2))
      yield* untilWaiting(0)
      assert.deepStrictEqual(
        taken().map(({ envelope, mail }) => [envelope, mail.message.subject, mail.message.text]),
        ["a", "d"].map((end) => [
          { from: "platform@one.test", to: ["dee@two.test"] },
          "Confirm",
          `https://one.test/${end}`
        ])
      )
    })
  )

  it.effect("[handoff 4] the contact hears of a paused endpoint, and not of one that was named for a test", () =>
    Effect.gen(function* () {
      const { organization, running, taken, untilWaiting } = yield* freshSlow
      const pause = (key: string, endpoint: string) => running.engine.ask(Pauser, { organization, key }, { endpoint })
      yield* pause("test", "we_2")
      yield* pause("we_1", "we_1")
      yield* until(Effect.sync(() => taken().length === 1))
      yield* untilWaiting(0)
      const [notice] = taken()
      assert.deepStrictEqual(notice!.envelope.to, ["owner@acme.test"])
      assert.strictEqual(notice!.mail.message.subject, "A webhook endpoint of Acme is paused")
      assert.include(notice!.mail.message.text!, "we_1 (https://three.test/hook)")
      assert.lengthOf(taken(), 1)
    })
  )

  it.effect("mail that was handed over while nobody could be told goes once", () =>
    Effect.gen(function* () {
      const { organization, relay, running, taken, untilWaiting } = yield* freshSlow
      relay.isDeaf = true
      const [sent] = yield* running.send(organization, [messageTo(["bob@two.test"])])
      yield* until(Effect.sync(() => taken().length === 1))
      // The job is the queue's again.
      const isBack = running.sql`select 1 from send_jobs where attempts = 0`
      yield* until(Effect.map(isBack, (rows) => rows.length === 1))
      relay.isDeaf = false
      yield* running.reaches(organization, sent!.id, "sent")
      yield* untilWaiting(0)
      assert.lengthOf(taken(), 1)
    })
  )

  it.effect("[handoff 2] a failure for now is tried again later, one for good is the end", () =>
    Effect.gen(function* () {
      const { organization, relay, running, taken, untilWaiting } = yield* freshSlow
      relay.answers.push({ _tag: "Temporary", code: "4.2.0", reason: "later" })
      const [later] = yield* running.send(organization, [messageTo(["bob@two.test"])])
      const dueAt = Effect.map(
        running.sql<{ readonly due: number; readonly lane: number; readonly error: string }>`
          select due_at as due, lane, error from send_jobs where lane = 1`,
        ([row]) => row
      )
      yield* until(Effect.map(dueAt, (row) => row !== undefined))
      const row = yield* dueAt
      assert.isAbove(row!.due, Date.now() + 30_000)
      assert.strictEqual(row!.error, "4.2.0 later")
      assert.strictEqual((yield* running.stateOf(organization, later!.id)).state, "sending")
      yield* running.sql`update send_jobs set due_at = 1`
      yield* running.reaches(organization, later!.id, "sent")
      relay.answers.push({ _tag: "Permanent", code: "5.1.1", reason: "nobody" })
      const [never] = yield* running.send(organization, [messageTo(["cy@two.test"])])
      yield* running.reaches(organization, never!.id, "bounced")
      yield* untilWaiting(0)
      assert.lengthOf(taken(), 1)
    })
  )

  it.effect("who has the mail does not get it again while others wait for it, whatever happens in between", () =>
    Effect.gen(function* () {
      const { organization, relay, running, taken, untilWaiting } = yield* freshSlow
      const [bob, cy, di] = ["bob@two.test", "cy@two.test", "di@two.test"]
      const part = (recipient: string, answer: PartAnswer) => ({ recipient, answer })
      relay.answers.push({
        _tag: "Parted",
        parts: [
          part(bob, { _tag: "Accepted" }),
          part(cy, { _tag: "Temporary", code: "4.2.0", reason: "later" }),
          part(di, { _tag: "Permanent", code: "5.1.1", reason: "nobody" })
        ]
      })
      const [sent] = yield* running.send(organization, [messageTo([bob, cy], { bcc: [di] })])
      const isAgain = running.sql`select 1 from send_jobs where lane = 1`
      yield* until(Effect.map(isAgain, (rows) => rows.length === 1))
      assert.strictEqual((yield* running.stateOf(organization, sent!.id)).state, "bounced")
      // Nothing but the queue knows who is left.
      yield* running.sql`update send_jobs set due_at = 1`
      yield* until(Effect.sync(() => taken().length === 1))
      assert.deepStrictEqual(taken()[0]!.envelope.to, [cy])
      yield* untilWaiting(0)
      assert.lengthOf(taken(), 1)
    })
  )

  it.effect("an outcome that nobody knows is tried again as the same mail", () =>
    Effect.gen(function* () {
      const { organization, relay, running, taken, untilWaiting } = yield* freshSlow
      relay.answers.push({ _tag: "Unknown", reason: "lost" })
      const [sent] = yield* running.send(organization, [messageTo(["bob@two.test"])])
      const row = running.sql<{ readonly error: string }>`select error from send_jobs where lane = 1`
      yield* until(Effect.map(row, (rows) => rows.length === 1))
      assert.strictEqual((yield* row)[0]!.error, "unknown outcome: lost")
      assert.strictEqual((yield* running.stateOf(organization, sent!.id)).state, "sending")
      yield* running.sql`update send_jobs set due_at = 1`
      yield* running.reaches(organization, sent!.id, "sent")
      yield* untilWaiting(0)
      assert.strictEqual(taken()[0]!.mail.id, sent!.id)
    })
  )

  it.effect("[handoff 2.4] an attachment that cannot be had is the end, and no bounce", () =>
    Effect.gen(function* () {
      const { organization, relay, running, taken, untilWaiting } = yield* freshSlow
      relay.answers.push({ _tag: "Failed", kind: "attachment", reason: "404" })
      const [sent] = yield* running.send(organization, [messageTo(["bob@two.test"])])
      yield* running.reaches(organization, sent!.id, "failed")
      yield* untilWaiting(0)
      assert.lengthOf(taken(), 0)
    })
  )

  it.effect("a mail that takes long holds up no other of its account, nor what becomes of them", () =>
    Effect.gen(function* () {
      const { organization, relay, running, taken, untilWaiting } = yield* freshSlow
      relay.hangs = (to) => to === "slow@two.test"
      const [slow] = yield* running.send(organization, [messageTo(["slow@two.test"])])
      yield* until(Effect.sync(() => relay.hanging > 0))
      const beside = yield* running.send(organization, [messageTo(["bob@two.test"]), messageTo(["cy@two.test"])])
      for (const { id } of beside) yield* running.reaches(organization, id, "sent")
      assert.strictEqual((yield* running.stateOf(organization, slow!.id)).state, "sending")
      relay.hangs = () => false
      // Nobody knows how far the first attempt has come, so there is another one.
      yield* until(Effect.map(running.sql`select 1 from send_jobs where lane = 1`, (rows) => rows.length === 1))
      yield* running.sql`update send_jobs set due_at = 1`
      yield* running.reaches(organization, slow!.id, "sent")
      yield* untilWaiting(0)
      assert.lengthOf(taken(), 3)
    })
  )

  it.effect("[handoff 2] what nothing could take is no attempt", () =>
    Effect.gen(function* () {
      const { organization, relay, running, untilWaiting } = yield* freshSlow
      relay.answers.push(...Array.from({ length: 3 }, () => ({ _tag: "Waits", reason: "busy" }) as const))
      const [sent] = yield* running.send(organization, [messageTo(["bob@two.test"])])
      yield* running.reaches(organization, sent!.id, "sent")
      yield* untilWaiting(0)
      assert.strictEqual((yield* running.stateOf(organization, sent!.id)).marks, 1)
    })
  )

  it.effect(
    "[handoff 2.2] what the relay holds against the account uses up no attempt, and the contact hears of it once a day",
    () =>
      Effect.gen(function* () {
        const { organization, relay, running, taken, untilWaiting } = yield* freshSlow
        const refusal = { _tag: "Account", code: "554", reason: "554 Email address is not verified" } as const
        relay.answers.push(refusal)
        const [sent] = yield* running.send(organization, [messageTo(["bob@two.test"])])
        const job = Effect.map(
          running.sql<{ readonly attempts: number; readonly due: number; readonly payload: string }>`
          select attempts, due_at as due, payload from send_jobs where lane = 1`,
          ([row]) => row
        )
        yield* until(Effect.map(job, (row) => row !== undefined))
        yield* until(Effect.sync(() => taken().length === 1))
        const refused = (yield* job)!
        assert.strictEqual(refused.attempts, 0)
        assert.isAbove(refused.due, Date.now() + 30_000)
        assert.include(refused.payload, `"refusals":1`)
        assert.strictEqual((yield* running.stateOf(organization, sent!.id)).state, "sending")
        // Again, among recipients that the relay says something else of.
        relay.answers.push(refusal)
        yield* running.sql`update send_jobs set due_at = 1`
        yield* until(Effect.map(job, (row) => row?.payload.includes(`"refusals":2`) === true))
        assert.isAbove((yield* job)!.due, Date.now() + 200_000)
        yield* running.sql`update send_jobs set due_at = 1`
        yield* running.reaches(organization, sent!.id, "sent")
        yield* untilWaiting(0)
        const [notice, mail, ...more] = taken()
        assert.deepStrictEqual(notice!.envelope.to, ["owner@acme.test"])
        assert.include(notice!.mail.message.text!, refusal.reason)
        assert.deepStrictEqual(mail!.envelope.to, ["bob@two.test"])
        assert.deepStrictEqual(more, [])
      })
  )

  it.effect("[handoff 2] mail that nobody takes for 72 hours has failed", () =>
    Effect.gen(function* () {
      const { organization, relay, running, taken, untilWaiting } = yield* freshSlow
      relay.answers.push({ _tag: "Temporary", code: "4.2.0", reason: "later" })
      const [sent] = yield* running.send(organization, [messageTo(["bob@two.test"])])
      yield* until(Effect.map(running.sql`select 1 from send_jobs where lane = 1`, (rows) => rows.length === 1))
      relay.answers.push({ _tag: "Temporary", code: "4.2.0", reason: "still later" })
      yield* running.sql`update send_jobs set due_at = 1, attempts = ${handoffDelaysMillis.length}`
      yield* running.reaches(organization, sent!.id, "failed")
      yield* untilWaiting(0)
      assert.deepStrictEqual(taken(), [])
      assert.isAtMost(
        handoffDelaysMillis.reduce((sum, delay) => sum + delay, 0),
        72 * 3_600_000
      )
    })
  )
})

describe("a process that dies", () => {
  for (const step of steps) {
    it.live(`${step}: the next one goes on, and nothing is lost`, () =>
      Effect.scoped(
        Effect.gen(function* () {
          const deployment = yield* deploy
          const first = yield* startProcess(deployment, { diesAt: step })
          yield* first.admission("test").verify("org_a", "one.test")
          const sent = yield* first.send(
            "org_a",
            [messageTo(["delivered@simulator.invalid"]), messageTo(["bob@two.test"])],
            { mode: "test" }
          )
          yield* first.died
          yield* first.stop
          const second = yield* startProcess(deployment)
          yield* second.reaches("org_a", sent[0]!.id, "delivered")
          yield* second.reaches("org_a", sent[1]!.id, "sent")
          yield* until(Effect.map(second.jobs, (jobs) => jobs === 0))
          const times = sent.map(({ id }) => deployment.taken.filter(({ mail }) => mail.id === id).length)
          // Nobody knew yet that they were handed over.
          if (step === "after the transport") for (const count of times) assert.isAtLeast(count, 1)
          else assert.deepStrictEqual(times, [1, 1])
        })
      )
    )
  }

  it.live("behind the account's answer: who has the mail does not get it again", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const deployment = yield* deploy
        const envelopes: Array<ReadonlyArray<string>> = []
        const [bob, cy] = ["bob@two.test", "cy@two.test"]
        const answer = (_mail: unknown, { to }: { readonly to: ReadonlyArray<string> }): HandoffAnswer => {
          envelopes.push(to)
          return to.length === 1
            ? { _tag: "Accepted" }
            : {
                _tag: "Parted",
                parts: [
                  { recipient: bob, answer: { _tag: "Accepted" } },
                  { recipient: cy, answer: { _tag: "Temporary", code: "4.2.0", reason: "later" } }
                ]
              }
        }
        const first = yield* startProcess(deployment, { answer, diesAt: "after the account was told" })
        yield* first.admission().verify("org_a", "one.test")
        yield* first.send("org_a", [messageTo([bob, cy])])
        yield* first.died
        yield* first.stop
        yield* startProcess(deployment, { answer })
        yield* until(Effect.sync(() => envelopes.length === 2))
        assert.deepStrictEqual(envelopes, [[bob, cy], [cy]])
      })
    )
  )
})

it.live("a mail is at the relay once at a time, however long its account and the relay take", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const deployment = yield* deploy
      const slow = { looks: 0, inside: 0, most: 0 }
      const leaves = Effect.sync(() => slow.inside--)
      const running = yield* startProcess(deployment, {
        settings: { leaseMillis: 1_000, attemptMillis: 900, deliverTimeoutMillis: 700 },
        pause: (step) => {
          // Most of the time that there is for a mail goes by before its first attempt.
          if (step === "before the account is asked" && slow.looks++ === 0) return Effect.sleep("700 millis")
          if (step === "after the transport") return Effect.asVoid(leaves)
          if (step !== "before the transport") return Effect.void
          slow.most = Math.max(slow.most, ++slow.inside)
          return slow.looks === 1 ? Effect.onInterrupt(Effect.never, () => leaves) : Effect.void
        }
      })
      yield* running.admission().verify("org_a", "one.test")
      const [sent] = yield* running.send("org_a", [messageTo(["bob@two.test"])])
      yield* running.reaches("org_a", sent!.id, "sent")
      assert.deepStrictEqual([slow.most, deployment.taken.length], [1, 1])
    })
  )
)

it.live("mail goes while nothing of the log can be written, and has no job afterwards", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const running = yield* startProcess(yield* deploy)
      yield* running.admission().verify("org_a", "one.test")
      const [before] = yield* running.send("org_a", [messageTo(["bob@two.test"])])
      yield* running.reaches("org_a", before!.id, "sent")
      const { sql } = running
      let jobs = 0
      yield* Effect.orDie(
        sql.withTransaction(
          Effect.gen(function* () {
            // The reactor commits nothing meanwhile.
            yield* sql`lock table engine_cursors in access exclusive mode`
            const sent = yield* running.send(
              "org_a",
              Array.from({ length: 5 }, (_, index) => messageTo([`bob${index}@two.test`]))
            )
            for (const { id } of sent) yield* running.reaches("org_a", id, "sent")
            jobs = yield* running.jobs
          })
        )
      )
      assert.strictEqual(jobs, 0)
      yield* Effect.provideService(Reactors.settled, Engine, running.engine)
      // A transaction that had begun when the mail went has written its jobs; the outcomes follow.
      yield* until(Effect.map(running.jobs, (count) => count === 0))
    })
  )
)
