/**
 * Checks the records of domains at name servers, and lets the verified ones send. SPF and DMARC are checked too, and
 * change nothing about that. The `SendSender` of a domain decides
 * whether it is verified; the row follows. A supervised fiber on every node checks the domains that are due; a lease
 * gives each to one of them. Needs `SqlClient`, and the engine when a domain is verified.
 */
import { Cause, Clock, Context, Duration, Effect, Layer, Option } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { type Bulkhead, makeBulkhead } from "../../../common/Bulkhead.ts"
import { type AskNameServers, makeNameServers, type NameAnswer } from "../../../common/nameServers.ts"
import { superviseLoop } from "../../../common/superviseLoop.ts"
import type { AskError } from "../../../engine/errors.ts"
import { type EngineNotStarted, EngineOnDemand } from "../../../platform/EngineOnDemand.ts"
import { type SenderRejection, SendSender, senderKey, senderName } from "../../account/actors/index.ts"
import { checkAuthentication, type MailRoute } from "../authentication/checkAuthentication.ts"
import { advisedSpf } from "../authentication/relaySpf.ts"
import { afterCheck, type CheckResult } from "./checkResult.ts"
import {
  dkimName,
  hasDkim,
  hasOwnership,
  type NeededRecords,
  ownershipName,
  type Seen,
  type TextRecord
} from "./dnsRecords.ts"
import { type NextKey, type NextKeyRows, nextKeyRows } from "./domainKeys.ts"
import {
  checkMillis,
  checkPollMillis,
  checkRetryMillis,
  checksAtOnce,
  checksOfOrganization,
  nextKeyCheckMillis,
  recheckMillis
} from "./limits.ts"
import type { Account, Domain, Proof } from "./model.ts"
import { type DomainRows, domainRows } from "./rows.ts"

/** The errors of a check without an outcome. `TooManySenders` is the one rejection of a verification. */
export type CheckError = SenderRejection | AskError | EngineNotStarted | SqlError.SqlError

export interface DomainChecksOptions extends MailRoute {
  /** Name servers as `address:port`; default: those of the system. */
  readonly nameServers?: ReadonlyArray<string> | undefined
}

export class DomainChecks extends Context.Service<
  DomainChecks,
  {
    /**
     * Looks now, and answers the domain after it; undefined where it was deleted meanwhile. A test domain is verified
     * without a look. SPF and DMARC are checked if it is verified then, or `isAsked`: somebody waits for the answer.
     */
    readonly check: (
      domain: Domain,
      options?: { readonly isAsked: boolean }
    ) => Effect.Effect<Domain | undefined, CheckError>
    /** Verifies it on an operator's word. */
    readonly vouch: (domain: Domain) => Effect.Effect<Domain | undefined, CheckError>
    /**
     * The texts that name servers have at these names now, in order; null where none answers. Changes nothing. A test
     * domain's names are not looked at.
     */
    readonly seen: (domain: Domain, names: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<SeenTexts>>
    /** The SPF record to set where a domain has none. */
    readonly advisedSpf: string
    readonly find: (account: Account, name: string) => Effect.Effect<Domain | undefined, SqlError.SqlError>
    /**
     * One round: all domains whose time has come, and how many there were. One that fails is left to the next round.
     */
    readonly round: Effect.Effect<number, SqlError.SqlError>
  }
>()("sluice/send/DomainChecks") {
  static readonly layer = (
    options: DomainChecksOptions = {}
  ): Layer.Layer<DomainChecks, never, SqlClient.SqlClient | EngineOnDemand> =>
    Layer.effect(
      DomainChecks,
      Effect.gen(function* () {
        const nameServers = makeNameServers(options.nameServers)
        return make(yield* domainRows, yield* nextKeyRows, yield* EngineOnDemand, nameServers, options)
      })
    )

  /** The fiber that makes rounds. */
  static readonly layerRounds: Layer.Layer<never, never, DomainChecks> = Layer.effectDiscard(
    Effect.gen(function* () {
      const { round } = yield* DomainChecks
      const once = Effect.andThen(round, Effect.sleep(Duration.millis(checkPollMillis)))
      yield* Effect.forkScoped(
        superviseLoop(once, { failed: "Records of domains could not be looked for", retryMillis: checkRetryMillis })
      )
    })
  )
}

/** The records of a name; null if no server answers. */
export type SeenTexts = ReadonlyArray<string> | null

/** Most texts of a name that are shown, and characters of each. */
const shownTexts = 10
const shownCharacters = 1_000

/** Asks for whatever stands at the names. */
const textsAt = (askServers: AskNameServers, names: ReadonlyArray<string>): Effect.Effect<ReadonlyArray<SeenTexts>> =>
  askServers((resolver) =>
    names.map((name) =>
      resolver
        .resolveTxt(name)
        .then((found: ReadonlyArray<TextRecord>) =>
          found.slice(0, shownTexts).map((strings) => strings.join("").slice(0, shownCharacters))
        )
    )
  ).pipe(
    Effect.timeoutOption(Duration.millis(checkMillis)),
    Effect.map((answers) =>
      names.map((_, at) => {
        const answer = Option.isSome(answers) ? answers.value[at] : undefined
        if (answer === undefined || answer._tag === "Unknown") return null
        return answer._tag === "Found" ? answer.value : []
      })
    )
  )

const seenOf = (answer: NameAnswer<boolean> | undefined): Seen => {
  if (answer === undefined || answer._tag === "Unknown") return "unknown"
  return answer._tag === "Found" && answer.value ? "found" : "missing"
}

/** Asks for both records concurrently. */
const look = (askServers: AskNameServers, domain: Domain): Effect.Effect<NeededRecords<Seen>> =>
  askServers((resolver) => [
    resolver.resolveTxt(ownershipName(domain)).then((found: ReadonlyArray<TextRecord>) => hasOwnership(domain, found)),
    resolver.resolveTxt(dkimName(domain)).then((found: ReadonlyArray<TextRecord>) => hasDkim(domain, found))
  ]).pipe(
    Effect.timeoutOption(Duration.millis(checkMillis)),
    Effect.map((answers) => {
      const [ownership, dkim] = Option.getOrElse(answers, (): ReadonlyArray<NameAnswer<boolean>> => [])
      return { ownership: seenOf(ownership), dkim: seenOf(dkim) }
    })
  )

/** Whether the record of another key is there. */
const lookForKey = (askServers: AskNameServers, { name }: Domain, key: NextKey): Effect.Effect<boolean> =>
  askServers((resolver) => [
    resolver
      .resolveTxt(dkimName({ name, selector: key.selector }))
      .then((found: ReadonlyArray<TextRecord>) => hasDkim(key, found))
  ]).pipe(
    Effect.timeoutOption(Duration.millis(checkMillis)),
    Effect.map((answers) => Option.isSome(answers) && seenOf(answers.value[0]) === "found")
  )

const target = ({ mode, name, organizationId }: Domain) => ({
  organization: organizationId,
  key: senderKey(mode, senderName(name))
})

/** Checks SPF and DMARC, whose repair nothing waits for. */
const authenticator = (rows: DomainRows, inPlace: Bulkhead, askServers: AskNameServers, route: MailRoute) =>
  Effect.fnUntraced(function* (domain: Domain | undefined, isAsked: boolean) {
    if (domain === undefined || domain.mode === "test" || !(isAsked || domain.stage === "verified")) return domain
    const subject = { domain: domain.name, isSigned: domain.records.dkim === "verified" }
    const verdicts = yield* inPlace(domain.organizationId, checkAuthentication(askServers, subject, route))
    return yield* rows.authenticated(domain.id, { checkedAt: yield* Clock.currentTimeMillis, verdicts })
  })

/** Checks all domains whose time has come. */
const roundOf = (rows: DomainRows, check: DomainChecks["Service"]["check"]): DomainChecks["Service"]["round"] =>
  Effect.gen(function* () {
    const due = yield* rows.due(yield* Clock.currentTimeMillis)
    yield* Effect.forEach(
      due,
      (domain) =>
        Effect.catchCause(check(domain), (cause) =>
          Cause.hasInterruptsOnly(cause)
            ? Effect.failCause(cause as Cause.Cause<never>)
            : Effect.logWarning(`The records of the domain ${domain.name} could not be looked for`, cause)
        ),
      { concurrency: checksAtOnce, discard: true }
    )
    return due.length
  })

const make = (
  rows: DomainRows,
  nextKeys: NextKeyRows,
  started: EngineOnDemand["Service"],
  askServers: AskNameServers,
  route: MailRoute
): DomainChecks["Service"] => {
  const inPlace = makeBulkhead({ total: checksAtOnce, ofOrganization: checksOfOrganization })
  const authenticate = authenticator(rows, inPlace, askServers, route)

  const verify = Effect.fnUntraced(function* (domain: Domain, proof: Proof, checked: CheckResult) {
    const engine = yield* started
    const now = yield* Clock.currentTimeMillis
    yield* engine.ask(SendSender, target(domain), { _tag: "Verify" })
    const after = yield* rows.verified(domain.id, proof, checked, now)
    // A deletion removes the sender before the row, and a verification in between would outlive both.
    if (after === undefined && (yield* rows.byName(domain, domain.name)) === undefined)
      yield* Effect.ignore(engine.ask(SendSender, target(domain), { _tag: "Remove" }))
    return after
  })

  /** A verification without a look at records. */
  const without = (domain: Domain, proof: Proof) => {
    const { checkedAt, records } = domain
    return verify(domain, proof, { stage: "verified", records, checkedAt, checkAt: null, checks: 0 })
  }

  /** Signs with the next key from now on, where its record is there, or where no records are looked for. */
  const adoptNext = Effect.fnUntraced(function* (domain: Domain | undefined) {
    const next = domain?.stage === "verified" ? yield* nextKeys.find(domain.id) : undefined
    if (domain === undefined || next === undefined) return domain
    const isThere =
      domain.proof !== "dns" || (yield* inPlace(domain.organizationId, lookForKey(askServers, domain, next)))
    if (isThere) yield* nextKeys.adopt(domain.id)
    else yield* nextKeys.lookAgain(domain.id, (yield* Clock.currentTimeMillis) + nextKeyCheckMillis)
    return yield* rows.byId(domain, domain.id)
  })

  const checkRecords = Effect.fnUntraced(function* (domain: Domain) {
    if (domain.mode === "test") return yield* without(domain, "test")
    const seen = yield* inPlace(domain.organizationId, look(askServers, domain))
    const now = yield* Clock.currentTimeMillis
    const checked = afterCheck(domain, seen, now)
    if (checked.stage !== "verified" || domain.stage === "verified") return yield* rows.checked(domain.id, checked)
    return yield* Effect.catchTag(verify(domain, "dns", checked), "TooManySenders", (rejection) =>
      // The account may have room tomorrow.
      Effect.andThen(
        rows.checked(domain.id, { ...checked, stage: "pending", checkAt: now + recheckMillis }),
        Effect.fail(rejection)
      )
    )
  })

  const check = Effect.fn("DomainChecks.check")((domain: Domain, { isAsked } = { isAsked: false }) =>
    checkRecords(domain).pipe(
      Effect.flatMap(adoptNext),
      Effect.flatMap((after) => authenticate(after, isAsked))
    )
  )

  return DomainChecks.of({
    check,
    vouch: Effect.fn("DomainChecks.vouch")((domain) => without(domain, "unchecked")),
    seen: Effect.fn("DomainChecks.seen")((domain, names) =>
      domain.mode === "test"
        ? Effect.succeed(names.map(() => null))
        : inPlace(domain.organizationId, textsAt(askServers, names))
    ),
    advisedSpf: advisedSpf(route.relaySpf),
    find: Effect.fn("DomainChecks.find")((account, name) => rows.byName(account, name)),
    round: roundOf(rows, check)
  })
}
