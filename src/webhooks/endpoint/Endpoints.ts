/**
 * Serves webhook endpoints to the HTTP API (docs/platform.md, 6). Each read and change asks the endpoint's actor, so
 * that callers read their own writes; only the figures of its deliveries come from PostgreSQL, soon after. Secrets are
 * stored before the actor gets their ids. Needs `Engine`, `WebhookSecrets` and `SqlClient`.
 */
import { Context, Effect, Layer, Result } from "effect"
import { SqlClient } from "effect/sql"
import { randomText } from "../../common/identifiers.ts"
import { Engine } from "../../engine/Engine.ts"
import type { AskError } from "../../engine/errors.ts"
import { internals } from "../../engine/shell/partition/internals.ts"
import { eventRetentionMillis, type InvalidPattern, parsePatterns } from "../../events/index.ts"
import type { Owner } from "../../platform/model.ts"
import { unnest } from "../../postgres/unnest.ts"
import { publicKeyOf } from "../secret/keyPair.ts"
import { WebhookSecrets } from "../secret/WebhookSecrets.ts"
import { checkUrl, type TargetPolicy, type UrlRefused } from "../target/targets.ts"
import {
  type EndpointChanges,
  type EndpointCommands,
  type EndpointError,
  makeCreate,
  makeEndpointCommands,
  makeUpdate,
  makeWithSecret,
  type NewEndpoint,
  type NewIds
} from "./endpointCommands.ts"
import { labelProblem, orderingProblem, rateProblem } from "./fields.ts"
import { headersProblem } from "./headers.ts"
import {
  type Endpoint,
  EndpointDisabled,
  type EndpointInvalid,
  type EndpointRejection,
  type EndpointReply,
  endpointsTable,
  jobsTable,
  maximumCountedPending
} from "./model.ts"
import { labelLevelProblem, WebhookEndpoints } from "./rules.ts"

/** The prefix of ids. */
export const endpointIdPrefix = "we_"
export const replayIdPrefix = "rpl_"
export const testIdPrefix = "tst_"

export const newEndpointId = (): string => `${endpointIdPrefix}${randomText()}`
export const newReplayId = (): string => `${replayIdPrefix}${randomText()}`
export const newTestId = (): string => `${testIdPrefix}${randomText()}`

/** An endpoint with the figures of its deliveries. */
export interface EndpointView {
  readonly id: string
  readonly endpoint: Endpoint
  /** When the last attempt ended, milliseconds since the Unix epoch; null before there was one. */
  readonly lastDeliveryAt: number | null
  /** HTTP status of the last attempt; 0 without an answer, null before there was one. */
  readonly lastDeliveryStatus: number | null
  /** Deliveries that wait or are being attempted, counted up to `maximumCountedPending`. */
  readonly pending: number
  /** The public key of its secret, `whpk_…`; null where only the secret signs. */
  readonly publicKey: string | null
  /** When the oldest event of those happened, milliseconds since the Unix epoch; null if nothing is pending. */
  readonly oldestPendingAt: number | null
}

/** An endpoint with its new secret. */
export interface EndpointWithSecret {
  readonly endpoint: Endpoint
  readonly signingSecret: string
  /** `whpk_…` where its deliveries are signed with a private key too, else null. */
  readonly publicKey: string | null
}

/** The decided replay. */
export type DecidedReplay = NonNullable<EndpointReply["replay"]>

/** Invalid fields of an endpoint. Nothing was done. */
export type EndpointFault = UrlRefused | InvalidPattern | EndpointInvalid

export class Endpoints extends Context.Service<
  Endpoints,
  {
    /** Why no label may be given to anything yet; undefined once every node knows labels. */
    readonly labelsProblem: () => EndpointInvalid | undefined
    /** Checks a new endpoint before anything is stored. */
    readonly check: (endpoint: NewEndpoint) => Effect.Effect<void, EndpointFault>
    /**
     * Makes an endpoint under random ids chosen by the caller. Repeating it with the same ids gives the same endpoint.
     */
    readonly create: (
      owner: Owner,
      ids: NewIds,
      endpoint: NewEndpoint
    ) => Effect.Effect<EndpointWithSecret, EndpointError>
    /** Lists endpoints, oldest first; with a label those that have it. */
    readonly list: (owner: Owner, label?: string) => Effect.Effect<ReadonlyArray<EndpointView>, EndpointError>
    readonly get: (owner: Owner, endpointId: string) => Effect.Effect<EndpointView, EndpointError>
    /** The endpoint without PostgreSQL's figures. */
    readonly find: (owner: Owner, endpointId: string) => Effect.Effect<Endpoint, EndpointRejection | AskError>
    /** Like `find`, but fails with `EndpointDisabled` for a disabled endpoint. */
    readonly findActive: (owner: Owner, endpointId: string) => Effect.Effect<Endpoint, EndpointRejection | AskError>
    readonly update: (
      owner: Owner,
      endpointId: string,
      changes: EndpointChanges
    ) => Effect.Effect<EndpointView, EndpointError>
    readonly remove: (owner: Owner, endpointId: string) => Effect.Effect<void, EndpointError>
    /**
     * Emits a test event for this endpoint and returns its id. Repeating it with the same random id gives the same
     * event.
     */
    readonly test: (owner: Owner, endpointId: string, testId: string) => Effect.Effect<string, EndpointError>
    /**
     * Resumes deliveries; with a `replayId` also sends the events missed since the pause. `replay` is absent when the
     * endpoint was not paused.
     */
    readonly unpause: (
      owner: Owner,
      endpointId: string,
      replayId: string | undefined
    ) => Effect.Effect<{ readonly view: EndpointView; readonly replay: DecidedReplay | undefined }, EndpointError>
    readonly requestReplay: (
      owner: Owner,
      endpointId: string,
      replay: {
        readonly replayId: string
        readonly since: number
        readonly until: number | null
        readonly types: ReadonlyArray<string> | null
      }
    ) => Effect.Effect<{ readonly endpoint: Endpoint; readonly replay: DecidedReplay }, EndpointError>
    /**
     * Creates a new secret. The previous one signs too for `overlapSeconds`. `asymmetric` says whether it has a private
     * key; by default it is as the previous one.
     */
    readonly rotateSecret: (
      owner: Owner,
      endpointId: string,
      secretId: string,
      overlapSeconds: number,
      asymmetric?: boolean
    ) => Effect.Effect<EndpointWithSecret, EndpointError>
  }
>()("sluice/webhooks/Endpoints") {
  /** `targets` says which URLs an endpoint may have. */
  static readonly layer = (options: {
    readonly targets: TargetPolicy
  }): Layer.Layer<Endpoints, never, Engine | WebhookSecrets | SqlClient.SqlClient> =>
    Layer.effect(Endpoints, make(options.targets))
}

interface DeliveryRow {
  readonly id: string
  readonly lastDeliveryAt: number | null
  readonly lastDeliveryStatus: number | null
  readonly pending: number
  readonly oldestPendingAt: number | null
  readonly publicKey: string | null
}

/** Adds PostgreSQL's figures of deliveries to endpoints. */
const makeViews = (sql: SqlClient.SqlClient) => {
  const lastDeliveries = (endpoints: ReadonlyArray<{ readonly id: string; readonly endpoint: Endpoint }>) =>
    Effect.map(
      sql<DeliveryRow>`
        select batch.id, w.last_delivery_at as "lastDeliveryAt", w.last_delivery_status as "lastDeliveryStatus",
          s.public_key as "publicKey", jobs.pending, jobs.first_expiry - ${eventRetentionMillis}::int8 as "oldestPendingAt"
        from ${unnest(
          endpoints.map(({ endpoint: { secretId }, id }) => ({ id, secret_id: secretId })),
          { id: "text", secret_id: "text" }
        )}
        left join ${sql(endpointsTable)} w on w.id = batch.id
        left join webhook_secrets s on s.id = batch.secret_id
        cross join lateral (
          select count(*) as pending, min(expires_at) as first_expiry
          from (
            select expires_at from ${sql(jobsTable)} j
            where j.partition = w.partition and j.group_key = w.id and j.due_at is not null
            order by j.lane, j.due_at limit ${maximumCountedPending}
          ) waiting
        ) jobs`,
      (rows) => new Map(rows.map((row) => [row.id, row]))
    )

  const withDeliveries = (endpoints: ReadonlyArray<{ readonly id: string; readonly endpoint: Endpoint }>) =>
    endpoints.length === 0
      ? Effect.succeed<ReadonlyArray<EndpointView>>([])
      : Effect.map(lastDeliveries(endpoints), (rows) =>
          endpoints.map(({ endpoint, id }): EndpointView => {
            const { lastDeliveryAt, lastDeliveryStatus, oldestPendingAt, pending, publicKey } = rows.get(id)!
            return { id, endpoint, lastDeliveryAt, lastDeliveryStatus, pending, oldestPendingAt, publicKey }
          })
        )

  const viewOf = (id: string, endpoint: Endpoint) => Effect.map(withDeliveries([{ id, endpoint }]), ([view]) => view!)

  return { viewOf, withDeliveries }
}

/** Lists the endpoints of an owner as their actors know them. */
const makeListed = (engine: Engine["Service"], { ask }: EndpointCommands) =>
  Effect.fnUntraced(function* (owner: Owner, label: string | undefined) {
    const { endpointIds, labels = {} } = yield* engine.ask(
      WebhookEndpoints,
      { organization: owner.organizationId },
      { _tag: "List" as const }
    )
    const found = yield* Effect.forEach(
      label === undefined ? endpointIds : endpointIds.filter((id) => labels[id] === label),
      (id) =>
        Effect.map(ask(owner, id, { _tag: "Get" }), ({ endpoint }) => ({ id, endpoint })).pipe(
          // Deleted since the list was read, or not the caller's to see.
          Effect.catchTag("EndpointNotFound", () => Effect.succeed({ id, endpoint: null }))
        ),
      { concurrency: "unbounded" }
    )
    return found.flatMap(({ endpoint, id }) => (endpoint === null ? [] : [{ id, endpoint }]))
  })

/** Makes the commands that send missed or past events again: the end of a pause, and a replay. */
const makeReplays = (
  { endpointAfter }: EndpointCommands,
  viewOf: ReturnType<typeof makeViews>["viewOf"]
): Pick<Endpoints["Service"], "unpause" | "requestReplay"> => ({
  unpause: Effect.fn("Endpoints.unpause")(function* (owner, endpointId, replayId) {
    const { endpoint, replay } = yield* endpointAfter(owner, endpointId, {
      _tag: "Unpause",
      ...(replayId === undefined ? {} : { replayId })
    })
    return { view: yield* viewOf(endpointId, endpoint), replay }
  }),

  requestReplay: Effect.fn("Endpoints.requestReplay")(function* (owner, endpointId, replay) {
    const decided = yield* endpointAfter(owner, endpointId, { _tag: "RequestReplay", ...replay })
    return { endpoint: decided.endpoint, replay: decided.replay! }
  })
})

const make = (targets: TargetPolicy) =>
  Effect.gen(function* () {
    const engine = yield* Engine
    const asking = makeEndpointCommands(engine)
    const { ask, endpointAfter } = asking
    const { viewOf, withDeliveries } = makeViews(yield* SqlClient.SqlClient)
    const secrets = yield* WebhookSecrets
    const withSecret = makeWithSecret(secrets, asking)
    const update = makeUpdate(secrets, asking, targets)
    const listed = makeListed(engine, asking)

    const find: Endpoints["Service"]["find"] = Effect.fn("Endpoints.find")((owner, endpointId) =>
      Effect.map(endpointAfter(owner, endpointId, { _tag: "Get" }), ({ endpoint }) => endpoint)
    )

    const hasKeys = ({ secretId }: Endpoint) =>
      Effect.map(secrets.open([secretId]), (found) => publicKeyOf(found.get(secretId) ?? "") !== null)

    const service: Endpoints["Service"] = {
      labelsProblem: () => labelLevelProblem(internals(engine).context.placement.level?.() ?? Number.POSITIVE_INFINITY),

      check: Effect.fn("Endpoints.check")(function* ({ enabledEvents, headers = {}, label, ordering, rateLimit, url }) {
        yield* Effect.fromResult(Result.andThen(checkUrl(url, targets), () => parsePatterns(enabledEvents)))
        const problem =
          headersProblem(headers) ?? rateProblem(rateLimit) ?? orderingProblem(ordering) ?? labelProblem(label)
        if (problem !== undefined) return yield* problem
      }),

      create: Effect.fn("Endpoints.create")(makeCreate(secrets, asking, targets)),

      list: Effect.fn("Endpoints.list")((owner, label) => Effect.flatMap(listed(owner, label), withDeliveries)),

      find,

      findActive: Effect.fn("Endpoints.findActive")((owner, endpointId) =>
        Effect.tap(find(owner, endpointId), ({ isActive }) =>
          isActive ? Effect.void : Effect.fail(new EndpointDisabled({ endpointId }))
        )
      ),

      get: Effect.fn("Endpoints.get")((owner, endpointId) =>
        Effect.flatMap(endpointAfter(owner, endpointId, { _tag: "Get" }), ({ endpoint }) =>
          viewOf(endpointId, endpoint)
        )
      ),

      update: Effect.fn("Endpoints.update")((owner, endpointId, changes) =>
        Effect.flatMap(update(owner, endpointId, changes), ({ endpoint }) => viewOf(endpointId, endpoint))
      ),

      remove: Effect.fn("Endpoints.remove")((owner, endpointId) =>
        Effect.asVoid(ask(owner, endpointId, { _tag: "Delete" }))
      ),

      test: Effect.fn("Endpoints.test")((owner, endpointId, requestId) =>
        Effect.map(ask(owner, endpointId, { _tag: "RequestTest", requestId }), ({ eventId }) => eventId!)
      ),

      ...makeReplays(asking, viewOf),

      rotateSecret: Effect.fn("Endpoints.rotateSecret")(
        function* (owner, endpointId, secretId, overlapSeconds, asymmetric) {
          // Nothing is stored, and no public key is shown, under the id of somebody else's endpoint.
          const endpoint = yield* find(owner, endpointId)
          const hasKeyPair = asymmetric ?? (yield* hasKeys(endpoint))
          const command = { _tag: "RotateSecret" as const, secretId, overlapSeconds }
          return yield* withSecret(owner, endpointId, secretId, hasKeyPair, command)
        }
      )
    }
    return Endpoints.of(service)
  })
