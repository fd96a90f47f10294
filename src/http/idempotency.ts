/**
 * Defines `Idempotency-Key` on requests that create (docs/platform.md, 3.2): a repeat with the same key and body gets
 * the answer of the first request, and another body under the same key is a conflict. The key is kept where the request
 * is decided: by the engine's `askOnce` if an actor decides, by `IdempotentRequests` if SQL alone does, and in the row
 * itself (`replayOf`) if the row is the answer and shows no secret.
 */
import { hash } from "node:crypto"
import { Data, Effect, Schema } from "effect"
import { maximumOnceKeyLength } from "../engine/limits.ts"

/** The identity of a request that must not act twice. */
export interface IdempotentRequest {
  readonly key: string
  /** Digest of the request's content, to tell a repeat from another request under the same key. */
  readonly digest: string
}

/** The key was used for another request. */
export class IdempotencyConflict extends Data.TaggedError("IdempotencyConflict")<{ readonly key: string }> {
  override get message(): string {
    return `The Idempotency-Key ${JSON.stringify(this.key)} was used for another request.`
  }
}

/** The header: 1 to 256 printable characters. */
export const IdempotencyKey = Schema.String.check(
  Schema.isPattern(/^[\x20-\x7e]{1,256}$/, { message: "Expected 1 to 256 printable characters" })
)

/**
 * A caller's key among the keys that the engine has for an organization, which are one set: `kind` tells it from those
 * of other products. A hash replaces a key that is too long with it.
 */
export const engineKeyOf = (kind: string, key: string): string => {
  const whole = `${kind}${key}`
  return whole.length <= maximumOnceKeyLength ? whole : `${kind}${hash("sha256", key, "hex")}`
}

/** The request that a key and a decoded body stand for; undefined without a key. */
export const idempotentRequest = (key: string | undefined, body: unknown): IdempotentRequest | undefined =>
  key === undefined ? undefined : { key, digest: hash("sha256", JSON.stringify(body), "hex") }

/** Answers a repeat with the row that carries the key of its request; the row of another request is a conflict. */
export const replayOf = <Row>(
  request: IdempotentRequest | undefined,
  row: Row | undefined,
  digest: string | null | undefined
): Effect.Effect<Row, IdempotencyConflict> =>
  row === undefined || request === undefined || digest !== request.digest
    ? Effect.fail(new IdempotencyConflict({ key: request?.key ?? "" }))
    : Effect.succeed(row)
