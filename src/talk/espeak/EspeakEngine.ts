/**
 * Speaks by the programs of this machine: `espeak-ng` makes WAV, `lame` and `opusenc` make MP3 and Ogg Opus of it if
 * they are installed (docs/platform.md, 10.5).
 */
import { accessSync, constants } from "node:fs"
import { delimiter, join } from "node:path"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Exit, Layer, PlatformError, Stream } from "effect"
import { ChildProcess, ChildProcessSpawner } from "effect/process"
import type { FormatId } from "../formats.ts"
import { offerMillis, probeTimeoutMillis } from "../limits.ts"
import { SpeechEngine, type SpeechOrder, SpeechUnavailable } from "../SpeechEngine.ts"
import type { Voice } from "../voices.ts"

// Reads the list of voices that `espeak-ng --voices` prints, and prepares texts for it. Pure.

/** A voice with the file by which the program finds it; some languages in the list are no names that it takes. */
export interface EspeakVoice extends Voice {
  readonly file: string
}

/** A line: priority, language, age and gender, name, file. */
const line = /^\s*\d+\s+(\S+)\s+\S+\/(\S)\s+(\S+)\s+(\S+)/

const genders: Readonly<Record<string, Voice["gender"]>> = { M: "male", F: "female" }

/**
 * The voices of a list, in its order. Their ids are their languages; a second voice of a language has its file's name.
 */
export const readListing = (listing: string): ReadonlyArray<EspeakVoice> => {
  const voices = new Map<string, EspeakVoice>()
  for (const text of listing.split("\n")) {
    const match = line.exec(text)
    if (match === null) continue
    const [language, gender, name, file] = match.slice(1) as [string, string, string, string]
    const byLanguage = language.toLowerCase()
    const id = voices.has(byLanguage) ? file.slice(file.lastIndexOf("/") + 1).toLowerCase() : byLanguage
    const shown = name.replaceAll("_", " ").trim()
    voices.set(id, { id, name: shown, language, gender: genders[gender] ?? null, file })
  }
  return [...voices.values()]
}

/** Words a minute at the speed 1, the program's own default, and the fewest that it speaks. */
const wordsPerMinute = 175
const fewestWordsPerMinute = 80

/** The words a minute of a speed. */
export const wordsPerMinuteOf = (speed: number): number =>
  Math.max(fewestWordsPerMinute, Math.round(wordsPerMinute * speed))

/**
 * The text as the program reads it out. Control characters would end the text or be commands that change the voice, and
 * `[[` would begin phonemes.
 */
export const readable = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it is about.
  text.replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f]/g, " ").replaceAll(/\[(?=\[)/g, "[ ")

interface Encoder {
  readonly program: string
  readonly args: ReadonlyArray<string>
}

/** From the WAV file of espeak-ng, whose false length both programs read past, to speech of good quality. */
const encoders: Readonly<Record<Exclude<FormatId, "wav">, Encoder>> = {
  // Without the frame that tells how many there are, which could only be written at the end.
  mp3: { program: "lame", args: ["--quiet", "-t", "-m", "m", "-b", "48", "-", "-"] },
  ogg: { program: "opusenc", args: ["--quiet", "--ignorelength", "--bitrate", "32", "--comp", "5", "-", "-"] }
}

const missing = new SpeechUnavailable({
  message:
    "This platform has nothing that speaks yet. Set SLUICE_TALK_URL to a speech service with OpenAI's interface, or install espeak-ng on the platform's machine."
})

const failed = (cause: PlatformError.PlatformError) =>
  new SpeechUnavailable({ message: "The speech could not be made; the request is safe to repeat.", cause })

const encode = new TextEncoder()

/** The installed parts: the program, its voices by their ids, and the working encoders. */
interface Found {
  readonly espeak: string
  readonly voices: ReadonlyMap<string, EspeakVoice>
  readonly encoderFiles: ReadonlyMap<FormatId, string>
}

const speakArgs = (file: string, speed: number): ReadonlyArray<string> => [
  // Not as an argument, where a text that begins with a hyphen would be an option.
  "--stdin",
  "--stdout",
  // UTF-8.
  ...["-b", "1"],
  ...["-v", file],
  ...["-s", `${wordsPerMinuteOf(speed)}`]
]

/** The engine on the programs of a path such as `PATH`. */
export const layer = (path: string): Layer.Layer<SpeechEngine> =>
  Layer.effect(SpeechEngine, make(path)).pipe(Layer.provide(NodeServices.layer))

const make = Effect.fnUntraced(function* (path: string) {
  const context = yield* Effect.context<ChildProcessSpawner.ChildProcessSpawner>()

  const run = (program: string, args: ReadonlyArray<string>, input: Parameters<typeof runProgram>[2]) =>
    Stream.provideContext(runProgram(program, args, input), context)

  const wavOf = (espeak: string, file: string, text: string, speed: number) =>
    run(espeak, speakArgs(file, speed), Stream.succeed(encode.encode(readable(text))))

  /** The output of a short program. */
  const outputOf = (bytes: Stream.Stream<Uint8Array, PlatformError.PlatformError>) =>
    Stream.runCollect(bytes).pipe(
      Effect.map((pieces) => Buffer.concat(pieces)),
      Effect.timeout(probeTimeoutMillis)
    )

  /** The file of an encoder that is there and makes audio. */
  const workingEncoder = Effect.fnUntraced(function* (espeak: string, voice: EspeakVoice, { args, program }: Encoder) {
    const file = findProgram(program, path)
    if (file === undefined) return undefined
    const audio = yield* outputOf(run(file, args, wavOf(espeak, voice.file, "a", 1))).pipe(
      Effect.tapError((error) => Effect.logWarning(`${program} is installed and makes no audio: ${error.message}`)),
      Effect.orElseSucceed(() => Buffer.alloc(0))
    )
    return audio.length === 0 ? undefined : file
  })

  const find: Effect.Effect<Found, SpeechUnavailable> = Effect.gen(function* () {
    const espeak = findProgram("espeak-ng", path)
    if (espeak === undefined) return yield* missing
    const listing = yield* outputOf(run(espeak, ["--voices"], Stream.empty)).pipe(
      Effect.mapError((cause) => new SpeechUnavailable({ message: "The voices cannot be listed right now.", cause }))
    )
    const voices = readListing(listing.toString("utf8"))
    const encoderFiles = new Map<FormatId, string>()
    const [first] = voices
    if (first === undefined) return yield* missing
    for (const format of ["mp3", "ogg"] as const) {
      const file = yield* workingEncoder(espeak, first, encoders[format])
      if (file !== undefined) encoderFiles.set(format, file)
    }
    return { espeak, voices: new Map(voices.map((voice) => [voice.id, voice])), encoderFiles }
  })

  // Programs installed later are found without a new start.
  const found = yield* Effect.cachedWithTTL(find, (exit) => (Exit.isSuccess(exit) ? offerMillis : 0))

  const speak = ({ format, speed, text, voice }: SpeechOrder) =>
    Stream.unwrap(
      Effect.gen(function* () {
        const { encoderFiles, espeak, voices } = yield* found
        const wav = wavOf(espeak, voices.get(voice)?.file ?? voice, text, speed)
        const encoder = encoderFiles.get(format)
        const audio = format === "wav" || encoder === undefined ? wav : run(encoder, encoders[format].args, wav)
        return Stream.mapError(audio, failed)
      })
    )

  return SpeechEngine.of({
    offer: Effect.map(found, ({ encoderFiles, voices }) => ({
      voices: [...voices.values()].map(({ gender, id, language, name }) => ({ id, name, language, gender })),
      formats: ["wav", ...encoderFiles.keys()]
    })),
    speak: (order) => [speak(order)]
  })
})

/** The file of a program in the folders of a path; undefined where none has it. */
export const findProgram = (name: string, path: string): string | undefined =>
  path
    .split(delimiter)
    .filter((folder) => folder !== "")
    .map((folder) => join(folder, name))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK)
        return true
      } catch {
        return false
      }
    })

/** The environment of the programs: none of the platform's own, which has its secrets. */
const environment = { LC_ALL: "C.UTF-8", ESPEAK_DATA_PATH: process.env.ESPEAK_DATA_PATH }

const programFailed = (program: string, code: number) =>
  PlatformError.systemError({
    _tag: "Unknown",
    module: "ChildProcess",
    method: "exitCode",
    description: `${program} ended with code ${code}`
  })

/** Runs a program on its input and gives what it writes. Fails at the end where the program or its input did. */
export const runProgram = (
  program: string,
  args: ReadonlyArray<string>,
  input: Stream.Stream<Uint8Array, PlatformError.PlatformError>
): Stream.Stream<Uint8Array, PlatformError.PlatformError, ChildProcessSpawner.ChildProcessSpawner> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const spawner = yield* ChildProcessSpawner.ChildProcessSpawner
      const child = yield* spawner.spawn(
        ChildProcess.make(program, args, {
          env: environment,
          stdin: input,
          // Some texts make espeak-ng complain thousands of times.
          stderr: "ignore",
          // There is nothing that a program would have to put in order.
          killSignal: "SIGKILL"
        })
      )
      const ended = Effect.flatMap(child.exitCode, (code) =>
        code === 0 ? Effect.void : Effect.fail(programFailed(program, code))
      )
      return Stream.concat(child.stdout, Stream.fromEffectDrain(ended))
    })
  )
