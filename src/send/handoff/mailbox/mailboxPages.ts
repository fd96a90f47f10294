/**
 * `/dev/mailbox`: the local mailbox over HTTP, as a page for people and as JSON for programs (docs/handoff.md, 3). Only
 * for a listener on one's own machine: it asks for no key. Needs `CaptureMailbox`.
 */
import { Deferred, Duration, Effect, Layer, Option, PubSub, Result, type Scope, Stream } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { makeRefusingBulkhead } from "../../../common/Bulkhead.ts"
import { type ErrorCode, errorBody, errorStatus } from "../../../http/errors.ts"
import type { Page } from "../../../http/server.ts"
import { CaptureMailbox, type MailboxService, maximumCaptured, maximumCapturedCharacters } from "../CaptureMailbox.ts"
import type { FetchGuard } from "../smtp/attachments.ts"
import { composed } from "../smtp/compose.ts"
import { attachmentHeaders, attachmentPolicy } from "./attachmentFile.ts"
import { type LinkChecks, makeLinkChecks } from "./LinkChecks.ts"
import type { CapturedMail, MailboxUnwritable } from "./MailboxFolder.ts"
import {
  isOwnRequest,
  type RequestRefused,
  readDownload,
  readImages,
  readLatest,
  readList,
  readMark,
  readSelection,
  type Selection
} from "./mailboxRequest.ts"
import { documentOf, mailPolicy } from "./mailHtml.ts"
import { linksOf } from "./mailLinks.ts"
import { matchesMail } from "./mailSearch.ts"
import { detailOf, mailboxPath, summaryOf } from "./mailShapes.ts"

/** The mail's bytes. Attachments that are named by an address alone are left out. */
export const emlOf = ({ mail }: CapturedMail): Effect.Effect<Buffer> =>
  composed({ message: mail.message, messageId: `<${mail.id}@sluice.invalid>`, date: mail.acceptedAt })

/** Requests that wait for a change or follow all of them. */
const maximumWaiting = 100

/** How often a stream shows that it lives. */
const heartbeatMillis = 15_000

/** Ids of emails and notices; others name no mail. */
const ids = /^[\w.@-]{1,200}$/

const suffix = ".eml"

const common = {
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "cross-origin-resource-policy": "same-origin",
  vary: "Accept"
}

type Answer = HttpServerResponse.HttpServerResponse

const json = (body: unknown): Answer => HttpServerResponse.jsonUnsafe(body, { headers: common })

const fault = (code: ErrorCode, message: string): Answer =>
  HttpServerResponse.jsonUnsafe(errorBody("envelope", code, message), { status: errorStatus[code], headers: common })

const notFound = fault("not_found", "There is no such mail in the mailbox. Old mails give way to newer ones.")
const tooMany = fault("unavailable", `More than ${maximumWaiting} requests wait for mail.`)

const bytesAnswer = (bytes: Uint8Array, contentType: string, headers: Readonly<Record<string, string>>): Answer =>
  HttpServerResponse.uint8Array(bytes, { contentType, headers: { ...common, ...headers } })

export interface MailboxPagesOptions {
  /** The page for people, which shows all of it. */
  readonly page: Effect.Effect<Answer>
  /** Where the links of a mail may be asked for. */
  readonly guard: FetchGuard
  /** The host of the address at which browsers reach the platform, with its port. */
  readonly publicHost: () => string | undefined
}

/** The things that all routes share. */
interface MailboxContext extends MailboxPagesOptions {
  readonly mailbox: MailboxService
  readonly checks: LinkChecks
  /** Takes a place among the requests that wait. */
  readonly enter: Effect.Effect<void, unknown, Scope.Scope>
  readonly stopping: Effect.Effect<void>
}

type Handler = Effect.Effect<
  Answer,
  RequestRefused | MailboxUnwritable,
  HttpServerRequest.HttpServerRequest | HttpRouter.RouteContext | Scope.Scope
>

const queryOf = (request: HttpServerRequest.HttpServerRequest): URLSearchParams =>
  new URL(request.url, "http://localhost").searchParams

/** A page for people who ask for one; JSON for everybody else. */
const wantsPage = ({ headers }: HttpServerRequest.HttpServerRequest): boolean =>
  headers.accept?.includes("text/html") === true

const matched = (mailbox: MailboxService, matches: (mail: CapturedMail) => boolean) =>
  Effect.map(mailbox.list, (mails) => mails.filter(matches))

/** Answers with the mail that the path names. */
const ofMail = (
  { mailbox }: MailboxContext,
  answer: (mail: CapturedMail, request: HttpServerRequest.HttpServerRequest) => Handler
): Handler =>
  Effect.gen(function* () {
    const { id = "" } = yield* HttpRouter.params
    const mail = ids.test(id) ? yield* mailbox.find(id) : undefined
    return mail === undefined ? notFound : yield* answer(mail, yield* HttpServerRequest.HttpServerRequest)
  })

const list = ({ mailbox, page }: MailboxContext): Handler =>
  Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    if (wantsPage(request)) return yield* page
    const { cursor, limit, terms } = yield* Effect.fromResult(readList(queryOf(request)))
    const all = yield* mailbox.list
    const found = all.filter((mail) => matchesMail(mail, terms))
    const rest = found.filter(({ number }) => number < cursor)
    const shown = rest.slice(0, limit)
    return json({
      data: shown.map(summaryOf),
      matched: found.length,
      total: all.length,
      unread: all.filter(({ isRead }) => !isRead).length,
      nextCursor: rest.length > limit ? String(shown.at(-1)!.number) : null,
      gone: yield* mailbox.gone,
      bounds: { mails: maximumCaptured, characters: maximumCapturedCharacters }
    })
  })

/** The newest mail that a search finds, as soon as there is one. */
const latest = ({ enter, mailbox }: MailboxContext): Handler =>
  Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    const { since, terms, waitMillis } = yield* Effect.fromResult(readLatest(queryOf(request)))
    const look = Effect.map(
      matched(mailbox, (mail) => mail.capturedAt >= since && matchesMail(mail, terms)),
      (mails) => mails[0]
    )
    const found = yield* look
    if (found !== undefined) return json(detailOf(found, yield* emlOf(found)))
    const none = fault("not_found", `No mail of the mailbox fits; waited ${waitMillis / 1_000} seconds.`)
    if (waitMillis === 0) return none
    if (Result.isFailure(yield* Effect.result(enter))) return tooMany
    // It follows the changes before it looks again, so that none comes in between.
    const changes = yield* mailbox.changes
    const next = Effect.gen(function* () {
      for (;;) {
        const mail = yield* look
        if (mail !== undefined) return mail
        yield* PubSub.take(changes)
      }
    })
    const come = yield* Effect.timeoutOption(next, Duration.millis(waitMillis))
    return Option.isNone(come) ? none : json(detailOf(come.value, yield* emlOf(come.value)))
  })

/** Tells of each change, so that whoever shows the mailbox asks again. */
const follow = ({ enter, mailbox, stopping }: MailboxContext): Handler =>
  Effect.gen(function* () {
    if (Result.isFailure(yield* Effect.result(enter))) return tooMany
    const changes = Stream.unwrap(Effect.map(mailbox.changes, Stream.fromSubscription)).pipe(
      Stream.map(() => "event: change\ndata: {}\n\n")
    )
    const beats = Stream.map(Stream.tick(Duration.millis(heartbeatMillis)), () => ":\n\n")
    return HttpServerResponse.stream(
      Stream.merge(changes, beats).pipe(Stream.interruptWhen(stopping), Stream.encodeText),
      { contentType: "text/event-stream", headers: { ...common, "x-accel-buffering": "no" } }
    )
  })

const idsOf = ({ mailbox }: MailboxContext, selection: Exclude<Selection, { readonly _tag: "All" }>) =>
  selection._tag === "Ids"
    ? Effect.succeed(selection.ids)
    : Effect.map(
        matched(mailbox, (mail) => matchesMail(mail, selection.terms)),
        (mails) => mails.map(({ mail }) => mail.id)
      )

const remove = (context: MailboxContext): Handler =>
  Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    const selection = yield* Effect.fromResult(readSelection(queryOf(request)))
    if (selection._tag === "All") return json({ deleted: yield* context.mailbox.clear })
    return json({ deleted: yield* context.mailbox.remove(yield* idsOf(context, selection)) })
  })

const mark = (context: MailboxContext): Handler =>
  Effect.gen(function* () {
    const query = queryOf(yield* HttpServerRequest.HttpServerRequest)
    const selection = yield* Effect.fromResult(readSelection(query, ["read"]))
    const isRead = yield* Effect.fromResult(readMark(query))
    const all = { _tag: "Search", terms: [] } as const
    const chosen = yield* idsOf(context, selection._tag === "All" ? all : selection)
    return json({ changed: yield* context.mailbox.mark(chosen, isRead) })
  })

/** A page, JSON, or the file, by the path's ending and `Accept`. */
const one = (context: MailboxContext): Handler =>
  Effect.gen(function* () {
    const { id = "" } = yield* HttpRouter.params
    const request = yield* HttpServerRequest.HttpServerRequest
    const isFile = id.endsWith(suffix)
    const name = isFile ? id.slice(0, -suffix.length) : id
    // The page itself says that a mail is no longer there.
    if (!isFile && wantsPage(request)) return yield* context.page
    const mail = ids.test(name) ? yield* context.mailbox.find(name) : undefined
    if (mail === undefined) return notFound
    const eml = yield* emlOf(mail)
    if (!isFile) return json(detailOf(mail, eml))
    return bytesAnswer(eml, "message/rfc822", { "content-disposition": `attachment; filename="${id}"` })
  })

const html = (mail: CapturedMail, request: HttpServerRequest.HttpServerRequest): Handler =>
  Effect.gen(function* () {
    const images = yield* Effect.fromResult(readImages(queryOf(request)))
    const { message } = mail.mail
    if (message.html === null) return fault("not_found", "The mail has no HTML.")
    return bytesAnswer(Buffer.from(documentOf(message)), "text/html; charset=utf-8", {
      "content-security-policy": mailPolicy(images)
    })
  })

const source = (mail: CapturedMail): Handler =>
  Effect.map(emlOf(mail), (eml) =>
    bytesAnswer(eml, "text/plain; charset=utf-8", { "content-security-policy": attachmentPolicy })
  )

const attachment = (mail: CapturedMail, request: HttpServerRequest.HttpServerRequest): Handler =>
  Effect.gen(function* () {
    const isDownload = yield* Effect.fromResult(readDownload(queryOf(request)))
    const { number = "" } = yield* HttpRouter.params
    const found = /^\d{1,3}$/.test(number) ? mail.mail.message.attachments[Number(number)] : undefined
    if (found === undefined || found.content === null)
      return fault("not_found", "The mail has no such attachment, or it is named by an address alone.")
    const { contentType, disposition } = attachmentHeaders(found, Number(number), isDownload)
    return bytesAnswer(Buffer.from(found.content, "base64"), contentType, {
      "content-disposition": disposition,
      "content-security-policy": attachmentPolicy
    })
  })

const links = (mail: CapturedMail): Handler => Effect.succeed(json(linksOf(mail.mail.message)))

const checkLinks =
  ({ checks }: MailboxContext) =>
  (mail: CapturedMail): Handler => {
    const found = linksOf(mail.mail.message)
    return Effect.match(checks.check(found.links.map(({ url }) => url)), {
      onSuccess: (results) => json({ results, total: found.total }),
      onFailure: () => fault("conflict", "The links of other mails are being checked; ask again in some seconds.")
    })
  }

/** The routes, by path and method. */
const routesOf = (
  context: MailboxContext
): ReadonlyArray<readonly [method: "GET" | "POST" | "PATCH" | "DELETE", path: `/${string}`, handler: Handler]> => [
  ["GET", mailboxPath, list(context)],
  ["PATCH", mailboxPath, mark(context)],
  ["DELETE", mailboxPath, remove(context)],
  ["GET", `${mailboxPath}/latest`, latest(context)],
  ["GET", `${mailboxPath}/stream`, follow(context)],
  ["GET", `${mailboxPath}/:id`, one(context)],
  ["GET", `${mailboxPath}/:id/html`, ofMail(context, html)],
  ["GET", `${mailboxPath}/:id/source`, ofMail(context, source)],
  ["GET", `${mailboxPath}/:id/links`, ofMail(context, links)],
  ["POST", `${mailboxPath}/:id/links`, ofMail(context, checkLinks(context))],
  ["GET", `${mailboxPath}/:id/attachments/:number`, ofMail(context, attachment)]
]

/** The route's answer to requests of this machine's own, its refusals in words. */
const guarded = ({ publicHost }: MailboxContext, handler: Handler) =>
  Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    if (!isOwnRequest(request.method, request.headers, publicHost()))
      return fault("forbidden", "The mailbox answers only under a name of its own machine, and only pages of its own.")
    return yield* handler
  }).pipe(
    Effect.catchTags({
      RequestRefused: ({ message }) => Effect.succeed(fault("invalid_request", message)),
      MailboxUnwritable: (error) =>
        Effect.as(
          Effect.logWarning("The local mailbox could not be changed", error),
          fault("unavailable", "The folder of the mailbox cannot be written to.")
        )
    })
  )

/** The pages, over the mailbox in the context. Link checks end with the scope. */
export const mailboxPages = Effect.fnUntraced(function* (options: MailboxPagesOptions) {
  const mailbox = yield* CaptureMailbox
  const checks = yield* makeLinkChecks(options.guard)
  const stopped = yield* Deferred.make<void>()
  const bulkhead = makeRefusingBulkhead({ total: maximumWaiting, ofOrganization: maximumWaiting })
  const context: MailboxContext = {
    ...options,
    mailbox,
    checks,
    enter: bulkhead("mailbox"),
    stopping: Deferred.await(stopped)
  }
  const stop = Effect.asVoid(Deferred.succeed(stopped, undefined))
  return routesOf(context).map(
    ([method, path, handler]): Page => ({
      path,
      methods: [method],
      stop,
      layer: HttpRouter.use((router) => router.add(method, path, guarded(context, handler))).pipe(Layer.orDie)
    })
  )
})
