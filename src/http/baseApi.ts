/**
 * Defines the public API before it has any group: its name, and how strictly it reads. A product's handlers add only
 * their own group to it, so that no handler depends on the whole API, which starts from the same base.
 */
import { HttpApi } from "effect/http-api"

export const baseApi = HttpApi.make("sluice")
  // A misspelt field would otherwise be ignored silently.
  .annotate(HttpApi.PayloadParseOptions, { onExcessProperty: "error" })
