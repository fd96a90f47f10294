/** Defines the errors of signing secrets, for their store and for signers. */
import { Data } from "effect"

/**
 * The signing secrets cannot be reached now; worth trying again. Nothing was changed, or inside a transaction nothing
 * will be. See {@link SigningSecrets}.
 */
export class SecretsUnavailable extends Data.TaggedError("SecretsUnavailable")<{
  readonly message: string
  readonly cause?: unknown
}> {}
