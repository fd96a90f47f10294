/**
 * Describes talk's endpoints as an HttpApi group (docs/platform.md, 10): paths, bodies, answers and errors. Definitions
 * only; `http.ts` implements them and the typed client shares them.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { SentenceInvalidRequest, SentenceRateLimited, SentenceUnavailable } from "../http/wireErrors.ts"
import { RequiredScopes, TalkAccess } from "../platform/access.ts"
import { contentTypes, formatIds } from "./formats.ts"
import { maximumSpeed, maximumTextCharacters, minimumSpeed } from "./limits.ts"
import { charactersOf } from "./splitText.ts"

const expectedText = `Expected 1 to ${maximumTextCharacters} characters that are not all blank`
const expectedSpeed = `Expected a number from ${minimumSpeed} to ${maximumSpeed}`

const Text = Schema.String.annotate({ message: expectedText })
  .check(
    Schema.makeFilter(
      (text: string) => (text.trim() !== "" && charactersOf(text) <= maximumTextCharacters) || expectedText,
      { message: expectedText }
    )
  )
  .annotate({ description: `Text to speak: 1 to ${maximumTextCharacters} characters`, examples: ["Hello, world."] })

const Speed = Schema.Number.annotate({ message: expectedSpeed })
  .check(
    Schema.isFinite({ message: expectedSpeed }),
    Schema.isBetween({ minimum: minimumSpeed, maximum: maximumSpeed }, { message: expectedSpeed })
  )
  .annotate({ description: `Speed, ${minimumSpeed} to ${maximumSpeed}; 1 is the voice's own and the default` })

export const SpeechRequest = Schema.Struct({
  text: Text,
  voice: Schema.String.annotate({ description: "Id of a voice", examples: ["en-us"] }),
  format: Schema.optionalKey(
    Schema.Literals(formatIds).annotate({ message: `Expected ${formatIds.join(", ").replace(/, (\w+)$/, " or $1")}` })
  ).annotate({ description: "Id of a format; `wav` without it" }),
  speed: Schema.optionalKey(Speed)
}).annotate({ identifier: "SpeechRequest" })

export const VoiceList = Schema.Struct({
  voices: Schema.Array(
    Schema.Struct({
      id: Schema.String.annotate({ description: "Id, as requests name it", examples: ["en-us"] }),
      name: Schema.String.annotate({ examples: ["English (America)"] }),
      language: Schema.String.annotate({
        description: "A BCP 47 tag; `mul` for a voice of several languages",
        examples: ["en-us"]
      }),
      gender: Schema.NullOr(Schema.Literals(["female", "male"])).annotate({ description: "Null where it is not known" })
    })
  )
}).annotate({ identifier: "VoiceList" })

export const FormatList = Schema.Struct({
  formats: Schema.Array(
    Schema.Struct({
      id: Schema.Literals(formatIds),
      contentType: Schema.String.annotate({ examples: ["audio/wav"] })
    })
  )
}).annotate({ identifier: "FormatList" })

const speech = HttpApiEndpoint.post("speech", "/v1/talk/speech", {
  payload: SpeechRequest,
  success: HttpApiSchema.StreamUint8Array({ contentType: Object.values(contentTypes) }),
  error: [SentenceInvalidRequest, SentenceRateLimited, SentenceUnavailable]
})
  .annotate(RequiredScopes, ["talk:speech"])
  .annotateMerge(
    OpenApi.annotations({
      summary: "Speak a text",
      description:
        "Answers the audio. The answer is complete once its event `talk.speech.completed` is stored. Over the organization's share of speeches at once 429, with all places taken 503, both with `Retry-After`."
    })
  )

const voices = HttpApiEndpoint.get("voices", "/v1/talk/voices", {
  success: VoiceList,
  error: SentenceUnavailable
})
  .annotate(RequiredScopes, ["talk:voices"])
  .annotateMerge(
    OpenApi.annotations({
      summary: "List voices",
      description: "The voices that `POST /v1/talk/speech` takes, with their languages."
    })
  )

const formats = HttpApiEndpoint.get("formats", "/v1/talk/formats", {
  success: FormatList,
  error: SentenceUnavailable
})
  .annotate(RequiredScopes, ["talk:formats"])
  .annotateMerge(OpenApi.annotations({ summary: "List formats", description: "The formats that can be made here." }))

/** All endpoints of talk. */
export class TalkApi extends HttpApiGroup.make("talk")
  .add(speech, voices, formats)
  .middleware(TalkAccess)
  .annotateMerge(OpenApi.annotations({ title: "Talk", description: "Speech: audio of texts." })) {}
