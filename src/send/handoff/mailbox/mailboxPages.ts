/**
 * `/dev/mailbox`: the local mailbox over HTTP (docs/handoff.md, 3). Only for a listener on one's own machine: it asks for no key. Needs `HttpRouter` and
 * `CaptureMailbox`.
 */

import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { errorBody } from "../../../http/errors.ts"
import type { Page } from "../../../http/server.ts"
import { type CapturedMail, CaptureMailbox } from "../CaptureMailbox.ts"
import { composed } from "../smtp/compose.ts"
import { detailOf, listPage, mailPage, mailPolicy, pagePolicy, summaryOf } from "./mailPages.ts"

// A captured mail as a mail program would get it (RFC 5322).

/** The mail's bytes. Attachments that are named by an address alone are left out. */
export const emlOf = ({ mail }: CapturedMail): Effect.Effect<Buffer> =>
  composed({ message: mail.message, messageId: `<${mail.id}@sluice.invalid>`, date: mail.acceptedAt })

const path = "/dev/mailbox"

/** Ids of emails and notices; others name no mail. */
const ids = /^[\w.@-]{1,200}$/

const suffix = ".eml"

const common = {
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  vary: "Accept"
}

const htmlPage = (html: string, policy = pagePolicy) =>
  HttpServerResponse.text(html, {
    contentType: "text/html; charset=utf-8",
    headers: { ...common, "content-security-policy": policy }
  })

const json = (body: unknown) => HttpServerResponse.jsonUnsafe(body, { headers: common })

const notFound = HttpServerResponse.jsonUnsafe(errorBody("envelope", "not_found", "There is no such mail."), {
  status: 404,
  headers: common
})

/** A page for people, unless JSON is asked for. */
const wantsJson = ({ headers }: HttpServerRequest.HttpServerRequest): boolean =>
  headers.accept?.includes("application/json") === true && !headers.accept.includes("text/html")

const layer = (mailbox: CaptureMailbox["Service"]): Layer.Layer<never, never, HttpRouter.HttpRouter> =>
  HttpRouter.use((router) => {
    const found = (id: string, answer: (mail: CapturedMail) => Effect.Effect<HttpServerResponse.HttpServerResponse>) =>
      ids.test(id)
        ? Effect.flatMap(mailbox.find(id), (mail) => (mail === undefined ? Effect.succeed(notFound) : answer(mail)))
        : Effect.succeed(notFound)

    const one = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const { id = "" } = yield* HttpRouter.params
      if (id.endsWith(suffix))
        return yield* found(id.slice(0, -suffix.length), (mail) =>
          Effect.map(emlOf(mail), (bytes) =>
            HttpServerResponse.uint8Array(bytes, {
              contentType: "message/rfc822",
              headers: { ...common, "content-disposition": `attachment; filename="${id}"` }
            })
          )
        )
      return yield* found(id, (mail) =>
        Effect.succeed(wantsJson(request) ? json(detailOf(mail)) : htmlPage(mailPage(mail)))
      )
    })

    return Effect.all(
      [
        router.add(
          "GET",
          path,
          Effect.gen(function* () {
            const mails = yield* mailbox.list
            const request = yield* HttpServerRequest.HttpServerRequest
            return wantsJson(request) ? json({ data: mails.map(summaryOf) }) : htmlPage(listPage(mails))
          })
        ),
        router.add("GET", `${path}/:id`, one),
        router.add(
          "GET",
          `${path}/:id/html`,
          Effect.gen(function* () {
            const { id = "" } = yield* HttpRouter.params
            return yield* found(id, ({ mail: { message } }) =>
              Effect.succeed(message.html === null ? notFound : htmlPage(message.html, mailPolicy))
            )
          })
        )
      ],
      { discard: true }
    )
  })

/** The pages, over the mailbox in the context. */
export const mailboxPages: Effect.Effect<ReadonlyArray<Page>, never, CaptureMailbox> = Effect.map(
  CaptureMailbox,
  (mailbox) => [
    { path, layer: layer(mailbox) },
    { path: `${path}/:id`, layer: Layer.empty },
    { path: `${path}/:id/html`, layer: Layer.empty }
  ]
)
