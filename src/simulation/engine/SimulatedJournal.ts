/**
 * Simulates the log: JetStream's handling of a publish with one or three replicas, its answers, and losses on the way.
 * The store itself is `JournalMemory.ts`; each process has one of these ports.
 */
import { Effect, Stream } from "effect"
import {
  adoptLog,
  lastSequenceOf,
  type MemoryLog,
  ownerOf,
  publishTo,
  surveyLogs
} from "../../engine/memory/JournalMemory.ts"
import {
  Journal,
  JournalGap,
  JournalUnavailable,
  type Log,
  type LogState,
  type PublishAnswer,
  type PublishRequest,
  type StoredFrame
} from "../../engine/ports/Journal.ts"
import type { Host, HostedProcess } from "../kernel/Host.ts"
import type { Decided } from "./Decisions.ts"

/** The largest frame that the simulated server takes. */
const maximumMessageBytes = 1024 * 1024

/** Frames in one batch of a read. */
const batchFrames = 16

/** How long a request waits for an answer. */
const requestTimeoutMillis = 1_000

/** How long until a lost connection is noticed and nothing more is sent, milliseconds. */
const outageNoticedMillis = 50

/**
 * The oldest answer that a deposed leader may give. The freshness of docs/architecture.md, rule 6 cannot be better than
 * that.
 */
export const maximumStaleMillis = 1_000

const timeout: PublishAnswer = { _tag: "NoAnswer", reason: "timeout" }
const disconnected: PublishAnswer = { _tag: "NoAnswer", reason: "disconnected" }

/** The memory of one partition's log besides its frames. See {@link engineCheckers}. */
export interface ServerLog {
  readonly log: MemoryLog
  /** Sequences by frame identity, by which three replicas recognize a frame. */
  readonly known: Map<string, number>
  /** Ends of the log over time, for stale answers. */
  readonly ends: Array<{ readonly at: number; readonly lastSequence: number }>
}

/** The log server of a simulation. See {@link engineCheckers}. */
export class LogServer {
  /** How many frames a fault delays on their way. */
  lateFrames = 0
  private readonly simulation: Host
  private readonly logs = new Map<number, ServerLog>()

  constructor(simulation: Host) {
    this.simulation = simulation
  }

  of(partition: number): ServerLog {
    let found = this.logs.get(partition)
    if (found === undefined) {
      found = { log: this.simulation.stores.journal.log(partition), known: new Map(), ends: [] }
      this.logs.set(partition, found)
    }
    return found
  }

  /** Carries out a publish immediately. */
  publish(
    partition: number,
    request: PublishRequest,
    from: HostedProcess | undefined,
    drafted: Drafted
  ): PublishAnswer {
    const { simulation } = this
    const server = this.of(partition)
    const stored = server.known.get(request.identity)
    if (stored !== undefined && simulation.scenario.topology.replicas === 3) {
      simulation.marks.reach("server, recognized a frame and answered duplicate")
      return { _tag: "Acked", sequence: stored, duplicate: true }
    }
    const answer = publishTo(server.log, request, simulation.logBytes)
    simulation.trace(
      () =>
        `  log ${partition}: ${request.identity} after ${request.expectedLast} from ${from?.name ?? "?"}: ${answer._tag}`
    )
    if (answer._tag === "Acked") {
      server.known.set(request.identity, answer.sequence)
      server.ends.push({ at: simulation.world.now, lastSequence: answer.sequence })
      simulation.committed(partition, server.log.frames[server.log.frames.length - 1]!, from, drafted)
    } else if (stored !== undefined) {
      simulation.marks.reach("server, answered a re-sent frame with a wrong sequence")
    }
    return answer
  }

  /** The state that the leader knows, or, when stale, the one that a deposed leader still believes. */
  state(partition: number, stale: boolean): LogState {
    const { log, ends } = this.of(partition)
    const lastSequence = lastSequenceOf(log)
    const state = {
      firstSequence: log.firstSequence,
      lastSequence,
      bytes: log.bytes,
      maximumBytes: this.simulation.logBytes
    }
    if (!stale) return state
    const since = this.simulation.world.now - maximumStaleMillis
    let old = lastSequence
    for (let index = ends.length - 1; index >= 0 && ends[index]!.at > since; index--)
      old = ends[index]!.lastSequence - 1
    return { ...state, lastSequence: Math.max(old, log.firstSequence - 1) }
  }
}

/** A frame that was sent, and not acknowledged yet. See {@link engineCheckers}. */
export type Drafted = ReadonlyArray<Decided>

type RoundTrip = <A>(
  partition: number,
  fault: string | undefined,
  serve: () => A
) => Effect.Effect<A, JournalUnavailable>

/**
 * A request and its answer, with a delay each way. During an outage, or with `unavailable`, it fails after its
 * timeout.
 */
const makeRoundTrip = (simulation: Host, engine: HostedProcess): RoundTrip => {
  const { latency, world } = simulation
  const { process } = engine
  return (partition, fault, serve) =>
    Effect.callback((resume) => {
      if (!process.alive) return
      if (fault === "crash") return simulation.crash(engine, "at a read of the log")
      const unavailable = () =>
        Effect.fail(new JournalUnavailable({ partition, message: "simulated: the log does not answer" }))
      if (fault === "unavailable") {
        world.after(requestTimeoutMillis, process, () => resume(unavailable()))
        return
      }
      const outages = simulation.machineOutages
      world.after(latency(), undefined, () => {
        // The connection has ended with the server, and the request is not sent again: a purge must not reach the log
        // that comes back.
        if (outages !== simulation.machineOutages) {
          simulation.marks.reach("fault, log: a request under way was lost with the machine")
          return
        }
        if (simulation.outages.isOut("log")) {
          world.after(requestTimeoutMillis, process, () => resume(unavailable()))
          return
        }
        const answer = serve()
        const back = fault === "slow" ? 700 : latency()
        world.after(back, process, () => resume(Effect.succeed(answer)))
      })
    })
}

/** Reads frames in batches; a read can be cut off between two of them. */
const makeRead =
  ({ faults, server }: Host, roundTrip: RoundTrip, partition: number): Log["read"] =>
  (from, through) =>
    Stream.unfold(from, (at) => {
      if (at > through) return Effect.undefined
      const fault = faults.take("read")
      const end = fault === "cut off" ? at : Math.min(through, at + batchFrames - 1)
      if (fault === "cut off" && at > from) {
        return Effect.fail(new JournalUnavailable({ partition, message: "simulated: the read was cut off" }))
      }
      return Effect.flatMap(
        roundTrip(partition, fault, (): ReadonlyArray<StoredFrame> | number => {
          const { log } = server.of(partition)
          const frames: Array<StoredFrame> = []
          for (let sequence = at; sequence <= end; sequence++) {
            const frame = log.frames[sequence - log.firstSequence]
            if (frame === undefined) return sequence
            frames.push(frame)
          }
          return frames
        }),
        (found) =>
          typeof found === "number"
            ? Effect.fail(new JournalGap({ partition, sequence: found, message: `frame ${found} is not in the log` }))
            : Effect.succeed([found, end + 1] as const)
      )
    })

/** One process's way to the log. */
export const makeJournal = (simulation: Host, engine: HostedProcess): Journal["Service"] => {
  const { faults, server } = simulation
  const roundTrip = makeRoundTrip(simulation, engine)

  const open = (partition: number, deployment: string | undefined): Log => ({
    partition,
    home: `the log ${partition}`,
    deployment: ownerOf(simulation.stores.journal, partition, deployment),
    adopt: (id) => adoptLog(simulation.stores.journal, partition, id),
    leaderMayBeDeposed: simulation.scenario.topology.replicas > 1,
    publish: (request) =>
      Effect.callback((resume) => {
        if (!engine.process.alive) return
        new Publish(simulation, engine, partition, request, (answer) => resume(Effect.succeed(answer))).send()
      }),
    frameAt: (sequence) =>
      Effect.suspend(() => {
        const fault = faults.take("frameAt")
        return roundTrip(partition, fault, () => {
          const { log } = server.of(partition)
          return fault === "stale" ? undefined : log.frames[sequence - log.firstSequence]
        })
      }),
    get state() {
      return Effect.suspend(() => {
        const fault = faults.take("state")
        return roundTrip(partition, fault, () => server.state(partition, fault === "stale"))
      })
    },
    read: makeRead(simulation, roundTrip, partition),
    purgeBelow: (sequence) =>
      Effect.asVoid(roundTrip(partition, undefined, () => simulation.purge(partition, sequence, engine.name))),
    restartAfter: () => Effect.die(new Error("the simulation starts no log anew"))
  })

  return Journal.of({
    maximumMessageBytes,
    survey: (partitions) => Effect.sync(() => surveyLogs(simulation.stores.journal, partitions)),
    open: (partition, deployment) =>
      Effect.map(
        roundTrip(partition, undefined, () => undefined),
        () => open(partition, deployment)
      )
  })
}

/** One publish attempt on its way. */
class Publish {
  private readonly simulation: Host
  private readonly engine: HostedProcess
  private readonly partition: number
  private readonly request: PublishRequest
  private readonly answer: (answer: PublishAnswer) => void
  private readonly drafted: Drafted
  private readonly outages: number

  constructor(
    simulation: Host,
    engine: HostedProcess,
    partition: number,
    request: PublishRequest,
    answer: (answer: PublishAnswer) => void
  ) {
    this.simulation = simulation
    this.engine = engine
    this.partition = partition
    this.request = request
    this.answer = answer
    this.outages = simulation.machineOutages
    const [, epoch, number] = request.identity.split("/")
    this.drafted = engine.decisions.draftedFor(partition, Number(epoch), Number(number))
  }

  send() {
    const { engine, simulation } = this
    const { latency, world } = simulation
    const fault = simulation.faults.take("publish")
    switch (fault) {
      case "crash before the request":
        return simulation.crash(engine, "before it published a frame")
      case "request lost":
        return this.answerAfter(this.request.timeoutMillis, timeout)
      case "request late":
        simulation.server.lateFrames++
        world.after(this.request.timeoutMillis * simulation.draw.int(2, 12), undefined, () => {
          simulation.server.lateFrames--
          this.store()
        })
        return this.answerAfter(this.request.timeoutMillis, timeout)
      case "crash with the request under way":
        simulation.crash(engine, "with a frame under way")
        world.after(latency(), undefined, () => this.store())
        return
      case "pause before the request":
        simulation.pause(engine)
        world.after(simulation.draw.int(1_000, 20_000), undefined, () => engine.process.resume())
        // It leaves when the process continues, whoever resumes it.
        world.after(0, engine.process, () => this.arriveAfter(latency(), undefined))
        return
      default:
        if (simulation.outages.outFor("log") >= outageNoticedMillis) return this.answerAfter(0, { _tag: "NotSent" })
        this.arriveAfter(latency(), fault)
    }
  }

  private arriveAfter(millis: number, fault: string | undefined): void {
    const { simulation } = this
    simulation.world.after(millis, undefined, () => {
      if (simulation.outages.isOut("log")) return this.answerAfter(this.request.timeoutMillis, timeout)
      this.arrive(fault)
    })
  }

  /** At the server. */
  private arrive(fault: string | undefined) {
    const { engine, simulation } = this
    const { latency, world } = simulation
    const { draw } = simulation
    const soon = latency()
    switch (fault) {
      case "ack lost":
        this.store()
        return this.answerAfter(this.request.timeoutMillis, timeout)
      case "ack late":
        return this.answerAfter(draw.int(50, 950), this.store())
      case "disconnected after commit":
        this.store()
        return this.answerAfter(soon, disconnected)
      case "delivered twice, first answer": {
        const first = this.store()
        world.after(latency(), undefined, () => this.store())
        return this.answerAfter(soon, first)
      }
      case "delivered twice, second answer":
        this.store()
        world.after(latency(), undefined, () => this.answerAfter(soon, this.store()))
        return
      case "stored, answered wrong sequence": {
        this.store()
        return this.answerAfter(soon, {
          _tag: "WrongSequence",
          last: lastSequenceOf(simulation.server.of(this.partition).log)
        })
      }
      case "stored, answered wrong sequence without it":
        this.store()
        return this.answerAfter(soon, { _tag: "WrongSequence", last: undefined })
      case "not stored, answered wrong sequence without it":
        return this.answerAfter(soon, { _tag: "WrongSequence", last: undefined })
      case "no leader":
        return this.answerAfter(soon, { _tag: "NoLeader" })
      case "full":
        return this.answerAfter(soon, { _tag: "Full" })
      case "too large":
        return this.answerAfter(soon, { _tag: "TooLarge", maximumBytes: 1 })
      case "refused":
        return this.answerAfter(soon, { _tag: "Refused", message: "simulated: an error of the server's own" })
      case "crash after the commit":
        this.store()
        return simulation.crash(engine, "after a commit, before the ack")
      case "crash at the ack": {
        const answer = this.store()
        world.after(soon, engine.process, () => {
          if (simulation.isHealed) this.answer(answer)
          else simulation.crash(engine, "when the ack came")
        })
        return
      }
      case "crash between replies":
        world.after(soon, engine.process, () => {
          if (!simulation.isHealed) engine.repliesUntilCrash = draw.int(0, 2)
        })
        return this.answerAfter(soon, this.store())
      case "pause after the commit": {
        const answer = this.store()
        simulation.pause(engine)
        world.after(draw.int(1_000, 20_000), undefined, () => {
          engine.process.resume()
        })
        return this.answerAfter(soon, answer)
      }
      default:
        return this.answerAfter(soon, this.store())
    }
  }

  private store(): PublishAnswer {
    // A message that was under way when the machine went down never arrives.
    if (this.outages !== this.simulation.machineOutages) return disconnected
    return this.simulation.server.publish(this.partition, this.request, this.engine, this.drafted)
  }

  private answerAfter(millis: number, answer: PublishAnswer): void {
    this.simulation.world.after(millis, this.engine.process, () => this.answer(answer))
  }
}
