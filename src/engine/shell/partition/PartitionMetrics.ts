/**
 * Records the engine's metrics, one series per partition if that helps. Updated synchronously from the partition's
 * fiber.
 */
import { type Context, Metric } from "effect"
import type { FrameMessage } from "../../frame.ts"
import { type AppendBranch, appendBranches } from "./append.ts"

const milliseconds = [0.25, 0.5, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192]
const counts = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096, 16384, 65536]

const ownedGauge = (attributes: { readonly partition: string }) =>
  Metric.gauge("sluice_partition_owned", { description: "1 while the partition is placed in this process", attributes })

/** The metrics of one partition. All names begin with `sluice_`. */
export class PartitionMetrics {
  private readonly context: Context.Context<never>
  private readonly mailboxDepth: Metric.Gauge<number>
  private readonly drainSize: Metric.Histogram<number>
  private readonly appendMillis: Metric.Histogram<number>
  private readonly outcomes: Readonly<Record<AppendBranch, Metric.Counter<number>>>
  private readonly replayedFrames: Metric.Gauge<number>
  private readonly checkpointSeconds: Metric.Gauge<number>
  private readonly notServing: Metric.Gauge<number>
  private readonly owned: Metric.Gauge<number>
  private readonly poisoned: Metric.Counter<number>
  private readonly braked: Metric.Counter<number>
  private readonly quarantinedCount: Metric.Gauge<number>
  private readonly fences: Metric.Counter<number>
  private readonly restarts: Metric.Counter<number>
  private readonly logFill: Metric.Gauge<number>
  private readonly actors: Metric.Gauge<number>
  private readonly attributes: { readonly partition: string }
  private readonly outboxBacklog: Metric.Gauge<number>
  private readonly outboxAge: Metric.Gauge<number>
  private readonly delivered: Metric.Counter<number>
  private readonly repeated: Metric.Counter<number>
  private wasOutboxIdle = false
  private readonly cursorLags = new Map<string, Metric.Gauge<number>>()

  constructor(partition: number, context: Context.Context<never>) {
    this.context = context
    const attributes = { partition: String(partition) }
    this.attributes = attributes
    this.mailboxDepth = Metric.gauge("sluice_mailbox_depth", { description: "Commands waiting", attributes })
    this.drainSize = Metric.histogram("sluice_drain_size", {
      description: "Commands, signals and timers decided by a drain",
      boundaries: counts,
      attributes
    })
    this.appendMillis = Metric.histogram("sluice_append_millis", {
      description: "Time until a frame's outcome was known, milliseconds",
      boundaries: milliseconds,
      attributes
    })
    this.outcomes = Object.fromEntries(
      appendBranches.map((branch) => [
        branch,
        Metric.counter("sluice_append_outcomes_total", {
          description: "How appends were resolved",
          incremental: true,
          attributes: { ...attributes, branch }
        })
      ])
    ) as Record<AppendBranch, Metric.Counter<number>>
    this.replayedFrames = Metric.gauge("sluice_replayed_frames", {
      description: "Frames replayed by the last recovery",
      attributes
    })
    this.checkpointSeconds = Metric.gauge("sluice_checkpoint_age_seconds", {
      description: "Age of the newest checkpoint, seconds",
      attributes
    })
    this.notServing = Metric.gauge("sluice_owned_not_serving", {
      description: "1 while the partition is owned here and does not serve",
      attributes
    })
    this.owned = ownedGauge(attributes)
    this.poisoned = Metric.counter("sluice_poison_total", {
      description: "Commands, signals and timers whose rule threw",
      incremental: true,
      attributes
    })
    this.braked = Metric.counter("sluice_braked_actors_total", {
      description: "Times an actor was held up because it was woken too often",
      incremental: true,
      attributes
    })
    this.quarantinedCount = Metric.gauge("sluice_quarantined_organizations", {
      description: "Organizations out of service because something stored of them cannot be read",
      attributes
    })
    this.fences = Metric.counter("sluice_fences_total", {
      description: "Times another owner's frame was found",
      incremental: true,
      attributes
    })
    this.restarts = Metric.counter("sluice_restarts_total", {
      description: "Times the partition dropped its memory and recovered",
      incremental: true,
      attributes
    })
    this.logFill = Metric.gauge("sluice_log_fill_ratio", {
      description: "Used part of the log's bytes, 0 to 1; alarm at 0.7",
      attributes
    })
    this.actors = Metric.gauge("sluice_actors", { description: "Actors in memory", attributes })
    this.outboxBacklog = Metric.gauge("sluice_outbox_backlog", {
      description: "Messages to other organizations in memory that are neither delivered nor parked",
      attributes
    })
    this.outboxAge = Metric.gauge("sluice_outbox_age_seconds", {
      description: "Age of the oldest of them, seconds",
      attributes
    })
    this.delivered = Metric.counter("sluice_outbox_delivered_total", {
      description: "Messages that their receivers have accepted",
      incremental: true,
      attributes
    })
    this.repeated = Metric.counter("sluice_outbox_repeated_total", {
      description: "Messages sent again that their receivers had taken in before",
      incremental: true,
      attributes
    })
    this.showFromStart()
  }

  /** Shows every counter from the start: the rate of one that appears with its first count misses that count. */
  private showFromStart(): void {
    this.owned.updateUnsafe(1, this.context)
    // Until it first serves; a series that is missing would raise no alert.
    this.notServing.updateUnsafe(1, this.context)
    const { braked, delivered, fences, outcomes, poisoned, repeated, restarts } = this
    for (const counter of [...Object.values(outcomes), braked, delivered, fences, poisoned, repeated, restarts])
      counter.updateUnsafe(0, this.context)
    this.unknownSignals(0)
  }

  mailbox(depth: number): void {
    this.mailboxDepth.updateUnsafe(depth, this.context)
  }

  drained(commands: number): void {
    this.drainSize.updateUnsafe(commands, this.context)
  }

  appended(branch: AppendBranch, millis: number): void {
    this.appendMillis.updateUnsafe(millis, this.context)
    this.outcomes[branch].updateUnsafe(1, this.context)
  }

  replayed(frames: number): void {
    this.replayedFrames.updateUnsafe(frames, this.context)
  }

  checkpointAge(millis: number): void {
    this.checkpointSeconds.updateUnsafe(millis / 1000, this.context)
  }

  serving(serves: boolean): void {
    this.notServing.updateUnsafe(serves ? 0 : 1, this.context)
  }

  /** Removes the partition, which has left this process. */
  left(): void {
    this.notServing.updateUnsafe(0, this.context)
    this.owned.updateUnsafe(0, this.context)
  }

  poison(): void {
    this.poisoned.updateUnsafe(1, this.context)
  }

  brake(): void {
    this.braked.updateUnsafe(1, this.context)
  }

  quarantined(organizations: number): void {
    this.quarantinedCount.updateUnsafe(organizations, this.context)
  }

  fence(): void {
    this.fences.updateUnsafe(1, this.context)
  }

  restart(): void {
    this.restarts.updateUnsafe(1, this.context)
  }

  fill(bytes: number, maximumBytes: number): void {
    this.logFill.updateUnsafe(maximumBytes > 0 ? bytes / maximumBytes : 0, this.context)
  }

  actorCount(count: number): void {
    this.actors.updateUnsafe(count, this.context)
  }

  /** Signals in the store behind the last one that was read. */
  signalsBehind(signals: number): void {
    Metric.gauge("sluice_signals_behind", {
      description: "External signals in their store behind the last one that the partition has read",
      attributes: this.attributes
    }).updateUnsafe(signals, this.context)
  }

  /** Messages of an ingest's subjects behind the last one that was read. */
  ingestBehind(ingest: string, messages: number): void {
    Metric.gauge("sluice_ingest_behind", {
      description: "Messages in an ingest's stream behind the last one that the partition has read",
      attributes: { ...this.attributes, ingest }
    }).updateUnsafe(messages, this.context)
  }

  ingestStopped(ingest: string, isStopped: boolean): void {
    Metric.gauge("sluice_ingest_stopped", {
      description: "1 while an ingest has lost its place in its stream and waits for an operator",
      attributes: { ...this.attributes, ingest }
    }).updateUnsafe(isStopped ? 1 : 0, this.context)
  }

  /** Counts a message that became a command. */
  ingestTaken(ingest: string): void {
    Metric.counter("sluice_ingest_messages_total", {
      description: "Messages of an ingest's stream that became commands",
      incremental: true,
      attributes: { ...this.attributes, ingest }
    }).updateUnsafe(1, this.context)
  }

  /** Counts a signal of a kind that has no rule. */
  unknownSignal(): void {
    this.unknownSignals(1)
  }

  private unknownSignals(signals: number): void {
    Metric.counter("sluice_unknown_signals_total", {
      description: "External signals passed over because no rule knows their kind",
      incremental: true,
      attributes: this.attributes
    }).updateUnsafe(signals, this.context)
  }

  /** Frames a reactor has still to read. */
  cursorLag(reactor: string, frames: number): void {
    let lag = this.cursorLags.get(reactor)
    if (lag === undefined) {
      lag = Metric.gauge("sluice_cursor_lag_frames", {
        description: "Frames of the log that a reactor has still to read; of the outbox, to be done with",
        attributes: { ...this.attributes, reactor }
      })
      this.cursorLags.set(reactor, lag)
      this.parked(reactor, 0)
    }
    lag.updateUnsafe(frames, this.context)
  }

  /** States that a reactor got while it was rebuilt from states. */
  rebuilt(reactor: string, states: number): void {
    Metric.counter("sluice_reactor_rebuilt_states_total", {
      description: "States that a reactor has processed while it was rebuilt from states",
      incremental: true,
      attributes: { ...this.attributes, reactor }
    }).updateUnsafe(states, this.context)
  }

  /** Unfinished messages in memory, and the time of the oldest decision. */
  outbox(messages: number, oldest: number | undefined, now: number): void {
    const isIdle = messages === 0
    if (isIdle && this.wasOutboxIdle) return
    this.wasOutboxIdle = isIdle
    this.outboxBacklog.updateUnsafe(messages, this.context)
    this.outboxAge.updateUnsafe(oldest === undefined ? 0 : Math.max(0, now - oldest) / 1000, this.context)
  }

  /** Counts the results of finished messages. */
  messages(sent: ReadonlyArray<{ readonly message: FrameMessage }>, received: ReadonlyArray<unknown>): void {
    let accepted = 0
    let repeated = 0
    for (const [index, one] of received.entries()) {
      if (one === "accepted") accepted++
      else if (one === "repeated") repeated++
      else
        Metric.counter("sluice_outbox_rejected_total", {
          description: "Messages that their receivers' rules rejected",
          incremental: true,
          attributes: { ...this.attributes, kind: sent[index]!.message.kind }
        }).updateUnsafe(1, this.context)
    }
    if (accepted > 0) this.delivered.updateUnsafe(accepted, this.context)
    if (repeated > 0) this.repeated.updateUnsafe(repeated, this.context)
  }

  /** Records that are parked at a reactor now. */
  parkedNow(reactor: string, records: number): void {
    Metric.gauge("sluice_parked_records", {
      description: "Records parked at a reactor that wait for an operator",
      attributes: { ...this.attributes, reactor }
    }).updateUnsafe(records, this.context)
  }

  /** Records parked by a reactor since the start. */
  parked(reactor: string, records: number): void {
    Metric.counter("sluice_parked_total", {
      description: "Records parked by a reactor",
      incremental: true,
      attributes: { ...this.attributes, reactor }
    }).updateUnsafe(records, this.context)
  }
}
