/**
 * Manages the domains of an account that are to become senders (docs/platform.md, 9.13): adds them with a token and a
 * DKIM key of their own, has them verified by DNS, removes them. A domain with a signal of higher risk raises its
 * account's risk. Needs `SqlClient`, `Engine`, `Organizations`, `RiskSignals` and `DomainChecks`.
 */
import { Clock, Context, Effect, Layer, Redacted } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { makeBulkhead } from "../../../common/Bulkhead.ts"
import { type SecretsKeys, seal, unseal } from "../../../common/secretsKeys.ts"
import { Engine } from "../../../engine/Engine.ts"
import type { AskError } from "../../../engine/errors.ts"
import type { IdempotencyConflict, IdempotentRequest } from "../../../http/idempotency.ts"
import { Organizations } from "../../../platform/Organizations.ts"
import { type SenderRejection, SendSender, senderKey, senderName } from "../../account/actors/index.ts"
import type { Tier } from "../../limits.ts"
import { RiskSignals } from "../risk/index.ts"
import { makeAddDomain, type NewDomain, newSelector } from "./addDomain.ts"
import { DomainChecks } from "./DomainChecks.ts"
import {
  aboutDkimKey,
  type DomainKeysClosed,
  makeDkimKey,
  type NextKey,
  nextKeyRows,
  requireDomainKeys
} from "./domainKeys.ts"
import {
  DomainConflict,
  type DomainError,
  type DomainInvalid,
  DomainNotFound,
  isSenderRejection,
  verificationRefused
} from "./errors.ts"
import { firstCheckMillis, keysAtOnce, keysOfOrganization } from "./limits.ts"
import { listedTiers } from "./listedTiers.ts"
import type { Account, Domain } from "./model.ts"
import { domainRows } from "./rows.ts"
import { type SenderProgress, senderProgressOf } from "./senderProgress.ts"

/** A domain, and where it stands as a sender. */
export interface DomainView extends SenderProgress {
  readonly domain: Domain
  /** The key that waits for its record. */
  readonly nextKey: NextKey | undefined
}

/** With what a mailer signs. */
export interface SigningKey {
  readonly domain: string
  readonly selector: string
  /** PKCS #8 in PEM. */
  readonly privateKey: Redacted.Redacted<string>
}

export class Domains extends Context.Service<
  Domains,
  {
    /** Adds a domain. A repeat with the same idempotency key answers the first one as it is now. */
    readonly create: (
      account: Account,
      domain: NewDomain,
      request?: IdempotentRequest
    ) => Effect.Effect<
      { readonly view: DomainView; readonly isReplayed: boolean },
      DomainInvalid | DomainConflict | IdempotencyConflict | DomainError
    >
    /** Newest first, or oldest first behind `beyond` where that asks for newer ones. */
    readonly page: (
      account: Account,
      beyond: { readonly at: number; readonly id: string; readonly isNewer: boolean } | undefined,
      limit: number
    ) => Effect.Effect<ReadonlyArray<Domain>, SqlError.SqlError>
    /** The tier of each, in order; null of one whose owner cannot be reached now. */
    readonly tiers: (domains: ReadonlyArray<Domain>) => Effect.Effect<ReadonlyArray<Tier | null>>
    readonly find: (account: Account, id: string) => Effect.Effect<Domain, DomainNotFound | SqlError.SqlError>
    readonly get: (
      account: Account,
      id: string
    ) => Effect.Effect<DomainView, DomainNotFound | AskError | SqlError.SqlError>
    /** Looks for its records now, and for as long as for a new one from now on. */
    readonly verify: (
      account: Account,
      id: string
    ) => Effect.Effect<Domain, DomainNotFound | DomainConflict | DomainError>
    /**
     * Makes the key that the domain is to sign with as soon as its record is there; one that waits already stays.
     * `DomainConflict` before it is verified.
     */
    readonly rotateKey: (
      account: Account,
      id: string
    ) => Effect.Effect<DomainView, DomainNotFound | DomainConflict | AskError | SqlError.SqlError>
    /** `DomainConflict` while mail of it waits. */
    readonly remove: (
      account: Account,
      id: string
    ) => Effect.Effect<void, DomainNotFound | DomainConflict | AskError | SqlError.SqlError>
    /** With what mail of a domain is signed; undefined where the account has not verified it. */
    readonly signingKey: (account: Account, name: string) => Effect.Effect<SigningKey | undefined, SqlError.SqlError>
    /**
     * Adds a domain that counts as verified, whatever its records: the demo organization's. Nothing happens where the
     * account has it.
     */
    readonly vouchFor: (
      account: Account,
      name: string
    ) => Effect.Effect<void, DomainInvalid | DomainConflict | DomainError>
  }
>()("sluice/send/Domains") {
  static readonly layer = (
    keys: Redacted.Redacted<SecretsKeys>
  ): Layer.Layer<
    Domains,
    DomainKeysClosed | SqlError.SqlError,
    SqlClient.SqlClient | Engine | Organizations | RiskSignals | DomainChecks
  > => Layer.effect(Domains, Effect.andThen(requireDomainKeys(Redacted.value(keys)), make(Redacted.value(keys))))
}

const targetOf = ({ mode, name, organizationId }: Domain) => ({
  organization: organizationId,
  key: senderKey(mode, senderName(name))
})

/** The reason why a sender cannot be removed; one that was never verified can. */
const removalRefused = ({ name }: Domain, rejection: SenderRejection): Effect.Effect<void, DomainConflict> => {
  switch (rejection._tag) {
    case "NotVerified":
      return Effect.void
    case "HasWaitingMail": {
      const { held, scheduled } = rejection
      const message = `Mail of ${name} waits: ${held} held, ${scheduled} scheduled. Cancel it first, or wait until it is sent.`
      return Effect.fail(new DomainConflict({ message }))
    }
    default:
      return Effect.die(rejection)
  }
}

const make = Effect.fnUntraced(function* (keys: SecretsKeys) {
  const rows = yield* domainRows
  const nextKeys = yield* nextKeyRows
  const inPlace = makeBulkhead({ total: keysAtOnce, ofOrganization: keysOfOrganization })
  const engine = yield* Engine
  const organizations = yield* Organizations
  const risks = yield* RiskSignals
  const checks = yield* DomainChecks
  const { add, vouchFor } = makeAddDomain({ keys, rows, engine, organizations, risks, checks })

  const viewOf = Effect.fnUntraced(function* (domain: Domain) {
    const state = yield* engine.state(SendSender, targetOf(domain))
    const nextKey = yield* nextKeys.find(domain.id)
    return { domain, nextKey, ...senderProgressOf(state, yield* Clock.currentTimeMillis) }
  })

  const find = Effect.fnUntraced(function* (account: Account, id: string) {
    return (yield* rows.byId(account, id)) ?? (yield* new DomainNotFound({ id }))
  })

  const remove = Effect.fn("Domains.remove")(function* (account: Account, id: string) {
    for (;;) {
      const domain = yield* find(account, id)
      yield* Effect.catchIf(
        engine.ask(SendSender, targetOf(domain), { _tag: "Remove" }),
        isSenderRejection,
        (rejection) => removalRefused(domain, rejection)
      )
      // A check may have verified it in between; then it is removed once more.
      if (yield* rows.remove(domain)) return
    }
  })

  const rotateKey = Effect.fn("Domains.rotateKey")(function* (account: Account, id: string) {
    const domain = yield* find(account, id)
    if (domain.stage !== "verified")
      return yield* new DomainConflict({
        message: `The domain ${domain.name} is not verified: its key is in no use yet.`
      })
    if ((yield* nextKeys.find(id)) === undefined) {
      const key = yield* inPlace(account.organizationId, makeDkimKey)
      const now = yield* Clock.currentTimeMillis
      const next = { selector: newSelector(), publicKey: key.publicKey }
      const times = { now, checkAt: now + firstCheckMillis }
      yield* nextKeys.put(id, next, seal(keys, key.privateKey, aboutDkimKey(id)), times)
      // Nobody looks for records of such a domain.
      if (domain.proof !== "dns") yield* nextKeys.adopt(id)
    }
    return yield* viewOf(yield* find(account, id))
  })

  return Domains.of({
    rotateKey,
    create: Effect.fn("Domains.create")(function* (account, given, request) {
      const { domain, isReplayed } = yield* add(account, given, request)
      return { view: yield* viewOf(domain), isReplayed }
    }),
    page: Effect.fn("Domains.page")(rows.page),
    tiers: Effect.fn("Domains.tiers")((domains) => listedTiers(engine, domains.map(targetOf))),
    find: Effect.fn("Domains.find")(find),
    get: Effect.fn("Domains.get")((account, id) => Effect.flatMap(find(account, id), viewOf)),
    verify: Effect.fn("Domains.verify")(function* (account, id) {
      const domain = yield* rows.begin(account, id, yield* Clock.currentTimeMillis)
      if (domain === undefined) return yield* new DomainNotFound({ id })
      const checked = yield* Effect.catchIf(
        checks.check(domain, { isAsked: true }),
        isSenderRejection,
        verificationRefused
      )
      return checked ?? (yield* new DomainNotFound({ id }))
    }),
    remove,
    signingKey: Effect.fn("Domains.signingKey")(function* (account, name) {
      const row = yield* rows.signing(account, name)
      if (row === undefined) return undefined
      const privateKey = unseal(keys, row, aboutDkimKey(row.id))
      // The start has checked that every key opens.
      if (privateKey === undefined) return yield* Effect.die(new Error(`The key of the domain ${name} does not open`))
      return { domain: name, selector: row.selector, privateKey: Redacted.make(privateKey) }
    }),
    vouchFor: Effect.fn("Domains.vouchFor")(vouchFor)
  })
})
