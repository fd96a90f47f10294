/** Describes the id of a domain, sender or other item in a path. */
import { Schema } from "effect"

/** Ids are letters, digits and underscores; anything else cannot be one. */
export const idParameter = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9_-]{1,64}$/, { message: "Expected an id of letters, digits and underscores" })
)
