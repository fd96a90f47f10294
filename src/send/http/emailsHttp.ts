/**
 * Handles the endpoints that take and show email. Needs `AcceptEmails` and `Emails`; the access middlewares give the
 * key's organization and mode.
 */
import { hash } from "node:crypto"
import { Clock, Context, Effect, Result } from "effect"
import { HttpApiBuilder, HttpApiSchema } from "effect/http-api"
import type { BulkheadFull } from "../../common/Bulkhead.ts"
import { baseApi } from "../../http/baseApi.ts"
import { effectful } from "../../http/fast/marks.ts"
import { defaultCursorPageSize } from "../../http/PageCursors.ts"
import { RequestState } from "../../http/RequestState.ts"
import { rawBody } from "../../http/rawBody.ts"
import { CurrentPrincipal } from "../../platform/access.ts"
import { CallCounts, type CallCountsShape } from "../../platform/CallCounts.ts"
import { seesContents } from "../../platform/people/rules.ts"
import { AcceptEmails, type AcceptFault, type EmailOwner } from "../emails/AcceptEmails.ts"
import { type EmailDetail, Emails, type EmailView } from "../emails/Emails.ts"
import type { EmailForm, ListedEmail, ShownEmail } from "../emails/forms.ts"
import { type Checks, type ReadEmail, readEmail, readEmails, readTime } from "../emails/readMessage.ts"
import { refusedSend } from "../emails/refusedSend.ts"
import { makeSendMetrics, type SendMetrics } from "../emails/SendMetrics.ts"
import type { Mode } from "../index.ts"
import type { Attachment } from "../Message.ts"
import { lastEventOf } from "../rules/emailStates.ts"
import { isSendRejection } from "../rules/rejections.ts"
import { csvAnswer } from "./csvExport.ts"
import { emailFault, inTime, sendingFault } from "./emailErrors.ts"
import { type EmailFilterParameters, EmailsApi } from "./emailsApi.ts"
import { makeEmailsCsv } from "./emailsCsv.ts"
import { SendInvalidRequest } from "./sendErrors.ts"

interface Services {
  readonly emails: Emails["Service"]
  readonly metrics: SendMetrics
  readonly calls: CallCountsShape
  readonly sending: AcceptEmails["Service"]
}

type IdempotencyHeaders = { readonly "idempotency-key"?: string | undefined }

/** By what a repeat is known: the key, and the digest of the body's bytes. */
const repeatedBy = (key: string | undefined) =>
  key === undefined
    ? Effect.succeed(undefined)
    : Effect.map(rawBody, (bytes) => ({ key, digest: hash("sha256", bytes, "base64url") }))

const withReplayed = <A>(body: A, isReplay: boolean) =>
  HttpApiSchema.withHeaders({ body, headers: isReplay ? { "idempotency-replayed": "true" } : {} })

/** Leaves what the rules decided by for the request log, if it was they who refused. */
const noteRefused = (mode: Mode, error: AcceptFault, emails: ReadonlyArray<ReadEmail>): Effect.Effect<void> =>
  Effect.withFiber((fiber) => {
    if (isSendRejection(error))
      Context.getUnsafe(fiber.context, RequestState).facts = refusedSend(mode, error.code, emails)
    return Effect.void
  })

/** The `X-Request-Id` of the request in work. */
const currentRequestId = Effect.withFiber((fiber) =>
  Effect.succeed(Context.getUnsafe(fiber.context, RequestState).requestId)
)

/** Sends what a request asks for, once it has been checked by `read`. */
const makeSend = ({ calls, metrics, sending }: Services) =>
  Effect.fnUntraced(function* (
    read: (checks: Checks) => Result.Result<ReadonlyArray<ReadEmail>, string>,
    key: string | undefined
  ) {
    const { keyId, mode, organizationId } = yield* CurrentPrincipal
    const emails = read(yield* sending.checks(mode))
    if (Result.isFailure(emails)) {
      metrics.refused("invalid_request")
      return yield* SendInvalidRequest.of(emails.failure)
    }
    const sender = { keyId, mode, organizationId, requestId: yield* currentRequestId }
    const sent = yield* sending.send(sender, emails.success, yield* repeatedBy(key)).pipe(
      Effect.tapError((error) => noteRefused(mode, error, emails.success)),
      Effect.catch((error) => Effect.flatMap(Clock.currentTimeMillis, (now) => sendingFault(error, now))),
      inTime,
      Effect.tapError(({ error }) => Effect.sync(() => metrics.refused(error.code)))
    )
    if (!sent.isReplay) {
      metrics.accepted(mode, sent.emails.length)
      // The account has no fact of such a request; other requests are counted from facts.
      if (sent.emails.every(({ state }) => state === "suppressed")) calls.count(organizationId, "send")
    }
    return sent
  })

const sendHandlers = (services: Services) => {
  const send = makeSend(services)
  const sendOne = effectful(
    ({ headers, payload }: { readonly headers: IdempotencyHeaders; readonly payload: EmailForm }) =>
      Effect.map(
        send((checks) => Result.map(readEmail(payload, checks), (email) => [email]), headers["idempotency-key"]),
        // One was asked for.
        ({ emails, isReplay }) => withReplayed(emails[0]!, isReplay)
      )
  )
  return {
    send: sendOne,
    create: sendOne,
    batch: effectful(
      ({ headers, payload }: { readonly headers: IdempotencyHeaders; readonly payload: ReadonlyArray<EmailForm> }) =>
        Effect.map(
          send((checks) => readEmails(payload, checks), headers["idempotency-key"]),
          ({ emails, isReplay }) => withReplayed({ data: emails }, isReplay)
        )
    )
  }
}

const iso = (millis: number): string => new Date(millis).toISOString()

const orNull = (addresses: ReadonlyArray<string> | undefined): ReadonlyArray<string> | null =>
  addresses === undefined || addresses.length === 0 ? null : addresses

const listed = ({ acceptedAt, held, id, message, scheduledAt, state }: EmailView): ListedEmail => ({
  id,
  from: message?.from ?? null,
  to: message?.to ?? null,
  cc: orNull(message?.cc),
  bcc: orNull(message?.bcc),
  reply_to: orNull(message?.replyTo),
  subject: message?.subject ?? null,
  key_id: message?.keyId ?? null,
  created_at: iso(acceptedAt),
  scheduled_at: scheduledAt === null ? null : iso(scheduledAt),
  last_event: lastEventOf(state),
  state,
  held: held === null ? null : { ...held, until: held.until === null ? null : iso(held.until) }
})

/** The bytes that a text of base64 stands for. */
const bytesOf = (base64: string): number => (base64.length / 4) * 3 - (/=*$/.exec(base64)?.[0].length ?? 0)

const attachmentShown = ({ content, contentId, contentType, filename }: Attachment) => ({
  filename,
  content_type: contentType,
  content_id: contentId,
  size: content === null ? null : bytesOf(content)
})

/** A reader who may not see contents (docs/platform.md, 2.13) gets the rest. */
const shown = (view: EmailDetail, seesContents: boolean): ShownEmail => ({
  object: "email",
  ...listed(view),
  message_id: view.id,
  request_id: view.message?.requestId ?? null,
  html: (seesContents ? view.message?.html : undefined) ?? null,
  text: (seesContents ? view.message?.text : undefined) ?? null,
  tags: view.message?.tags ?? null,
  attachments: view.message?.attachments.map(attachmentShown) ?? null,
  history: view.history,
  handoff: view.handoff
})

/** The emails that a request's parameters mean. */
const filterOf = ({ domain, from, key, search, since, state, subject, to, until }: EmailFilterParameters) => ({
  state,
  domain: domain?.toLowerCase(),
  since,
  until,
  search: [from, key, search, subject, to].every((one) => one === undefined)
    ? undefined
    : { recipient: to, sender: from, subject, anywhere: search, key }
})

/** Makes the handler that writes a list as CSV. */
const makeExport = (emails: Emails["Service"]) => {
  const csv = makeEmailsCsv(emails)
  return ({ query }: { readonly query: EmailFilterParameters }) => {
    const lines = Effect.catch(
      ofOwner((owner) => csv(owner, filterOf(query))),
      (error): Effect.Effect<never, BulkheadFull | Effect.Error<ReturnType<typeof emailFault>>> =>
        error._tag === "BulkheadFull" ? Effect.fail(error) : emailFault(error)
    )
    return Effect.catchTags(csvAnswer("emails.csv", inTime(lines)), {
      NestedNotFound: Effect.die,
      NestedConflict: Effect.die
    })
  }
}

const changed = (id: string) => ({ object: "email" as const, id })

const ofOwner = <A, E, R>(use: (owner: EmailOwner) => Effect.Effect<A, E, R>) =>
  Effect.flatMap(CurrentPrincipal, ({ mode, organizationId }) => use({ mode, organizationId }))

export const layerEmails = HttpApiBuilder.group(
  baseApi.add(EmailsApi),
  "emails",
  Effect.fn(function* (handlers) {
    const services: Services = {
      emails: yield* Emails,
      metrics: yield* makeSendMetrics,
      calls: yield* CallCounts,
      sending: yield* AcceptEmails
    }
    const { emails } = services
    return handlers.handleAll({
      ...sendHandlers(services),
      list: ({ query }) => {
        const { after, before, cursor, include, limit = defaultCursorPageSize } = query
        if ([after, before, cursor].filter((one) => one !== undefined).length > 1)
          return Effect.fail(SendInvalidRequest.of("Expected one of 'cursor', 'after' and 'before' at most."))
        const filter = { ...filterOf(query), withTotal: include === "total" }
        return ofOwner((owner) => emails.list(owner, { limit, cursor, after, before, ...filter })).pipe(
          Effect.map(({ data, pagination }) => ({
            object: "list" as const,
            has_more: pagination.hasMore,
            data: data.map(listed),
            pagination
          })),
          Effect.catch(emailFault),
          inTime,
          // In a list it is the email at which the page begins.
          Effect.catchTag("NestedNotFound", ({ error }) => Effect.fail(SendInvalidRequest.of(error.message))),
          Effect.catchTag("NestedConflict", Effect.die)
        )
      },
      export: makeExport(emails),
      get: ({ params }) =>
        ofOwner((owner) => emails.get(owner, params.id)).pipe(
          Effect.zipWith(CurrentPrincipal, (view, { session }) => shown(view, seesContents(session?.member?.role))),
          Effect.catch(emailFault),
          inTime,
          Effect.catchTag("NestedConflict", Effect.die)
        ),
      cancel: effectful(({ params }) =>
        ofOwner((owner) => emails.cancel(owner, params.id)).pipe(
          Effect.as(changed(params.id)),
          Effect.catch(emailFault),
          inTime
        )
      ),
      reschedule: ({ params, payload }) =>
        Effect.gen(function* () {
          const time = readTime(payload.scheduled_at, yield* Clock.currentTimeMillis)
          if (Result.isFailure(time)) return yield* SendInvalidRequest.of(time.failure)
          yield* ofOwner((owner) => emails.reschedule(owner, params.id, time.success)).pipe(
            Effect.catch(emailFault),
            inTime
          )
          return { ...changed(params.id), scheduled_at: iso(time.success) }
        })
    })
  })
)
