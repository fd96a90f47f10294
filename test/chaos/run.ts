/**
 * A whole run: servers, an owner, callers, rounds of faults, and then the reckoning. Every acknowledged decision must be in the log and in
 * the state exactly once, none may be there twice or in parts, and the projection must equal the log.
 */
import { Clock, Effect, Layer, Random, Redacted, References } from "effect"
import { Journal } from "../../src/engine/ports/Journal.ts"
import { NatsConnection } from "../../src/nats/connection.ts"
import * as JournalJetStream from "../../src/nats/JournalJetStream.ts"
import * as PgClient from "../../src/postgres/PgClient.ts"
import type { Means } from "../support/longRun.ts"
import { Audit, accountOf } from "./audit.ts"
import { Callers } from "./callers.ts"
import { Decisions } from "./decisions.ts"
import { hangPostgres } from "./hang.ts"
import { createTables, emptyAccount, firstAccount, secondAccount } from "./model.ts"
import { Owners, patienceMillis } from "./owners.ts"
import { describeRound, planOf, type Round, type ServerFault } from "./plan.ts"
import { caughtUp, compareProjection } from "./projection.ts"
import type { Figures } from "./protocol.ts"
import { type Server, startServers } from "./servers.ts"
import type { WorkerProcess } from "./workerProcess.ts"

export interface ChaosOptions extends Means {
  readonly rounds: number
  readonly seed: string
  /** How long what is stopped stays so. */
  readonly pauseMillis: number
  /** How long a PostgreSQL that hangs does so. */
  readonly hangMillis: number
  readonly checkpointMillis: number
}

export interface ChaosReport {
  /** What must never happen and did; the first ones only. */
  readonly violations: ReadonlyArray<string>
  readonly violationCount: number
  readonly asks: number
  readonly decisions: {
    readonly asked: number
    readonly acknowledged: number
    /** In the log, although no caller was told so. */
    readonly storedUnacknowledged: number
    /** Not in the log, and no caller was told that they are. */
    readonly lost: number
  }
  readonly callers: {
    readonly looks: number
    readonly repeats: number
    readonly recognized: number
    readonly lateAnswers: number
  }
  readonly log: {
    readonly frames: number
    readonly records: number
    readonly claims: number
    readonly purgedFrames: number
  }
  readonly projectedRows: number
  /** Commands for other organizations that the outbox has delivered. */
  readonly messages: number
  readonly errors: Readonly<Record<string, { readonly count: number; readonly message: string }>>
  /** Appends by how they were resolved, as far as killed processes had reported them. */
  readonly branches: Readonly<Record<string, number>>
  readonly fences: number
  readonly restarts: number
  readonly processes: number
  readonly failedStarts: number
}

const partitions = 8
const callerCount = 320
const ownOrganizations = 8
const sharedOrganizations = 1_000

/** How often messages that are under way at the end are looked for. */
const arrivalPollMillis = 100

/** Violations of one kind, by their first words, that are kept. */
const keptViolations = 5

export const runChaos = Effect.fnUntraced(function* (options: ChaosOptions) {
  const { seed, tell } = options
  return yield* Effect.scoped(run(options)).pipe(
    Random.withSeed(seed),
    // What the driver's own connections go through is told by the rounds.
    Effect.provideService(References.MinimumLogLevel, "Error"),
    Effect.tapCause(() => Effect.sync(() => tell(`the seed was ${seed}`)))
  )
})

const run = Effect.fnUntraced(function* (options: ChaosOptions) {
  const { checkpointMillis, pauseMillis, seed, tell } = options
  const startedAt = yield* Clock.currentTimeMillis
  tell(`seed ${seed}: ${options.rounds} rounds, pauses of ${pauseMillis / 1000} s`)
  const violations: Array<string> = []
  const kinds = new Map<string, number>()
  let violationCount = 0
  const violation = (text: string) => {
    violationCount++
    const kind = text.replaceAll(/\d+/g, "").slice(0, 24)
    const count = (kinds.get(kind) ?? 0) + 1
    kinds.set(kind, count)
    if (count > keptViolations) return
    violations.push(text)
    tell(`  VIOLATION ${text}`)
  }
  const plan = yield* planOf(options.rounds)
  const servers = yield* startServers
  const layer = Layer.mergeAll(
    PgClient.layer({ url: Redacted.make(servers.databaseUrl), maxConnections: 4 }),
    JournalJetStream.layer().pipe(Layer.provideMerge(NatsConnection.layer({ url: Redacted.make(servers.natsUrl) })))
  )
  return yield* Effect.gen(function* () {
    yield* createTables
    const decisions = new Decisions()
    const audit = new Audit(decisions, violation)
    yield* audit.follow(yield* Journal, partitions)
    const random = yield* Random.Random
    const callers = new Callers({
      callers: callerCount,
      ownOrganizations,
      sharedOrganizations,
      partitions,
      decisions,
      random,
      violation
    })
    const settings = {
      natsUrl: servers.natsUrl,
      databaseUrl: servers.databaseUrl,
      partitions,
      checkpointMillis
    }
    const owners = new Owners({
      settings,
      callers,
      postgres: servers.postgres,
      nats: servers.nats,
      pauseMillis,
      violation
    })
    yield* Effect.addFinalizer(() =>
      Effect.andThen(
        Effect.sync(() => callers.abort()),
        owners.close
      )
    )
    callers.start()
    yield* owners.begin

    for (const [index, round] of plan.entries()) {
      const begunAt = yield* Clock.currentTimeMillis
      const before = callers.acknowledgedCount
      const { waitingAsks } = owners
      const hang = hangPostgres({ servers, owners, callers, violation, millis: options.hangMillis })
      yield* disturb(round, owners, { ...servers, hang }, pauseMillis)
      yield* owners.served
      const millis = (yield* Clock.currentTimeMillis) - begunAt
      tell(
        `  ${index + 1} ${describeRound(round)}: ${waitingAsks} asks under way, ${callers.acknowledgedCount - before} decisions acknowledged, ${(millis / 1000).toFixed(1)} s`
      )
    }

    yield* Effect.promise(() => callers.stop()).pipe(
      Effect.timeoutOrElse({
        duration: patienceMillis,
        orElse: () => Effect.die(new Error(`callers did not come to an end\n${owners.describe()}`))
      })
    )
    yield* audit.catchUp()
    yield* allTaken(audit).pipe(
      Effect.timeoutOrElse({
        duration: patienceMillis,
        orElse: () => Effect.die(new Error(`${audit.sent.left} messages did not arrive\n${owners.describe()}`))
      })
    )
    const lastAudited = yield* audit.catchUp()
    const projectedRows = yield* caughtUp(audit, partitions).pipe(
      Effect.timeoutOrElse({
        duration: patienceMillis,
        orElse: () => Effect.die(new Error(`the projection did not come to the log's end\n${owners.describe()}`))
      })
    )
    yield* compareProjection(audit, partitions, violation)
    yield* compareStates(callers, audit, owners.owner, violation)
    // And the states of a process that has recovered all of it.
    yield* owners.restart
    yield* compareStates(callers, audit, owners.owner, violation)
    audit.sent.compare()
    const { acknowledged, lost, storedUnacknowledged } = audit.compare()

    const total = sum(owners.all.map(({ figures }) => figures))
    const millis = (yield* Clock.currentTimeMillis) - startedAt
    tell(`  ${(millis / 1000).toFixed(1)} s in all`)
    return {
      violations,
      violationCount,
      asks: callers.asks,
      decisions: { asked: decisions.count, acknowledged, storedUnacknowledged, lost },
      callers: {
        looks: callers.looks,
        repeats: callers.repeats,
        recognized: callers.recognized,
        lateAnswers: callers.lateAnswers
      },
      log: { frames: audit.frames, records: audit.records, claims: audit.claims, purgedFrames: lastAudited },
      projectedRows,
      messages: audit.sent.taken,
      errors: Object.fromEntries(
        [...callers.errors].map(([error, count]) => [error, { count, message: callers.messages.get(error) ?? "" }])
      ),
      branches: total.branches,
      fences: total.fences,
      restarts: total.restarts,
      processes: owners.all.length,
      failedStarts: owners.failedStarts
    } satisfies ChaosReport
  }).pipe(Effect.provide(layer))
})

/** Waits until every message of the logs was taken in. */
const allTaken = (audit: Audit): Effect.Effect<void> =>
  Effect.gen(function* () {
    while (audit.sent.left > 0) yield* Effect.sleep(arrivalPollMillis)
  })

interface Disturbed {
  readonly nats: Server
  readonly postgres: Server
  readonly hang: Effect.Effect<void>
}

/** Both faults of a round, in its order; returns when both are over. */
const disturb = (round: Round, owners: Owners, servers: Disturbed, pauseMillis: number) => {
  const process = owners.apply(round.process)
  const server = serverFault(round.server, servers, pauseMillis)
  switch (round.order) {
    case "process first":
      return Effect.andThen(process, Effect.andThen(owners.served, server))
    case "server first":
      return Effect.andThen(server, Effect.andThen(owners.served, process))
    case "together":
      return Effect.all([process, server], { concurrency: 2, discard: true })
  }
}

const serverFault = (
  fault: ServerFault,
  { hang, nats, postgres }: Disturbed,
  pauseMillis: number
): Effect.Effect<void> => {
  switch (fault._tag) {
    case "KillNats":
      return nats.kill
    case "PauseNats":
      return nats.pausedWhile(Effect.sleep(pauseMillis))
    case "KillPostgres":
      return postgres.kill
    case "HangPostgres":
      return hang
  }
}

/** Every account of every organization, as a process shows it, against the fold of the log. */
const compareStates = Effect.fnUntraced(function* (
  callers: Callers,
  audit: Audit,
  worker: WorkerProcess,
  violation: (text: string) => void
) {
  const accounts = callers.organizations.flatMap((organization) =>
    [firstAccount, secondAccount].map((account) => ({ organization, account }))
  )
  yield* Effect.forEach(
    accounts,
    ({ account, organization }) =>
      Effect.map(
        Effect.promise(() => callers.see(worker, organization, account)),
        (seen) => {
          const { balance, count, digest } = audit.states.get(accountOf(organization, account)) ?? emptyAccount
          if (seen._tag === "Seen" && seen.count === count && seen.balance === balance && seen.digest === digest) return
          violation(
            `${worker.name} shows ${JSON.stringify(seen)} for ${account} of ${organization}, the log says ${JSON.stringify({ balance, count, digest })}`
          )
        }
      ),
    { concurrency: callerCount, discard: true }
  )
})

const sum = (figures: ReadonlyArray<Figures>): Figures => {
  const branches: Record<string, number> = {}
  let fences = 0
  let restarts = 0
  let replayedFrames = 0
  for (const one of figures) {
    for (const [branch, count] of Object.entries(one.branches)) branches[branch] = (branches[branch] ?? 0) + count
    fences += one.fences
    restarts += one.restarts
    replayedFrames += one.replayedFrames
  }
  return { branches, fences, restarts, replayedFrames }
}
