/**
 * Recognizes repeats of requests with an `Idempotency-Key` that take more than one decision (docs/platform.md, 3.2).
 * Such a request changes nothing when it is made twice, so its key is remembered after it: a repeat is recognized and
 * not made again, and a request that was cut off is made once more. The keys are those of sending. Needs an engine.
 */
import { Effect } from "effect"
import type { Engine } from "../../engine/Engine.ts"
import { isAnAskError, type OnceError } from "../../engine/errors.ts"
import { engineKeyOf, IdempotencyConflict, type IdempotentRequest } from "../../http/idempotency.ts"
import { SendAccount, type SendAccountRejection } from "../account/actors/index.ts"
import type { Account } from "../senders/domains/model.ts"

/** The key as the engine has it: the keys of an organization are one set, in which each mode has its own. */
export const onceOf = ({ mode }: Pick<Account, "mode">, { digest, key }: IdempotentRequest): IdempotentRequest => ({
  key: engineKeyOf(mode === "live" ? "l" : "t", key),
  digest
})

/** Fails with `IdempotencyConflict` where the key was used for another request. */
export const makeRepeats = (engine: Engine["Service"]) => {
  const targetOf = ({ mode, organizationId }: Account) => ({ organization: organizationId, key: mode })
  const failed = (request: IdempotentRequest, error: OnceError) =>
    Effect.fail(error._tag === "IdempotencyConflict" ? new IdempotencyConflict({ key: request.key }) : error)
  const isOnceError = (error: SendAccountRejection | OnceError): error is OnceError =>
    isAnAskError(error) || ("_tag" in error && (error._tag === "IdempotencyConflict" || error._tag === "ReplyTooLarge"))
  return {
    /** Whether the request was made before. */
    isRepeat: (account: Account, request: IdempotentRequest) =>
      // A request without emails is rejected, and rejections are not remembered.
      engine
        .askOnce(
          SendAccount,
          targetOf(account),
          { _tag: "Preview", emails: [], upgradeUrl: "" },
          onceOf(account, request)
        )
        .pipe(
          Effect.as(true),
          Effect.catch((error) => (isOnceError(error) ? failed(request, error) : Effect.succeed(false)))
        ),

    /** Remembers a request that was made. */
    remember: (account: Account, request: IdempotentRequest) =>
      engine.askOnce(SendAccount, targetOf(account), { _tag: "Look" }, onceOf(account, request)).pipe(
        Effect.asVoid,
        Effect.catch((error) => (isOnceError(error) ? failed(request, error) : Effect.die(error)))
      )
  }
}
