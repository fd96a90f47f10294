/**
 * Reads the logs of a running platform and counts usage anew, record by record and without the program's own counting. It reads on from time to time, because logs are purged behind their
 * checkpoints; what was purged before it was read is a violation.
 */
import { Effect, Layer, Logger, Redacted, Stream } from "effect"
import { actors, lanes } from "../../src/app/engine.ts"
import { Registry } from "../../src/engine/core/actors/Organization.ts"
import { decodeFrame } from "../../src/engine/frame.ts"
import { Journal } from "../../src/engine/ports/Journal.ts"
import { type LogRecord, recordsOf } from "../../src/engine/records.ts"
import { NatsConnection } from "../../src/nats/connection.ts"
import * as JournalJetStream from "../../src/nats/JournalJetStream.ts"

/** Sums by `organization hour product type`. */
export type Sums = Map<string, number>

const registry = new Registry(actors, lanes)

const add = (sums: Sums, organization: string, at: number, product: string, type: string, quantity: number): void => {
  const hour = Math.floor(at / 3_600_000) * 3_600_000
  const name = `${organization} ${hour} ${product} ${type}`
  sums.set(name, (sums.get(name) ?? 0) + quantity)
}

const weekMillis = 7 * 24 * 3_600_000
const emailEnds = ["Canceled", "Suppressed", "HandedOver", "Failed", "Bounced"]

/** An email's content takes room from its acceptance until seven days after its first end, whatever the ends themselves say of it. `kept`: of emails that have not ended. */
// biome-ignore lint/suspicious/noExplicitAny: as below.
const countContent = (sums: Sums, kept: Map<string, number>, { key, organization }: LogRecord, fact: any): void => {
  const name = `${organization} ${key}`
  const accepted = fact._tag === "Accepted"
  if (accepted) {
    add(sums, organization, fact.at, "send", "contents", fact.bytes)
    kept.set(name, fact.bytes)
  }
  const bytes = kept.get(name)
  if (bytes === undefined || !(emailEnds.includes(fact._tag) || (accepted && fact.state === "suppressed"))) return
  add(sums, organization, fact.at + weekMillis, "send", "contents", -bytes)
  kept.delete(name)
}

/** Counts one record as docs/platform.md, 11.8 says it. */
const count = (sums: Sums, kept: Map<string, number>, record: LogRecord): void => {
  const { kind, now, organization } = record
  if (record._tag === "Event") {
    const { type } = record.event
    if (["telco.lookup.completed", "telco.lookups.completed", "telco.search.completed"].includes(type))
      add(sums, organization, now, "telco", "apiCalls", 1)
    if (type === "talk.speech.completed") add(sums, organization, now, "talk", "apiCalls", 1)
    return
  }
  // biome-ignore lint/suspicious/noExplicitAny: a count apart from the program's own reads facts as they stand in the log.
  const fact = record.fact as any // because it must not share the program's schemas
  if (kind === "call-counts")
    for (const [product, calls] of fact.calls) add(sums, organization, fact.hour, product, "apiCalls", calls)
  if (kind === "usage-reports") add(sums, organization, now, fact.product, fact.usageType, fact.quantity)
  if (kind === "sendEmail") countContent(sums, kept, record, fact)
  if (kind === "sendAccount" && fact._tag === "Accepted") {
    add(sums, organization, now, "send", "apiCalls", 1)
    if (record.key === "live") add(sums, organization, now, "send", "emails", fact.emails)
  }
}

export class Recount {
  readonly sums: Sums = new Map()
  readonly violations: Array<string> = []
  frames = 0
  private readonly kept = new Map<string, number>()
  private readonly next = new Map<number, number>()

  /** Reads what was added since the last time. */
  readOn(natsUrl: string, partitions: number): Promise<void> {
    const reading = Effect.gen({ self: this }, function* () {
      const journal = yield* Journal
      for (let partition = 0; partition < partitions; partition++) {
        const log = yield* journal.open(partition)
        const { firstSequence, lastSequence } = yield* log.state
        const from = this.next.get(partition) ?? 1
        if (from > lastSequence) continue
        if (firstSequence > from)
          this.violations.push(`frames ${from} to ${firstSequence - 1} of partition ${partition} were purged unread`)
        yield* Stream.runForEach(log.read(Math.max(from, firstSequence), lastSequence), (batch) =>
          Effect.sync(() => {
            for (const { bytes, sequence } of batch) {
              this.frames++
              for (const record of recordsOf(registry, partition, sequence, decodeFrame(bytes))) {
                if (record._tag === "Unreadable") this.violations.push(`a record of frame ${sequence} cannot be read`)
                else count(this.sums, this.kept, record)
              }
            }
          })
        )
        this.next.set(partition, lastSequence + 1)
      }
    })
    return Effect.runPromise(
      reading.pipe(
        Effect.provide(
          JournalJetStream.layer({ replicas: 1, maximumBytes: undefined, namespace: undefined }).pipe(
            Layer.provide(NatsConnection.layer({ url: Redacted.make(natsUrl), weakSync: "refuse" }))
          )
        ),
        Effect.scoped,
        Effect.provide(Logger.layer([]))
      )
    )
  }
}
