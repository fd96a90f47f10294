/**
 * Decides that a text was spoken, for one organization: its decisions carry an event and no fact, and it has no state.
 * Pure.
 */
import { Schema } from "effect"
import * as Actor from "../engine/Actor.ts"
import { catalogue, publicEvent } from "../events/index.ts"

/** One per organization. */
export const TalkActor = Actor.makeStateless({
  kind: "talk",
  command: Schema.TaggedStruct("SpeechCompleted", {
    data: catalogue["talk.speech.completed"].data,
    livemode: Schema.Boolean
  }),
  reply: Schema.Null,
  decide: ({ data, livemode }) =>
    Actor.decided({ events: [publicEvent("talk.speech.completed", data, livemode)], reply: null })
})
