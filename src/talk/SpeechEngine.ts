/**
 * Defines the port that turns text into audio. `espeak/EspeakEngine.ts` runs the programs of this machine,
 * `upstream/UpstreamEngine.ts` asks a speech service.
 */
import { Context, Data, type Effect, type Stream } from "effect"
import type { FormatId } from "./formats.ts"
import type { Voice } from "./voices.ts"

/**
 * No audio can be made right now. The message is for the caller and names nothing inside; the cause is for the log.
 * `retryAfterMillis` is absent where waiting does not help.
 */
export class SpeechUnavailable extends Data.TaggedError("SpeechUnavailable")<{
  readonly message: string
  readonly cause?: unknown
  readonly retryAfterMillis?: number
}> {}

/** The offer of an engine. */
export interface SpeechOffer {
  readonly voices: ReadonlyArray<Voice>
  readonly formats: ReadonlyArray<FormatId>
}

/** The text to be spoken, with a voice and in a format of the engine's offer. */
export interface SpeechOrder {
  /** 1 to 5,000 characters. */
  readonly text: string
  readonly voice: string
  readonly format: FormatId
  /** 0.25 to 4. */
  readonly speed: number
}

/** The audio of one part of a text: a whole file of the format, except that a WAV file's lengths may be false. */
export type AudioPart = Stream.Stream<Uint8Array, SpeechUnavailable>

export class SpeechEngine extends Context.Service<
  SpeechEngine,
  {
    /**
     * The audio's parts in order, at least one. Nothing runs before a part is read; who stops reading ends its work.
     */
    readonly offer: Effect.Effect<SpeechOffer, SpeechUnavailable>
    readonly speak: (order: SpeechOrder) => ReadonlyArray<AudioPart>
  }
>()("sluice/talk/SpeechEngine") {}
