/**
 * Speaks by a service with OpenAI's interface (docs/platform.md, 10.5): `POST <address>/audio/speech`, whose answer
 * goes on to the caller as it arrives. The text of the service's errors stays in the log. Needs `HttpClient`.
 */
import { Effect, Layer, Redacted, Stream } from "effect"
import {
  FetchHttpClient,
  HttpClient,
  type HttpClientError,
  HttpClientRequest,
  type HttpClientResponse
} from "effect/http"
import { type FormatId, formatIds } from "../formats.ts"
import { upstreamTextCharacters } from "../limits.ts"
import { SpeechEngine, type SpeechOrder, SpeechUnavailable } from "../SpeechEngine.ts"
import { splitText } from "../splitText.ts"
import type { Voice } from "../voices.ts"

/** A speech service. */
export interface Upstream {
  /** The address before `/audio/speech`, such as `http://127.0.0.1:8880/v1`. */
  readonly url: string
  /** Sent as a bearer; undefined for a service that needs none. */
  readonly key: Redacted.Redacted<string> | undefined
  readonly model: string
  /** The voices of the service, which has no endpoint that lists them. */
  readonly voices: ReadonlyArray<string>
}

/** The service's names of the formats. */
const responseFormats: Readonly<Record<FormatId, string>> = { wav: "wav", mp3: "mp3", ogg: "opus" }

/** Statuses that a repeat may clear. */
const passing: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504])

/** When a request that a repeat may help is worth one. */
const retryMillis = 5_000

/** For the caller, without a word of what the service said. */
const unavailable = (cause: unknown, isPassing: boolean) =>
  new SpeechUnavailable({
    message: isPassing
      ? "The speech service does not answer right now; the request is safe to repeat."
      : "The speech service does not take the request.",
    cause,
    ...(isPassing ? { retryAfterMillis: retryMillis } : {})
  })

const failed = (error: HttpClientError.HttpClientError) => {
  // An answer may also have begun well and broken off.
  const status = error.response?.status ?? 0
  return unavailable(error, status < 300 || passing.has(status))
}

/** An error that came with status 200, or a page of a gateway. */
const requireAudio = (response: HttpClientResponse.HttpClientResponse) => {
  const type = response.headers["content-type"] ?? ""
  return /^(text\/|application\/(json|problem))/i.test(type)
    ? Effect.fail(unavailable(new Error(`answered with ${type}, which is no audio`), true))
    : Effect.succeed(response)
}

const voiceOf = (id: string): Voice => ({ id, name: id, language: "mul", gender: null })

const make = Effect.fnUntraced(function* ({ key, model, url, voices }: Upstream) {
  const client = HttpClient.filterStatusOk(yield* HttpClient.HttpClient)
  const address = `${url.replace(/\/+$/, "")}/audio/speech`

  const requestOf = (input: string, { format, speed, voice }: SpeechOrder) => {
    const request = HttpClientRequest.post(address).pipe(
      HttpClientRequest.bodyJsonUnsafe({ model, input, voice, response_format: responseFormats[format], speed })
    )
    return key === undefined ? request : HttpClientRequest.bearerToken(request, Redacted.value(key))
  }

  const speakPart = (input: string, order: SpeechOrder) =>
    client.execute(requestOf(input, order)).pipe(
      Effect.mapError(failed),
      Effect.flatMap(requireAudio),
      Effect.map((response) => Stream.mapError(response.stream, failed)),
      Stream.unwrap
    )

  const offer = { voices: voices.map(voiceOf), formats: formatIds }
  return SpeechEngine.of({
    offer: Effect.succeed(offer),
    speak: (order) => splitText(order.text, upstreamTextCharacters).map((part) => speakPart(part, order))
  })
})

/** The engine on a speech service. It follows no redirect, which would take the key and the text elsewhere. */
export const layer = (upstream: Upstream): Layer.Layer<SpeechEngine> =>
  Layer.effect(SpeechEngine, make(upstream)).pipe(
    Layer.provide(FetchHttpClient.layer),
    Layer.provide(Layer.succeed(FetchHttpClient.RequestInit, { redirect: "manual" }))
  )
