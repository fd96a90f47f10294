/**
 * Reactor and hand-off as one process runs them, on real stores, with a transport of the test's own. A process can be stopped at any step, as a crash would, and started again on
 * the same stores.
 */
import { randomUUID } from "node:crypto"
import { Context, Deferred, Effect, Exit, Layer, Logger, type Redacted, Schema, Scope } from "effect"
import { SqlClient } from "effect/sql"
import * as Actor from "../../../src/engine/Actor.ts"
import { Engine, layer as engineLayer } from "../../../src/engine/Engine.ts"
import { PartitionUnavailable } from "../../../src/engine/errors.ts"
import { layerLocal } from "../../../src/engine/ports/Placement.ts"
import * as Reactor from "../../../src/engine/Reactor.ts"
import { publicEvent } from "../../../src/events/catalogue.ts"
import { NatsConnection } from "../../../src/nats/connection.ts"
import * as JournalJetStream from "../../../src/nats/JournalJetStream.ts"
import * as CheckpointsPostgres from "../../../src/postgres/CheckpointsPostgres.ts"
import * as CursorsPostgres from "../../../src/postgres/CursorsPostgres.ts"
import * as PgClient from "../../../src/postgres/PgClient.ts"
import { ContentKeys, Sealing } from "../../../src/send/emails/contents/ContentKeys.ts"
import { MessageContents } from "../../../src/send/emails/contents/MessageContents.ts"
import { layerDurable } from "../../../src/send/emails/contents/MessageContentsDurable.ts"
import { layerHandoff } from "../../../src/send/handoff/Handoff.ts"
import type { HandoffSettings } from "../../../src/send/handoff/HandoffContext.ts"
import { HandoffFeed } from "../../../src/send/handoff/HandoffFeed.ts"
import {
  type Envelope,
  type HandoffAnswer,
  MailTransport,
  type OutgoingMail
} from "../../../src/send/handoff/MailTransport.ts"
import { Notices } from "../../../src/send/handoff/Notices.ts"
import { handoffProjection } from "../../../src/send/handoff/projection.ts"
import { Admission, type AdmitEmail, type Mode, modes, SendEmail } from "../../../src/send/index.ts"
import { type Message, recipientsOf } from "../../../src/send/Message.ts"
import { until } from "../../webhooks/until.ts"

export interface Deployment {
  readonly databaseUrl: Redacted.Redacted<string>
  readonly natsUrl: Redacted.Redacted<string>
  readonly namespace: string
  /** What the transport has taken, of all processes. */
  readonly taken: Array<{ readonly mail: OutgoingMail; readonly envelope: Envelope }>
}

/** Where a process may be stopped, in the order in which a mail comes by. */
export const steps = [
  "before the content is read",
  "before the account is asked",
  "after the account was asked",
  "before the transport",
  "after the transport",
  "after the account was told"
] as const
export type Step = (typeof steps)[number]

export interface ProcessOptions {
  readonly settings?: Partial<HandoffSettings>
  /** What the transport answers; accepts by default. */
  readonly answer?: (mail: OutgoingMail, envelope: Envelope) => HandoffAnswer
  /** Whether the transport never answers for a mail to this recipient. */
  readonly hangs?: (to: string) => boolean
  /** Why live mail waits. */
  readonly waits?: () => string | undefined
  /** Whether the account cannot be told now. */
  readonly isDeaf?: () => boolean
  /** Where it hangs, as a process that dies there. */
  readonly diesAt?: Step
  /** What else happens at a step before it goes on. */
  readonly pause?: (step: Step) => Effect.Effect<void>
}

const layerSealing = Layer.succeed(Sealing, {
  // A test's own: what matters is that it is the same after a restart.
  seal: (text, about) => ({ keyId: "test", ciphertext: Buffer.from(`${about}|${text}`).toString("base64") }),
  unseal: ({ ciphertext }, about) => {
    const opened = Buffer.from(ciphertext, "base64").toString()
    return opened.startsWith(`${about}|`) ? opened.slice(about.length + 1) : undefined
  }
})

/** Emits what an endpoint emits when it is paused: its key is the endpoint that pauses, the command says which one the event names. */
export const Pauser = Actor.make({
  kind: "pauser",
  command: Schema.Struct({ endpoint: Schema.String }),
  fact: Schema.Int,
  state: Schema.Int,
  initial: () => 0,
  evolve: (state: number, fact: number) => state + fact,
  decide: (_state, { endpoint }) =>
    Actor.decided({
      facts: [1],
      events: [
        publicEvent(
          "platform.webhook.paused",
          {
            endpoint_id: endpoint,
            url: "https://three.test/hook",
            consecutive_failures: 10,
            last_delivery_status: 0,
            reason: "failures"
          },
          true
        )
      ]
    })
})

/** Short times in place of the real ones. */
const settings: Partial<HandoffSettings> = {
  leaseMillis: 1_000,
  attemptMillis: 900,
  deliverTimeoutMillis: 500,
  scanMillis: 50,
  troubleMillis: 50,
  drainMillis: 0
}

const processLayer = (deployment: Deployment, options: ProcessOptions, died: Deferred.Deferred<void>) => {
  const at = (step: Step): Effect.Effect<void> =>
    options.diesAt === step
      ? Effect.andThen(Deferred.succeed(died, undefined), Effect.never)
      : (options.pause?.(step) ?? Effect.void)
  const engine = engineLayer({
    actors: [...Admission.actors, Pauser],
    reactors: [Reactor.combine<SqlClient.SqlClient | HandoffFeed>("projections", [handoffProjection])],
    config: { partitions: 1 }
  }).pipe(
    Layer.provide([
      JournalJetStream.layer({ namespace: deployment.namespace, maximumBytes: 16 * 1024 * 1024 }),
      CheckpointsPostgres.layer,
      CursorsPostgres.layer,
      layerLocal
    ]),
    Layer.provideMerge(HandoffFeed.layer)
  )
  const contents = layerDurable({ namespace: deployment.namespace, maximumBytes: 16 * 1024 * 1024 }).pipe(
    Layer.provideMerge(ContentKeys.layer.pipe(Layer.provide(layerSealing)))
  )
  const deliver = (mail: OutgoingMail, envelope: Envelope) =>
    Effect.gen(function* () {
      yield* at("before the transport")
      if (options.hangs?.(envelope.to[0]!) === true) return yield* Effect.never
      const answer = options.answer?.(mail, envelope) ?? { _tag: "Accepted" as const }
      if (answer._tag === "Accepted") deployment.taken.push({ mail, envelope })
      yield* at("after the transport")
      return answer
    })
  const transport = Layer.succeed(MailTransport, {
    live: { kind: "test", waits: Effect.sync(() => options.waits?.()), deliver },
    test: { kind: "test", waits: Effect.undefined, deliver }
  })
  /** The hand-off's own view of engine and contents, with the steps in it. */
  const watched = Layer.mergeAll(
    Layer.effect(
      Engine,
      Effect.map(Engine, (real) => ({
        ...real,
        ask: ((actor: never, target: never, command: { readonly _tag: string }) =>
          Effect.gen(function* () {
            if (command._tag === "Dispatch") yield* at("before the account is asked")
            if (command._tag === "Report" && options.isDeaf?.() === true)
              return yield* new PartitionUnavailable({ partition: 0, reason: "deaf", retryAfterMillis: 1 })
            const reply = yield* real.ask(actor, target, command as never)
            if (command._tag === "Dispatch") yield* at("after the account was asked")
            if (command._tag === "Report") yield* at("after the account was told")
            return reply
          })) as (typeof real)["ask"]
      }))
    ),
    Layer.effect(
      MessageContents,
      Effect.map(MessageContents, (real) => ({
        ...real,
        read: (organization: string, pointers: ReadonlyArray<string>) =>
          Effect.andThen(at("before the content is read"), real.read(organization, pointers))
      }))
    )
  )
  return layerHandoff({ ...settings, ...options.settings }).pipe(
    Layer.provide(watched),
    Layer.provide(transport),
    Layer.merge(Notices.layer({ from: "Platform <platform@one.test>" })),
    Layer.provideMerge(engine),
    Layer.provideMerge(contents),
    Layer.provideMerge(
      Layer.merge(
        PgClient.layer({ url: deployment.databaseUrl, maxConnections: 10 }),
        NatsConnection.layer({ url: deployment.natsUrl })
      )
    ),
    Layer.provide(process.env.SHOW_LOGS === undefined ? Logger.layer([]) : Layer.empty)
  )
}

/** A process on the deployment's stores. It ends with the scope, or with `stop`. */
export const startProcess = (deployment: Deployment, options: ProcessOptions = {}) =>
  Effect.gen(function* () {
    const scope = yield* Scope.fork(yield* Effect.scope)
    const died = yield* Deferred.make<void>()
    const context = yield* Effect.orDie(Layer.buildWithScope(processLayer(deployment, options, died), scope))
    const engine = Context.get(context, Engine)
    const contents = Context.get(context, MessageContents)
    const sql = Context.get(context, SqlClient.SqlClient)
    yield* Effect.orDie(engine.ready)
    const admissions = new Map<Mode, Admission["Service"]>()
    for (const mode of modes) {
      const layer = Admission.layer({ upgradeUrl: "https://one.test/plans", mode })
      admissions.set(
        mode,
        Context.get(yield* Layer.buildWithScope(layer, scope).pipe(Effect.provideService(Engine, engine)), Admission)
      )
    }
    const stateOf = (organization: string, id: string) => engine.state(SendEmail, { organization, key: id })
    return {
      engine,
      contents,
      notices: Context.get(context, Notices),
      sql,
      admission: (mode: Mode = "live") => admissions.get(mode)!,
      /** Writes the contents, then has the request decided, as the API does. */
      send: (
        organization: string,
        messages: ReadonlyArray<Message>,
        more: Partial<AdmitEmail> & { readonly mode?: Mode } = {}
      ) =>
        Effect.gen(function* () {
          const { mode = "live", ...fields } = more
          const kept = yield* contents.write(organization, messages)
          return yield* admissions.get(mode)!.send(
            organization,
            messages.map((message, index) => ({
              id: `em-${randomUUID()}`,
              from: message.from,
              recipients: [...recipientsOf(message)],
              ...kept[index]!,
              ...fields
            }))
          )
        }),
      stateOf,
      /** Waits until the email is in this state. */
      reaches: (organization: string, id: string, state: string) =>
        until(Effect.map(stateOf(organization, id), (email) => email.state === state)),
      jobs: Effect.orDie(
        Effect.map(
          sql<{ readonly count: number }>`select count(*)::int4 as count from send_jobs`,
          ([row]) => row!.count
        )
      ),
      /** Ends when the process has come to the step at which it dies. */
      died: Deferred.await(died),
      stop: Scope.close(scope, Exit.void)
    }
  })

export type Process = Effect.Success<ReturnType<typeof startProcess>>
