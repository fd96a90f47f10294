/**
 * Adds a domain: raises the account's risk for signals of a higher one, makes a token and a key, and verifies a test
 * domain immediately (docs/platform.md, 9.13).
 */
import { Clock, Effect } from "effect"
import { makeBulkhead } from "../../../common/Bulkhead.ts"
import { randomText } from "../../../common/identifiers.ts"
import { type SecretsKeys, seal } from "../../../common/secretsKeys.ts"
import type { Engine } from "../../../engine/Engine.ts"
import { type IdempotentRequest, replayOf } from "../../../http/idempotency.ts"
import type { Organizations } from "../../../platform/Organizations.ts"
import { isAccountRejection, SendAccount } from "../../account/actors/index.ts"
import { maximumSenders } from "../../limits.ts"
import { type RiskSignals, riskOf } from "../risk/index.ts"
import type { DomainChecks } from "./DomainChecks.ts"
import { aboutDkimKey, makeDkimKey } from "./domainKeys.ts"
import { DomainConflict, DomainInvalid, isSenderRejection, tooMany, verificationRefused } from "./errors.ts"
import { firstCheckMillis, keysAtOnce, keysOfOrganization } from "./limits.ts"
import type { Account, Domain } from "./model.ts"
import { normalizedDomain } from "./normalizedDomain.ts"
import type { DomainRows } from "./rows.ts"

/** The services that adding a domain needs. */
export interface AddDomainOptions {
  readonly keys: SecretsKeys
  readonly rows: DomainRows
  readonly engine: Engine["Service"]
  readonly organizations: Organizations["Service"]
  readonly risks: RiskSignals["Service"]
  readonly checks: DomainChecks["Service"]
}

export interface NewDomain {
  readonly name: string
  readonly region: string | null
}

/** The name under which a key is found. */
export const newSelector = (): string => `sluice-${randomText(10).toLowerCase()}`

const newDomain = (account: Account, name: string, region: string | null, publicKey: string, now: number): Domain => ({
  ...account,
  id: `dom_${randomText()}`,
  name,
  region,
  token: randomText(),
  selector: newSelector(),
  publicKey,
  stage: "pending",
  proof: null,
  records: { ownership: "pending", dkim: "pending" },
  authentication: null,
  createdAt: now,
  verifiedAt: null,
  checkedAt: null,
  checkAt: now + firstCheckMillis,
  checks: 0,
  checksSince: now
})

/** A test domain proves nothing, so it speaks for no risk either. */
const judge = Effect.fnUntraced(function* (
  { engine, organizations, risks }: AddDomainOptions,
  { mode, organizationId }: Account,
  name: string
) {
  if (mode === "test" || riskOf(yield* risks.ofDomain(name, organizationId)) === "standard") return
  const { risk } = yield* organizations.get(organizationId)
  const account = { organization: organizationId, key: mode }
  // Neither is rejected. Any other first command would begin the account with the standard risk.
  yield* Effect.catchIf(engine.ask(SendAccount, account, { _tag: "Begin", risk }), isAccountRejection, Effect.die)
  const higher = { _tag: "SetRisk", risk: "higher" } as const
  yield* Effect.catchIf(engine.ask(SendAccount, account, higher), isAccountRejection, Effect.die)
})

/** Makes what adds domains. */
export const makeAddDomain = (parts: AddDomainOptions) => {
  const { checks, keys, rows } = parts
  const inPlace = makeBulkhead({ total: keysAtOnce, ofOrganization: keysOfOrganization })

  /** Undefined where another request was faster. */
  const store = Effect.fnUntraced(function* (
    account: Account,
    name: string,
    region: string | null,
    request?: IdempotentRequest
  ) {
    const key = yield* inPlace(account.organizationId, makeDkimKey)
    const now = yield* Clock.currentTimeMillis
    if (request !== undefined) yield* rows.forgetKeys(account, now)
    const domain = newDomain(account, name, region, key.publicKey, now)
    return yield* rows.insert(domain, seal(keys, key.privateKey, aboutDkimKey(domain.id)), request)
  })

  /** The domain that an earlier request with the same key has made, as it is now. */
  const earlierOf = Effect.fnUntraced(function* (account: Account, request: IdempotentRequest | undefined) {
    if (request === undefined) return undefined
    const earlier = yield* rows.byKey(account, request.key, yield* Clock.currentTimeMillis)
    if (earlier === undefined) return undefined
    const { domain } = yield* replayOf(request, earlier, earlier.digest)
    return { domain, isReplayed: true }
  })

  const add = Effect.fnUntraced(function* (account: Account, given: NewDomain, request?: IdempotentRequest) {
    const name = normalizedDomain(given.name)
    if (name === undefined) return yield* new DomainInvalid({ given: given.name })
    const earlier = yield* earlierOf(account, request)
    if (earlier !== undefined) return earlier
    const there = new DomainConflict({ message: `The domain ${name} is there already.` })
    if ((yield* rows.byName(account, name)) !== undefined) return yield* there
    if ((yield* rows.count(account)) >= maximumSenders) return yield* tooMany
    yield* judge(parts, account, name)
    const made = yield* store(account, name, given.region, request)
    if (made === undefined) return (yield* earlierOf(account, request)) ?? (yield* there)
    if (account.mode !== "test") return { domain: made, isReplayed: false }
    const verified = yield* Effect.catchIf(checks.check(made), isSenderRejection, (rejection) =>
      Effect.andThen(rows.remove(made), verificationRefused(rejection))
    )
    return { domain: verified ?? made, isReplayed: false }
  })

  const vouchFor = Effect.fnUntraced(function* (account: Account, given: string) {
    const name = normalizedDomain(given)
    if (name === undefined) return yield* new DomainInvalid({ given })
    const domain = (yield* rows.byName(account, name)) ?? (yield* store(account, name, null))
    if (domain !== undefined) yield* Effect.catchIf(checks.vouch(domain), isSenderRejection, verificationRefused)
  })

  return { add, vouchFor }
}
