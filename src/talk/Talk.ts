/**
 * Speaks texts (docs/platform.md, 10): checks the request, has the engine make the audio in a slot of the organization,
 * and stores the event before the audio is complete. Needs `SpeechEngine` and `Engine`.
 */
import { Context, Data, Effect, Layer, type Scope, Sink, Stream } from "effect"
import { type BulkheadFull, makeRefusingBulkhead } from "../common/Bulkhead.ts"
import { Engine } from "../engine/Engine.ts"
import type { DataOf } from "../events/index.ts"
import { awaitEventStored, type EventNotStored } from "../platform/awaitEventStored.ts"
import type { Owner } from "../platform/model.ts"
import type { AudioReader } from "./audio/AudioReader.ts"
import { makeMp3Reader } from "./audio/mp3.ts"
import { makeOggReader } from "./audio/ogg.ts"
import { joinWavs, type WholeWav } from "./audio/wav.ts"
import { contentTypes, type FormatId } from "./formats.ts"
import {
  makingTimeoutMillis,
  maximumBytesBeforeAudio,
  maximumWavBytes,
  silenceTimeoutMillis,
  speechPlaces
} from "./limits.ts"
import { type AudioPart, SpeechEngine, type SpeechOffer, type SpeechOrder, SpeechUnavailable } from "./SpeechEngine.ts"
import { charactersOf } from "./splitText.ts"
import { TalkActor } from "./TalkActor.ts"
import { unknownVoice } from "./voices.ts"

/** The request cannot be spoken like this; the message is for the owner. */
export class SpeechRefused extends Data.TaggedError("SpeechRefused")<{ readonly message: string }> {}

/** Audio as it is sent. */
export interface Speech {
  readonly contentType: string
  /** Undefined where the audio is sent while it is made. */
  readonly byteLength: number | undefined
  /** Ends once the event is stored, and fails when it cannot be, or when the audio breaks off. */
  readonly bytes: Stream.Stream<Uint8Array, SpeechUnavailable | EventNotStored>
}

export class Talk extends Context.Service<
  Talk,
  {
    /** Voices and formats, as they are here. */
    readonly offer: Effect.Effect<SpeechOffer, SpeechUnavailable>
    /**
     * Makes audio of a text (docs/platform.md, 10.2). A WAV file is whole, and its event stored, before this answers;
     * of the other formats there are the first bytes. The scope holds the place and the work: closing it ends both.
     */
    readonly speak: (
      owner: Owner,
      order: SpeechOrder
    ) => Effect.Effect<Speech, SpeechRefused | SpeechUnavailable | BulkheadFull | EventNotStored, Scope.Scope>
  }
>()("sluice/talk/Talk") {
  static readonly layer: Layer.Layer<Talk, never, SpeechEngine | Engine> = Layer.effect(
    Talk,
    Effect.suspend(() => make)
  )
}

const refuse = (message: string) => Effect.fail(new SpeechRefused({ message }))

const silent = new SpeechUnavailable({ message: "The speech engine gives no audio; the request is safe to repeat." })

const tooLarge = `The audio would be larger than ${maximumWavBytes / 1024 / 1024} MiB, the most of a WAV file. Give less text or a higher speed, or ask for another format.`

/** Logs the details that the caller does not get. */
const logCause = (error: { readonly message: string; readonly cause?: unknown }) =>
  error instanceof SpeechUnavailable && error.cause !== undefined
    ? Effect.logWarning(error.message, error.cause)
    : Effect.void

const inTime = (part: AudioPart): AudioPart =>
  Stream.timeoutOrElse(part, { duration: silenceTimeoutMillis, orElse: () => Stream.fail(silent) })

/** The WAV file of all parts. */
const wholeWav = Effect.fnUntraced(function* (
  parts: ReadonlyArray<AudioPart>
): Effect.fn.Return<WholeWav, SpeechUnavailable | SpeechRefused> {
  let total = 0
  const files: Array<Uint8Array> = []
  for (const part of parts) {
    const pieces = yield* Stream.runCollect(
      Stream.mapEffect(part, (bytes) => {
        total += bytes.length
        return total > maximumWavBytes ? refuse(tooLarge) : Effect.succeed(bytes)
      })
    )
    files.push(Buffer.concat(pieces))
  }
  return joinWavs(files) ?? (yield* silent)
})

const readerOf = (format: Exclude<FormatId, "wav">, isJoined: boolean): AudioReader =>
  format === "mp3" ? makeMp3Reader({ isJoined }) : makeOggReader()

/** The audio of all parts as it comes, and what was read of it so far. */
const running = (parts: ReadonlyArray<AudioPart>, format: Exclude<FormatId, "wav">) => {
  const readers = parts.map(() => readerOf(format, parts.length > 1))
  let byteLength = 0
  const bytes = Stream.fromIterable(parts.map((part, index) => Stream.map(part, readers[index]!.push))).pipe(
    Stream.flatten,
    Stream.filter((piece) => piece.length > 0),
    Stream.map((piece) => {
      byteLength += piece.length
      return piece
    })
  )
  const read = () => ({
    byteLength,
    durationMillis: readers.reduce((sum, { durationMillis }) => sum + durationMillis(), 0)
  })
  return { bytes, read }
}

const make = Effect.gen(function* () {
  const speechEngine = yield* SpeechEngine
  const engine = yield* Engine
  const take = makeRefusingBulkhead(speechPlaces)

  const offer = Effect.tapError(speechEngine.offer, logCause)

  const store = (
    owner: Owner,
    order: SpeechOrder,
    audio: { readonly byteLength: number; readonly durationMillis: number }
  ) => {
    const data: DataOf<"talk.speech.completed"> = {
      characters: charactersOf(order.text),
      voice: order.voice,
      format: order.format,
      duration: audio.durationMillis,
      bytes: audio.byteLength
    }
    const command = { _tag: "SpeechCompleted", data, livemode: owner.livemode } as const
    return awaitEventStored(engine.ask(TalkActor, { organization: owner.organizationId }, command))
  }

  const speakWav = Effect.fnUntraced(function* (owner: Owner, order: SpeechOrder, parts: ReadonlyArray<AudioPart>) {
    const wav = yield* wholeWav(parts).pipe(
      Effect.timeoutOrElse({ duration: makingTimeoutMillis, orElse: () => Effect.fail(silent) })
    )
    yield* store(owner, order, wav)
    return { contentType: contentTypes.wav, byteLength: wav.byteLength, bytes: Stream.fromIterable(wav.pieces) }
  })

  const speakRunning = Effect.fnUntraced(function* (
    owner: Owner,
    order: SpeechOrder,
    parts: ReadonlyArray<AudioPart>,
    format: Exclude<FormatId, "wav">
  ) {
    const { bytes, read } = running(parts, format)
    // Until something is sent, a failure can still be reported: the answer begins with the first audio that can be played.
    const begins = () => read().durationMillis > 0 || read().byteLength > maximumBytesBeforeAudio
    const [first, rest] = yield* Stream.peel(bytes, Sink.takeUntil<Uint8Array>(begins))
    if (read().durationMillis === 0) return yield* silent
    const stored = Effect.suspend((): Effect.Effect<void, SpeechUnavailable | EventNotStored> => {
      const audio = read()
      return audio.durationMillis === 0 ? Effect.fail(silent) : store(owner, order, audio)
    })
    return {
      contentType: contentTypes[format],
      byteLength: undefined,
      bytes: Stream.fromIterable(first).pipe(
        Stream.concat(Stream.tapError(rest, logCause)),
        Stream.concat(Stream.fromEffectDrain(stored))
      )
    }
  })

  const speak = Effect.fn("Talk.speak")(function* (owner: Owner, order: SpeechOrder) {
    const { formats, voices } = yield* speechEngine.offer
    if (!voices.some(({ id }) => id === order.voice)) return yield* refuse(unknownVoice(order.voice, voices))
    if (!formats.includes(order.format)) {
      return yield* refuse(`The format '${order.format}' cannot be made here. Available: ${formats.join(", ")}.`)
    }
    yield* take(owner.organizationId)
    const parts = speechEngine.speak(order).map(inTime)
    return order.format === "wav"
      ? yield* speakWav(owner, order, parts)
      : yield* speakRunning(owner, order, parts, order.format)
  }, Effect.tapError(logCause))

  return Talk.of({ offer, speak })
})
