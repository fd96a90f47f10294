/** Handles requests to talk. Needs `Talk`. */
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import type { BulkheadFull } from "../common/Bulkhead.ts"
import { baseApi } from "../http/baseApi.ts"
import { cutSlowCaller } from "../http/cutSlowCaller.ts"
import { retryAfter, retryAfterMillis } from "../http/RequestState.ts"
import { builtWith } from "../http/smallContext.ts"
import { SentenceInvalidRequest, SentenceRateLimited, SentenceUnavailable } from "../http/wireErrors.ts"
import { CurrentPrincipal, TalkAccess } from "../platform/access.ts"
import type { EventNotStored } from "../platform/awaitEventStored.ts"
import { ownerOf } from "../platform/model.ts"
import { contentTypes } from "./formats.ts"
import { placeRetryMillis, speechPlaces, speechTimeoutMillis } from "./limits.ts"
import type { SpeechUnavailable } from "./SpeechEngine.ts"
import { type SpeechRefused, Talk } from "./Talk.ts"
import { TalkApi } from "./talkApi.ts"

const unavailable = (error: string, afterMillis: number | undefined) =>
  Effect.andThen(
    afterMillis === undefined ? Effect.void : retryAfter(afterMillis),
    Effect.fail(new SentenceUnavailable({ error }))
  )

const notMade = (error: SpeechUnavailable) => unavailable(error.message, error.retryAfterMillis)

const failures = {
  SpeechRefused: ({ message }: SpeechRefused) => Effect.fail(new SentenceInvalidRequest({ error: message })),
  SpeechUnavailable: notMade,
  BulkheadFull: ({ of }: BulkheadFull) =>
    of === "all"
      ? unavailable("The platform makes as many speeches as it can; repeat the request later.", placeRetryMillis)
      : Effect.andThen(
          retryAfter(placeRetryMillis),
          Effect.fail(
            new SentenceRateLimited({
              error: `An organization can have ${speechPlaces.ofOrganization} speeches made at once; repeat the request later.`
            })
          )
        ),
  EventNotStored: (error: EventNotStored) =>
    unavailable(
      "The event of this request cannot be stored right now; the request is safe to repeat.",
      error.retryAfterMillis(retryAfterMillis)
    )
}

export const layerTalk = HttpApiBuilder.group(
  baseApi.add(TalkApi),
  "talk",
  Effect.fn(function* (handlers) {
    const talk = yield* Talk
    return handlers.handleAll({
      speech: ({ payload }) =>
        Effect.gen(function* () {
          const principal = yield* CurrentPrincipal
          yield* cutSlowCaller(speechTimeoutMillis)
          const { format = "wav", speed = 1, text, voice } = payload
          const { byteLength, bytes, contentType } = yield* talk.speak(ownerOf(principal), {
            text: text.toWellFormed(),
            voice,
            format,
            speed
          })
          return HttpServerResponse.stream(bytes, {
            contentType,
            ...(byteLength === undefined ? {} : { contentLength: byteLength })
          })
        }).pipe(Effect.catchTags(failures)),
      voices: () =>
        talk.offer.pipe(
          Effect.map(({ voices }) => ({ voices })),
          Effect.catchTag("SpeechUnavailable", notMade)
        ),
      formats: () =>
        talk.offer.pipe(
          Effect.map(({ formats }) => ({ formats: formats.map((id) => ({ id, contentType: contentTypes[id] })) })),
          Effect.catchTag("SpeechUnavailable", notMade)
        )
    })
  })
).pipe(builtWith(Talk, TalkAccess))
