/**
 * What the public API is before it has any group: its name and how strictly it reads. A product's handlers add their own group to it and
 * nothing else, so that no handler needs to know the whole API; the whole is put together from the same beginning.
 */
import { HttpApi } from "effect/http-api"

export const baseApi = HttpApi.make("sluice")
  // A misspelt field would do nothing and say nothing.
  .annotate(HttpApi.PayloadParseOptions, { onExcessProperty: "error" })
