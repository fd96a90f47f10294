/**
 * Defines the forms that the groups of the admin API share: pages, names, and requests that may be repeated
 * (docs/platform.md, 3.2 and 3.4).
 */
import { Schema } from "effect"
import { IdempotencyKey } from "../http/idempotency.ts"
import { integerParameter, maximumPageSize } from "../http/parameters.ts"
import { maximumSearchLength } from "../platform/organizationSearch.ts"

export const name = Schema.String.check(
  Schema.isPattern(/^[^\p{Cc}\p{Cs}]{1,200}$/u, { message: "Expected 1 to 200 characters" })
)

/** A text to search for. */
export const searchText = Schema.String.check(
  Schema.isPattern(/^[^\p{Cc}\p{Cs}]{2,200}$/u, {
    message: `Expected a text of 2 to ${maximumSearchLength} characters`
  })
)

export const pagination = Schema.Struct({
  hasMore: Schema.Boolean,
  nextCursor: Schema.optional(Schema.String)
})

export const cursorPage = {
  limit: Schema.optional(integerParameter(1, maximumPageSize)),
  cursor: Schema.optional(Schema.String)
}

export const idempotent = { "idempotency-key": Schema.optional(IdempotencyKey) }

export const Replayed = { "idempotency-replayed": Schema.optional(Schema.String) }
