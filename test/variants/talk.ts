/** Variants of talk: what hangs, what is cut, what is said about the audio. */
import type { Finder, Variant } from "./runner/variant.ts"

const unit = (name: string): Finder => ({ kind: "unit", files: [`test/talk/${name}.unit.ts`] })
const servers = (name: string): Finder => ({ kind: "servers", files: [`test/talk/${name}.it.ts`] })

const deadlines = unit("deadlines")
const text = unit("text")
const audio = unit("audio/audio")
const http = servers("talkHttp")
const upstream = servers("upstream/upstreamHttp")

export const talk: ReadonlyArray<Variant> = [
  {
    name: "talk: an engine may be silent for ever",
    file: "src/talk/Talk.ts",
    find: "speechEngine.speak(order).map(inTime)",
    replace: "speechEngine.speak(order)",
    sentence: "a speech service that hangs holds a place, and six of them end speech for everybody",
    finders: [deadlines]
  },
  {
    name: "talk: a WAV file may take any time",
    file: "src/talk/Talk.ts",
    find: "Effect.timeoutOrElse({ duration: makingTimeoutMillis, orElse: () => Effect.fail(silent) })",
    replace: "Effect.tap(() => Effect.sync(() => makingTimeoutMillis))",
    sentence: "a service that sends a byte now and then holds a place for as long as it likes",
    finders: [deadlines]
  },
  {
    name: "talk: what is too large is made to its end",
    file: "src/talk/Talk.ts",
    find: "return total > maximumWavBytes ? refuse(tooLarge) : Effect.succeed(bytes)",
    replace: "return total > 100 * maximumWavBytes ? refuse(tooLarge) : Effect.succeed(bytes)",
    sentence: "an endless speech fills the memory",
    finders: [http]
  },
  {
    name: "talk: the answer does not wait for its event",
    file: "src/talk/Talk.ts",
    find: "    yield* store(owner, order, wav)\n",
    replace: "",
    sentence: "a WAV file is sent of which no event tells",
    finders: [http]
  },
  {
    name: "talk: audio without a frame is a success",
    file: "src/talk/Talk.ts",
    find: "return audio.durationMillis === 0 ? Effect.fail(silent) : store(owner, order, audio)",
    replace: "return store(owner, order, audio)",
    sentence: "a page of a gateway is sent as music, and paid for",
    finders: [http]
  },
  {
    name: "talk: a text is cut in the middle of words",
    file: "src/talk/text.ts",
    find: "atWord > 0 ? atWord : full.length",
    replace: "full.length",
    sentence: "a long text without full stops is spoken with a broken word at each cut",
    finders: [text]
  },
  {
    name: "talk: parts are cut by UTF-16 units",
    file: "src/talk/text.ts",
    find: "rest = rest.slice(charactersOf(part))",
    replace: "rest = rest.slice(part.length)",
    sentence: "of a long text with emoji a piece is not spoken",
    finders: [text]
  },
  {
    name: "talk: the false length of a WAV file is believed",
    file: "src/talk/audio/wav.ts",
    find: "size > 0 && from + size <= file.length ? size : file.length - from",
    replace: "size",
    sentence: "players show hours for a sentence",
    finders: [audio]
  },
  {
    name: "talk: the description of an MP3 file counts as audio",
    file: "src/talk/audio/mp3.ts",
    find: 'if (tag !== "Xing" && tag !== "Info") {',
    replace: "if (tag.length > 0) {",
    sentence: "joined files have a click between their parts, and last too long",
    finders: [audio]
  },
  {
    name: "talk: errors that come with status 200 are audio",
    file: "src/talk/upstream/UpstreamEngine.ts",
    find: "return /^(text\\/|application\\/(json|problem))/i.test(type)",
    replace: "return type.length > 1_000",
    sentence: "the words of the speech service, which may name its keys, reach the caller",
    finders: [upstream]
  },
  {
    name: "talk: the key follows a redirect",
    file: "src/talk/upstream/UpstreamEngine.ts",
    find: '{ redirect: "manual" }',
    replace: '{ redirect: "follow" }',
    sentence: "whoever takes the service's name over gets key and texts",
    finders: [upstream]
  }
]
