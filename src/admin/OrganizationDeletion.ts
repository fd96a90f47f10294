/**
 * Deletes an organization for good (docs/platform.md, 2.9): its keys immediately, then its actors (accounts, senders,
 * emails, endpoints), the key of its contents, and its rows. Every step may be repeated, so another deletion finishes
 * one that was cut short. Needs `Organizations`, `ApiKeys`, `EngineWhenNeeded`, `SqlClient`, `Subscriptions` and
 * `AdminActs`; cancels at the `BillingProvider`, and drops keys of contents and captured mails of this process, if it
 * has any.
 */
import { Clock, Context, Duration, Effect, Layer, Option } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { BillingProvider, type BillingUnavailable, Subscriptions } from "../billing/index.ts"
import type { Engine } from "../engine/Engine.ts"
import { type AskError, isAnAskError, PartitionUnavailable } from "../engine/errors.ts"
import { atOwner, type OwnerReport } from "../engine/operator/atOwner.ts"
import { eraseParked } from "../engine/operator/parkedRecords.ts"
import { internals } from "../engine/shell/partition/internals.ts"
import { ApiKeys } from "../platform/ApiKeys.ts"
import { type EngineNotStarted, EngineOnDemand } from "../platform/EngineOnDemand.ts"
import { type Deleted, type NameDiffers, type OrganizationNotFound, Organizations } from "../platform/Organizations.ts"
import { SendAccount, SendEmail, SendSender, senderKey, senderName } from "../send/account/actors/index.ts"
import { ContentKeys } from "../send/emails/contents/ContentKeys.ts"
import type { ContentsUnavailable } from "../send/emails/contents/MessageContents.ts"
import { CaptureMailbox } from "../send/handoff/CaptureMailbox.ts"
import type { Mode } from "../send/index.ts"
import { WebhookEndpoint, WebhookEndpoints } from "../webhooks/endpoint/rules.ts"
import { AdminActs } from "./AdminActs.ts"
import { organizationRows } from "./organizationRows.ts"

/**
 * How long one request works on a deletion, below the deadline of requests; what is left is done by the next one. In
 * milliseconds.
 */
const workMillis = 6_000

/** How often it looks whether the projections have read the log to where it was. In milliseconds. */
const lookMillis = 50

/** Decisions of one organization at a time. */
const asksAtOnce = 16

export type DeletionError =
  | OrganizationNotFound
  | NameDiffers
  | AskError
  | EngineNotStarted
  | ContentsUnavailable
  | BillingUnavailable
  | SqlError.SqlError

export class OrganizationDeletion extends Context.Service<
  OrganizationDeletion,
  {
    /**
     * Deletes as much as there is time for; `erasedAt` is null while something is left, and the same call goes on. With
     * a `name` it must be the organization's. From the first call on nothing is accepted for it any more.
     */
    readonly remove: (id: string, name: string | undefined) => Effect.Effect<Deleted, DeletionError>
  }
>()("sluice/admin/OrganizationDeletion") {
  static readonly layer = Layer.effect(
    OrganizationDeletion,
    Effect.suspend(() => make)
  )
}

/** Gives up what is parked, at projections and of what other systems have reported. */
const withoutParked = (engine: Engine["Service"], organization: string) =>
  eraseParked(engine, organization).pipe(
    Effect.catchTag("CursorsUnavailable", ({ message: reason }) =>
      Effect.fail(
        new PartitionUnavailable({ partition: engine.partitionOf(organization), reason, retryAfterMillis: lookMillis })
      )
    )
  )

/**
 * Whether every projection has read all that the partition's log holds now, as its owner says: no row comes of it any
 * more. False where there was no time, or the owner does not say.
 */
const isRead = Effect.fnUntraced(function* (engine: Engine["Service"], organization: string, until: number) {
  const { context } = internals(engine)
  const report = Effect.map(
    Effect.option(atOwner(context, engine.partitionOf(organization), "report")),
    Option.map((found) => found as OwnerReport)
  )
  const first = Option.getOrUndefined(yield* report)
  if (first === undefined) return false
  for (let seen = first; ; seen = Option.getOrElse(yield* report, () => seen)) {
    if (seen.lag !== undefined && seen.sequence - seen.lag >= first.sequence) return true
    if ((yield* Clock.currentTimeMillis) >= until) return false
    yield* Effect.sleep(Duration.millis(lookMillis))
  }
})

/** Ends what the organization's actors would do by themselves. */
const makeEnding = (sql: SqlClient.SqlClient, started: EngineOnDemand["Service"]) => {
  const endpoints = Effect.fnUntraced(function* (engine: Engine["Service"], organization: string) {
    const { endpointIds } = yield* engine.ask(WebhookEndpoints, { organization }, { _tag: "List" as const })
    yield* Effect.forEach(
      endpointIds,
      (key) =>
        engine.ask(WebhookEndpoint, { organization, key }, { _tag: "Delete" }).pipe(
          Effect.catch((error) => {
            if (error._tag === "EndpointNotFound") return Effect.void
            return isAnAskError(error) ? Effect.fail(error) : Effect.die(error)
          })
        ),
      { concurrency: asksAtOnce, discard: true }
    )
    return endpointIds
  })

  /** Takes back the emails that wait; whether it has found all of them. */
  const emails = Effect.fnUntraced(function* (engine: Engine["Service"], organization: string, until: number) {
    const cancel = (key: string) =>
      Effect.flatMap(engine.state(SendEmail, { organization, key }), ({ mode, place, sender }) =>
        engine.ask(SendEmail, { organization, key }, { _tag: "Cancel", mode, place, sender })
      ).pipe(
        // It moves once at most, from its schedule into the queue.
        Effect.retry({ times: 1, while: (error) => error._tag === "Moved" }),
        Effect.catchTags({ NotWaiting: () => Effect.void, Moved: Effect.die, ScheduleInvalid: Effect.die })
      )
    for (let after = ""; ; ) {
      const rows = yield* sql<{ readonly id: string }>`
        select id from send_emails
        where organization_id = ${organization} and id > ${after} and state in ('queued', 'held', 'scheduled')
        order by id limit 500`
      yield* Effect.forEach(rows, ({ id }) => cancel(id), { concurrency: asksAtOnce, discard: true })
      const last = rows.at(-1)
      if (last === undefined) return true
      if ((yield* Clock.currentTimeMillis) >= until) return false
      after = last.id
    }
  })

  const senders = Effect.fnUntraced(function* (engine: Engine["Service"], organization: string) {
    const rows = yield* sql<{ readonly mode: Mode; readonly name: string }>`
      select mode, name from send_domains where organization_id = ${organization}
      union all select mode, email as name from send_senders where organization_id = ${organization}`
    yield* Effect.forEach(
      rows,
      ({ mode, name }) =>
        engine
          .ask(SendSender, { organization, key: senderKey(mode, senderName(name)) }, { _tag: "Remove", force: true })
          .pipe(
            Effect.catchTags({
              NotVerified: () => Effect.void,
              HasWaitingMail: Effect.die,
              TooManySenders: Effect.die,
              CapInvalid: Effect.die
            })
          ),
      { concurrency: asksAtOnce, discard: true }
    )
  })

  /** The endpoints that it had, once all of it has ended; undefined while something goes on. */
  return Effect.fnUntraced(function* (organization: string, until: number) {
    const engine = yield* started
    yield* engine
      .ask(SendAccount, { organization, key: "live" }, { _tag: "Close" })
      .pipe(Effect.catch((error) => (isAnAskError(error) ? Effect.fail(error) : Effect.die(error))))
    const endpointIds = yield* endpoints(engine, organization)
    // Emails and senders are looked up in rows, so all that were accepted must have become some.
    if (!(yield* isRead(engine, organization, until))) return undefined
    if (!(yield* emails(engine, organization, until))) return undefined
    yield* senders(engine, organization)
    // No decision of these steps becomes a row, or is parked, after the rows are erased.
    if (!(yield* isRead(engine, organization, until))) return undefined
    yield* withoutParked(engine, organization)
    return endpointIds
  })
}

/** Ends the subscription, also where payments are taken elsewhere, and what waits for payment. */
const billingEnding = Effect.gen(function* () {
  // A command that runs without a platform has none, and gets no further than to its engine.
  const provider = yield* Effect.serviceOption(BillingProvider)
  const subscriptions = yield* Subscriptions
  return Effect.fnUntraced(function* (organization: string) {
    if (Option.isSome(provider))
      yield* provider.value.cancel(organization, false).pipe(Effect.catchTag("NoSubscription", () => Effect.void))
    yield* subscriptions
      .ask(organization, { _tag: "Close" })
      .pipe(Effect.catch((error) => (error._tag === "BillingUnavailable" ? Effect.fail(error) : Effect.die(error))))
  })
})

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const organizations = yield* Organizations
  const apiKeys = yield* ApiKeys
  const acts = yield* AdminActs
  const contentKeys = yield* Effect.serviceOption(ContentKeys)
  const mailbox = yield* Effect.serviceOption(CaptureMailbox)
  const end = makeEnding(sql, yield* EngineOnDemand)
  const endBilling = yield* billingEnding
  const rows = organizationRows(sql)

  /** Whether nothing is left. */
  const work = Effect.fnUntraced(function* (deleted: Deleted) {
    const { id } = deleted
    const until = (yield* Clock.currentTimeMillis) + workMillis
    // Once an endpoint is gone, nothing tells its deliveries from those of others.
    const endpointIds = new Set(yield* rows.endpointIds(id))
    if (!(yield* rows.eraseDeliveries([...endpointIds], until))) return false
    // Their facts are long read where everything was erased before.
    if (deleted.erasedAt === null) {
      // First, so that its facts are read with the others.
      yield* endBilling(id)
      const ended = yield* end(id, until)
      if (ended === undefined) return false
      for (const endpointId of ended) endpointIds.add(endpointId)
    }
    yield* rows.forgetContentKey(id)
    if (Option.isSome(contentKeys)) yield* contentKeys.value.forget(id)
    if (Option.isSome(mailbox)) yield* mailbox.value.forget(id)
    return (yield* rows.eraseDeliveries([...endpointIds], until)) && (yield* rows.erase(id, until))
  })

  return OrganizationDeletion.of({
    remove: Effect.fn("OrganizationDeletion.remove")(function* (id, name) {
      const { isNew, ...deleted } = yield* sql.withTransaction(
        Effect.gen(function* () {
          const marked = yield* organizations.markDeleted(id, name)
          yield* apiKeys.removeAll(id)
          if (marked.isNew) yield* acts.record("organization.deleted", id, {})
          return marked
        })
      )
      if (!(yield* work(deleted))) return { ...deleted, erasedAt: null }
      return { ...deleted, erasedAt: yield* organizations.markErased(id) }
    })
  })
})
