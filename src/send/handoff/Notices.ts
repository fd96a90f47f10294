/**
 * `Notices`: plain mails of the platform itself, such as a link that an address is to confirm (docs/handoff.md, 4). They go through the work queue of the hand-off, each once, and what they
 * say is kept like the contents of emails. Needs `Engine`, `SqlClient`, `MessageContents` and `HandoffFeed`.
 */
import { Clock, Context, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Engine } from "../../engine/Engine.ts"
import { make as makeWorkQueue } from "../../postgres/WorkQueue.ts"
import type { Mode } from "../account/actors/index.ts"
import { MessageContents } from "../emails/contents/MessageContents.ts"
import { HandoffFeed } from "./HandoffFeed.ts"
import { groupOf } from "./jobs.ts"
import { noticeJobs } from "./noticeJobs.ts"
import { noticeMessage } from "./noticeMails.ts"
import { sendJobsTable } from "./tables.ts"

/** The mail was not ordered, or it is not known whether it was. Retryable with the same id. */
export class NoticesUnavailable extends Schema.TaggedError<NoticesUnavailable>()("NoticesUnavailable", {
  message: Schema.String
}) {}

export interface PlainMail {
  /** Chosen by the caller; a second mail of the same id is the same mail. */
  readonly id: string
  /** Because of whom it is written. */
  readonly organization: string
  /** Test mail never reaches a relay. */
  readonly mode: Mode
  /** One address. */
  readonly to: string
  /** One line. */
  readonly subject: string
  readonly text: string
}

export class Notices extends Context.Service<
  Notices,
  {
    /** Answers when the mail is stored; it is handed over a moment later. */
    readonly order: (mail: PlainMail) => Effect.Effect<void, NoticesUnavailable>
  }
>()("sluice/send/Notices") {
  static readonly layer = (options: {
    /** The address that they are from. */
    readonly from: string
  }): Layer.Layer<Notices, never, Engine | SqlClient.SqlClient | MessageContents | HandoffFeed> =>
    Layer.effect(
      Notices,
      Effect.map(makeOrder(options.from), (order) => Notices.of({ order }))
    )
}

/** Orders mails that are from this address. */
export const makeOrder = Effect.fnUntraced(function* (from: string) {
  const engine = yield* Engine
  const sql = yield* SqlClient.SqlClient
  const contents = yield* MessageContents
  const feed = yield* HandoffFeed
  const queue = yield* makeWorkQueue(sendJobsTable)
  return Effect.fn("Notices.order")(
    function* ({ id, mode, organization, subject, text, to }: PlainMail) {
      const at = yield* Clock.currentTimeMillis
      const [kept] = yield* contents.write(organization, [noticeMessage(from, to, { subject, text })])
      const partition = engine.partitionOf(organization)
      yield* sql.withTransaction(
        Effect.flatMap(
          noticeJobs(id, organization, partition, { _tag: "Mail", mode, at, pointer: kept?.pointer ?? "" }),
          queue.put
        )
      )
      feed.committed([{ partition, group: groupOf(organization, "notices") }])
    },
    Effect.provideService(SqlClient.SqlClient, sql),
    Effect.mapError((error) => new NoticesUnavailable({ message: `the mail was not stored: ${error.message}` }))
  )
})
