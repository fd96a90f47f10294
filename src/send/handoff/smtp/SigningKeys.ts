/**
 * `SigningKeys`: with what mail of a verified domain is signed, for the mailer (docs/handoff.md, 2.3). Keys are opened, parsed and remembered for some seconds. Needs `SqlClient`.
 */
import { Cache, Context, Duration, Effect, Exit, Layer, Redacted } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { type SecretsKeys, unseal } from "../../../common/secretsKeys.ts"
import { aboutDkimKey } from "../../senders/domains/domainKeys.ts"
import { rememberedKeyMillis, rememberedKeys } from "../../senders/domains/limits.ts"
import type { Account } from "../../senders/domains/model.ts"
import { domainRows } from "../../senders/domains/rows.ts"
import { type DkimKeyUnusable, type DkimSigner, dkimSigner } from "./dkimSigner.ts"

export class SigningKeys extends Context.Service<
  SigningKeys,
  {
    /** Undefined where the account has not verified the domain. */
    readonly signerOf: (
      account: Account,
      domain: string
    ) => Effect.Effect<DkimSigner | undefined, SqlError.SqlError | DkimKeyUnusable>
  }
>()("sluice/send/SigningKeys") {
  static readonly layer = (
    keys: Redacted.Redacted<SecretsKeys>
  ): Layer.Layer<SigningKeys, never, SqlClient.SqlClient> => Layer.effect(SigningKeys, make(Redacted.value(keys)))
}

const make = Effect.fnUntraced(function* (keys: SecretsKeys) {
  const rows = yield* domainRows
  const open = Effect.fnUntraced(function* (name: string) {
    const [organizationId = "", mode = "", domain = ""] = name.split("\n")
    const row = yield* rows.signing({ organizationId, mode: mode as Account["mode"] }, domain)
    if (row === undefined) return undefined
    const pem = unseal(keys, row, aboutDkimKey(row.id))
    // The start has checked that every key opens.
    if (pem === undefined) return yield* Effect.die(new Error(`The key of the domain ${domain} does not open`))
    return yield* dkimSigner(domain, row.selector, pem)
  })
  const cache = yield* Cache.makeWith(open, {
    capacity: rememberedKeys,
    // A domain that is verified a moment later signs from its first mail on.
    timeToLive: (exit) => Duration.millis(Exit.isSuccess(exit) && exit.value !== undefined ? rememberedKeyMillis : 0)
  })
  return SigningKeys.of({
    signerOf: Effect.fn("SigningKeys.signerOf")(({ mode, organizationId }, domain) =>
      Cache.get(cache, `${organizationId}\n${mode}\n${domain}`)
    )
  })
})
