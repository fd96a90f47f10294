/**
 * Decides that something was looked up or searched, or that the directory has changed, for one organization: its decisions carry an event and no fact, and
 * it has no state. The service has found the answer before, in the directory and the inventory, which are reference
 * data. Pure.
 */
import { Schema } from "effect"
import * as Actor from "../engine/Actor.ts"
import { catalogue, publicEvent } from "../events/index.ts"

const Command = Schema.Union([
  Schema.TaggedStruct("LookupCompleted", {
    data: catalogue["telco.lookup.completed"].data,
    livemode: Schema.Boolean
  }),
  Schema.TaggedStruct("LookupsCompleted", {
    data: catalogue["telco.lookups.completed"].data,
    livemode: Schema.Boolean
  }),
  Schema.TaggedStruct("DirectoryUpdated", {
    data: catalogue["telco.directory.updated"].data,
    livemode: Schema.Boolean
  }),
  Schema.TaggedStruct("SearchCompleted", {
    data: catalogue["telco.search.completed"].data,
    livemode: Schema.Boolean
  })
])

/** One per organization. */
export const TelcoActor = Actor.makeStateless({
  kind: "telco",
  command: Command,
  reply: Schema.Null,
  decide: (command) => {
    switch (command._tag) {
      case "LookupCompleted":
        return Actor.decided({
          events: [publicEvent("telco.lookup.completed", command.data, command.livemode)],
          reply: null
        })
      case "LookupsCompleted":
        return Actor.decided({
          events: [publicEvent("telco.lookups.completed", command.data, command.livemode)],
          reply: null
        })
      case "DirectoryUpdated":
        return Actor.decided({
          events: [publicEvent("telco.directory.updated", command.data, command.livemode)],
          reply: null
        })
      case "SearchCompleted":
        return Actor.decided({
          events: [publicEvent("telco.search.completed", command.data, command.livemode)],
          reply: null
        })
    }
  }
})
