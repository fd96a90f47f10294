/**
 * A process of a simulation: the real workers over ports that take time and fail, the real tasks of acknowledged frames,
 * and a reactor that follows the log. When it is killed, only the queue and the log are left.
 */
import { Context, Effect, Exit, Logger, Scope } from "effect"
import { BoundedMap } from "../../../src/common/BoundedMap.ts"
import { OutcomeUnknown, PartitionUnavailable } from "../../../src/engine/errors.ts"
import type { CommittedFrame, FactRecord } from "../../../src/engine/records.ts"
import { ReactorTasks } from "../../../src/engine/shell/reactors/ReactorTasks.ts"
import { type WorkQueue, WorkQueueUnavailable } from "../../../src/postgres/WorkQueue.ts"
import { SendAccount, type SendAccountCommand, type SendAccountFact } from "../../../src/send/account/actors/index.ts"
import { ContentsUnavailable, type MessageContents } from "../../../src/send/emails/contents/MessageContents.ts"
import { defaultHandoffSettings } from "../../../src/send/handoff/Handoff.ts"
import { HandoffFeed } from "../../../src/send/handoff/HandoffFeed.ts"
import { HandoffMetrics } from "../../../src/send/handoff/HandoffMetrics.ts"
import { groupOf } from "../../../src/send/handoff/jobs.ts"
import { jobOfAccepted, jobWritten } from "../../../src/send/handoff/MailTasks.ts"
import type { HandoffAnswer, OutgoingMail, PartAnswer } from "../../../src/send/handoff/MailTransport.ts"
import { startHandoff } from "../../../src/send/handoff/startHandoff.ts"
import type { AdmissionAsks } from "../../../src/send/library/admissionAsks.ts"
import { SimulatedProcess } from "../../../src/simulation/kernel/World.ts"
import { messageTo } from "../../send/handoff/messageTo.ts"
import type { Operation } from "./HandoffScenario.ts"
import type { HandoffSimulation } from "./HandoffSimulation.ts"

/** Short times in place of the real ones. */
const settings = {
  ...defaultHandoffSettings,
  leaseMillis: 2_000,
  attemptMillis: 1_800,
  deliverTimeoutMillis: 1_000,
  scanMillis: 300,
  troubleMillis: 100,
  drainMillis: 1_500
}

/** Frames of a transaction of the reactor at most. */
const maximumFrames = 32

const lateMillis = 700
const slowMillis = 300

const now = <A, E>(effect: Effect.Effect<A, E>): A => Effect.runSync(effect as Effect.Effect<A>)

export class SimulatedWorkers {
  readonly process: SimulatedProcess
  private readonly simulation: HandoffSimulation
  private readonly feed = now(Effect.scoped(Effect.provide(Effect.service(HandoffFeed), HandoffFeed.layer)))
  private readonly scope = Scope.makeUnsafe()
  private readonly services: Context.Context<Scope.Scope>
  private tasks!: ReactorTasks
  private acknowledged: number
  private isFollowing = false
  private isStarted = false

  constructor(simulation: HandoffSimulation, number: number) {
    this.simulation = simulation
    const logger = Logger.make<unknown, void>(({ message }) => {
      const text = Array.isArray(message) ? String(message[0]) : String(message)
      simulation.trace(() => `  p${number}: ${text}`)
    })
    this.process = new SimulatedProcess(simulation.world, number, logger)
    this.services = Context.add(this.process.services, Scope.Scope, this.scope)
    // Only the reactor sees records that are in the log already.
    this.acknowledged = simulation.accounts.log.length
  }

  start(): void {
    const started = startHandoff(
      {
        settings,
        queue: this.queue(),
        isTraced: false,
        asks: this.asks(),
        contents: this.contents(),
        transport: {
          live: {
            kind: "test",
            waits: Effect.sync(() => this.waits()),
            deliver: (mail, { to }) => this.deliver(mail, to)
          },
          test: { kind: "test", waits: Effect.undefined, deliver: (mail, { to }) => this.deliver(mail, to) }
        },
        metrics: new HandoffMetrics(this.process.services),
        unrecorded: new BoundedMap(1_000),
        contactOf: () => Effect.succeed(null),
        alert: () => Effect.void,
        goOn: ({ group }, at) => Effect.orDie(this.stored(undefined, () => this.simulation.queue.goOn(group, at)))
      },
      this.feed,
      Effect.succeed([0])
    )
    this.run(started, () => {
      this.isStarted = true
      this.live()
      this.acknowledge()
    })
  }

  /** The partition ends its life and begins another one: what is not recorded is the reactor's alone. */
  newLife(): void {
    if (!this.isStarted) return
    this.simulation.marks.reach("new life")
    this.simulation.checker.newLife()
    this.live()
    this.acknowledge()
  }

  stop(done: () => void): void {
    this.run(Scope.close(this.scope, Exit.void), () => {
      this.process.kill()
      done()
    })
  }

  kill(): void {
    this.process.kill()
  }

  /** Shows the frames that were appended since the last call to the tasks, and has the reactor follow them. */
  acknowledge(): void {
    const { log } = this.simulation.accounts
    if (!this.isStarted || !this.process.alive) return
    while (this.acknowledged < log.length) {
      const frame = frameAt(log, this.acknowledged)
      this.acknowledged += frame.records.length
      this.tasks.followed(frame)
    }
    this.follow()
  }

  // The reactor.

  /** Begins a life of the partition, which ends the one before. */
  private live(): void {
    this.tasks?.close()
    this.tasks = new ReactorTasks(
      [this.feed.tasks],
      { partition: 0, framesAfter: () => undefined, spanOf: () => undefined },
      () => this.simulation.world.now
    )
  }

  private get place(): number {
    const { accounts, cursor } = this.simulation
    return cursor === 0 ? 0 : accounts.log[cursor - 1]!.sequence
  }

  /** Waits until frames may be written, and writes them. */
  private follow(): void {
    const { scenario, world } = this.simulation
    if (this.isFollowing || this.simulation.cursor >= this.acknowledged) return
    this.isFollowing = true
    const wait = () => {
      const millis = this.tasks.waitMillis(this.place)
      if (millis > 0) world.after(Math.min(millis, 5), this.process, wait)
      else this.begin()
    }
    world.after(scenario.topology.lagMillis, this.process, wait)
  }

  private again(millis: number): void {
    this.isFollowing = false
    this.simulation.world.after(millis, this.process, () => this.follow())
  }

  private batch(): ReadonlyArray<FactRecord> {
    const { accounts, cursor } = this.simulation
    const through = this.tasks.readyThrough(this.place)
    const records: Array<FactRecord> = []
    for (let at = cursor, frames = 0; at < this.acknowledged && frames < maximumFrames; frames++) {
      const frame = frameAt(accounts.log, at)
      if (frame.sequence > through && records.length > 0) break
      records.push(...(frame.records as ReadonlyArray<FactRecord>))
      at += frame.records.length
    }
    return records
  }

  /** A transaction: its statements are made here, and reach the store a moment later. */
  private begin(): void {
    const { simulation } = this
    const { queue, world } = simulation
    if (simulation.isOut) {
      this.again(100)
      return
    }
    const fault = simulation.fault("commit")
    const records = this.batch()
    const jobs = records.flatMap((record) => {
      const accepted = jobOfAccepted(record)
      if (accepted === undefined) return []
      const written = this.feed.tasks.written(record)
      simulation.marks.reach(`written: ${written?._tag ?? "unknown"}`)
      return jobWritten(accepted, written) ?? []
    })
    const lifted = records.flatMap(({ fact, kind, organization }) =>
      kind === SendAccount.kind && (fact as SendAccountFact)._tag === "Lifted"
        ? [{ partition: 0, group: groupOf(organization, "live"), at: (fact as { readonly at: number }).at }]
        : []
    )
    if (fault === "crash before") {
      simulation.crash("before a commit of the reactor")
      return
    }
    world.after(simulation.latency() + (fault === "late" ? lateMillis : 0), this.process, () => {
      // The next transaction writes the same records, as the register knows them then.
      if (fault === "rolled back") return this.again(50)
      for (const job of jobs) queue.put(job)
      for (const { at, group } of lifted) queue.goOn(group, at)
      simulation.cursor += records.length
      simulation.trace(() => `  recorded through ${this.place}: ${jobs.map(({ id }) => id).join(" ")}`)
      if (fault === "crash after") return simulation.crash("after a commit of the reactor")
      world.after(simulation.latency(), this.process, () => {
        const groups = [...jobs.filter(({ leasedUntil }) => leasedUntil === undefined), ...lifted]
        // Without the answer the reactor reads its place and goes on there.
        if (fault === "answer lost") this.tasks.resumed()
        else this.feed.committed(groups.map(({ group, partition }) => ({ group, partition })))
        this.tasks.recorded(this.place)
        if (fault === "new life") this.newLife()
        this.again(0)
      })
    })
  }

  // The ports.

  /** Asks the store, with a delay each way. The store goes on even if the process is gone. */
  private stored<A>(operation: Operation | undefined, question: () => A): Effect.Effect<A, WorkQueueUnavailable> {
    const { simulation } = this
    const { world } = simulation
    return Effect.callback<A, WorkQueueUnavailable>((resume) => {
      const fault = operation === undefined ? undefined : simulation.fault(operation)
      const failed = Effect.fail(new WorkQueueUnavailable({ message: fault ?? "outage" }))
      const answer = (effect: Effect.Effect<A, WorkQueueUnavailable>) =>
        world.after(simulation.latency(), this.process, () => resume(effect))
      world.after(simulation.latency(), undefined, () => {
        if (fault === "crash before" && this.process.alive) return simulation.crash(`before ${operation}`)
        if (simulation.isOut || fault === "unavailable") return answer(failed)
        const found = question()
        if (fault === "crash after" && this.process.alive) return simulation.crash(`after ${operation}`)
        return answer(fault === "answer lost" ? failed : Effect.succeed(found))
      })
    })
  }

  private queue(): WorkQueue {
    const { queue } = this.simulation
    const asked: Pick<WorkQueue, "due" | "takeFrom" | "settle" | "holding" | "backlog"> = {
      due: () => this.stored("due", () => queue.due()),
      takeFrom: (claims, { leasedUntil, now: at }) => this.stored("take", () => queue.take(claims, at, leasedUntil)),
      settle: (outcomes) => this.stored("settle", () => queue.settle(outcomes)),
      holding: (partitions) => this.stored(undefined, () => new Set(queue.jobs.size === 0 ? [] : partitions)),
      backlog: () => this.stored(undefined, () => ({ pending: queue.jobs.size, parked: 0, oldestDueAt: null }))
    }
    // The workers ask nothing else.
    return asked as WorkQueue
  }

  private asks(): AdmissionAsks {
    const { simulation } = this
    const { accounts, world } = simulation
    const ask = (organization: string, command: SendAccountCommand) =>
      Effect.callback<unknown, unknown>((resume) => {
        const operation = command._tag === "Report" ? "report" : "dispatch"
        const fault = simulation.fault(operation)
        const answer = (effect: Effect.Effect<unknown, unknown>) =>
          world.after(simulation.latency() + (fault === "late" ? lateMillis : 0), this.process, () => resume(effect))
        world.after(simulation.latency(), undefined, () => {
          if (fault === "unavailable")
            return answer(Effect.fail(new PartitionUnavailable({ partition: 0, reason: fault, retryAfterMillis: 10 })))
          const decision = accounts.ask(organization, command, simulation.wallMillis)
          simulation.decided()
          if (fault === "crash after" && this.process.alive) return simulation.crash(`after ${command._tag}`)
          if (fault === "outcome unknown") return answer(Effect.fail(new OutcomeUnknown({ partition: 0 })))
          return answer(decision.accepted ? Effect.succeed(decision.reply) : Effect.fail(decision.rejection))
        })
      })
    const state = (organization: string, actor: { readonly kind: string }, key: string) =>
      Effect.callback<unknown>((resume) => {
        world.after(simulation.latency(), this.process, () =>
          resume(
            Effect.succeed(
              actor.kind === SendAccount.kind ? accounts.account(organization) : accounts.email(organization, key)
            )
          )
        )
      })
    // Its commands and states are those of the actors that it is asked for.
    return {
      organizationOf: (organization: string) => organization,
      ask: (organization: string, _actor: unknown, _key: string, command: SendAccountCommand) =>
        ask(organization, command),
      state
    } as unknown as AdmissionAsks
  }

  private contents(): MessageContents["Service"] {
    const { simulation } = this
    const { accounts, world } = simulation
    return {
      write: () => Effect.die(new Error("the workers write no contents")),
      digests: () => Effect.die(new Error("the workers search nothing")),
      read: (_organization, pointers) =>
        Effect.callback((resume) => {
          const fault = simulation.fault("contents")
          world.after(simulation.latency() + (fault === "late" ? lateMillis : 0), this.process, () =>
            resume(
              fault === "unavailable"
                ? Effect.fail(new ContentsUnavailable({ message: fault }))
                : Effect.succeed(
                    pointers.map((pointer) =>
                      messageTo(accounts.emails.find(({ id }) => id === pointer)?.recipients ?? [])
                    )
                  )
            )
          )
        })
    }
  }

  private waits(): string | undefined {
    return this.simulation.relay === "waits" ? "the relay is away" : undefined
  }

  /** Gives a mail to the relay. */
  private deliver({ id }: OutgoingMail, to: ReadonlyArray<string>): Effect.Effect<HandoffAnswer> {
    const { simulation } = this
    const { checker, world } = simulation
    return Effect.callback<HandoffAnswer>((resume) => {
      const fault = simulation.fault("deliver")
      const mode = simulation.relay
      checker.begun(id)
      simulation.trace(() => `  ${id} goes to ${to.length}, and the relay ${fault ?? mode}`)
      let isOver = false
      const over = (isAnswered: boolean) => {
        if (!isOver) checker.over(id, isAnswered)
        isOver = true
      }
      const answer = (said: HandoffAnswer, millis = simulation.latency()) =>
        world.after(millis, this.process, () => {
          over(true)
          resume(Effect.succeed(said))
        })
      const take = (some: ReadonlyArray<string>) => {
        for (const recipient of some) checker.took(id, recipient)
      }
      if (fault === "defect") {
        over(true)
        resume(Effect.die(new Error("the transport failed")))
        return
      }
      world.after(simulation.latency() + (mode === "is slow" ? slowMillis : 0), this.process, () => {
        if (fault === "crash before") return simulation.crash("before the relay")
        if (fault === "hangs" || mode === "hangs") return
        if (mode !== "takes" && mode !== "is slow") return answer(this.refusal(mode, to, take))
        take(to)
        if (fault === "crash after") return simulation.crash("after the relay")
        if (fault !== "lost") return answer({ _tag: "Accepted" })
        over(false)
        return answer({ _tag: "Unknown", reason: "the connection was lost" })
      })
      return Effect.sync(() => over(false))
    })
  }

  private refusal(mode: string, to: ReadonlyArray<string>, take: (some: ReadonlyArray<string>) => void): HandoffAnswer {
    const later: PartAnswer = { _tag: "Temporary", code: "4.2.0", reason: "later" }
    switch (mode) {
      case "refuses":
        return { _tag: "Permanent", code: "5.1.1", reason: "nobody of that name" }
      case "blames":
        return { _tag: "Account", code: "5.7.1", reason: "the account is not verified" }
      case "waits":
        return { _tag: "Waits", reason: "nothing takes it" }
      case "parts": {
        const behind = this.simulation.partedBehind(to.length)
        take(to.slice(0, behind))
        const parts = to.map((recipient, index) => ({
          recipient,
          answer: index < behind ? ({ _tag: "Accepted" } as const) : later
        }))
        return { _tag: "Parted", parts }
      }
      default:
        return later
    }
  }

  private run<A, E>(effect: Effect.Effect<A, E, Scope.Scope>, done: (exit: Exit.Exit<A, E>) => void): void {
    this.simulation.world.ready(this.process, () => {
      Effect.runForkWith(this.services)(effect).addObserver((exit) => {
        if (this.process.alive) done(exit)
      })
    })
  }
}

const frameAt = (log: ReadonlyArray<FactRecord>, from: number): CommittedFrame => {
  const { now: at, sequence } = log[from]!
  let end = from + 1
  while (end < log.length && log[end]!.sequence === sequence) end++
  return { sequence, hash: "", number: sequence, epoch: 1, now: at, bytes: 100, records: log.slice(from, end) }
}
