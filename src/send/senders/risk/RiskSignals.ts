/**
 * Defines `RiskSignals`: the signals of a higher risk at sign-up and when a domain is added (docs/platform.md, 9.8).
 * One signal is enough. `layer` asks name servers, with a deadline, and counts silence as no signal; `layerMemory`
 * knows the answers that it was given and needs nothing else.
 */
import { readFile } from "node:fs/promises"
import { promisify } from "node:util"
import { gunzip } from "node:zlib"
import { Context, Effect, Layer } from "effect"
import { getDomain } from "tldts"
import type { Risk } from "../../limits.ts"
import { domainOf } from "../../rules/domainKey.ts"
import { hasBrandWord, hasMixedScripts, hasRiskyTopLevelDomain } from "../../rules/riskyDomain.ts"
import { sameDomainOrganizations } from "./limits.ts"
import { type FindMailHosts, type MailHosts, makeFindMailHosts } from "./mailHosts.ts"

export interface Providers {
  readonly disposable: ReadonlySet<string>
  /** Domains of passing addresses. */
  readonly free: ReadonlySet<string>
}

const freeDomains = new URL("../../data/free-email-domains.json.gz", import.meta.url)

const read = async (): Promise<Providers> => {
  const [{ disposableEmailBlocklistSet }, packed] = await Promise.all([
    import("disposable-email-domains-js"),
    readFile(freeDomains)
  ])
  // The file is the package's own, and its digest is checked by a test.
  const free = JSON.parse((await promisify(gunzip)(packed)).toString("utf8")) as ReadonlyArray<string>
  return { disposable: disposableEmailBlocklistSet(), free: new Set(free) }
}

let known: Promise<Providers> | undefined

/** The lists; a failure to read them is a broken installation, and the next caller tries again. */
export const providers: Effect.Effect<Providers> = Effect.promise(() => {
  known ??= read().catch((error) => {
    known = undefined
    throw error
  })
  return known
})

/** Whether a list has a domain, or one above it that was registered. */
export const isListed = (list: ReadonlySet<string>, domain: string): boolean => {
  const registered = getDomain(domain, { extractHostname: false })
  for (let name = domain; ; name = name.slice(name.indexOf(".") + 1)) {
    if (list.has(name)) return true
    // Above a registered domain there is only a suffix that many registrants share.
    if (name === registered || !name.includes(".")) return false
  }
}

/** The signals of a higher risk at a sign-up, in the order in which they are named. See {@link RiskSignals}. */
export const signUpSignals = ["declared", "disposable_address", "free_address", "same_domain"] as const
/** A signal of a higher risk at a sign-up. See {@link RiskSignals}. */
export type SignUpSignal = (typeof signUpSignals)[number]

/** The signals of a higher risk of a domain, in the order in which they are named. See {@link RiskSignals}. */
export const domainSignals = ["top_level_domain", "mixed_scripts", "brand_word", "no_mail_host"] as const
/** A signal of a higher risk of a domain. See {@link RiskSignals}. */
export type DomainSignal = (typeof domainSignals)[number]

/**
 * One signal is enough.
 *
 * @example
 * ```ts
 * import { riskOf } from "sluice/send"
 *
 * console.log(riskOf([]), riskOf(["free_address"])) // standard higher
 * ```
 */
export const riskOf = (signals: ReadonlyArray<SignUpSignal | DomainSignal>): Risk =>
  signals.length > 0 ? "higher" : "standard"

/** A sign-up. See {@link RiskSignals}. */
export interface SignUp<E = never, R = never> {
  /** The contact's address; null where there is none, which is no signal. */
  readonly email: string | null
  /** The operator's judgement; `higher` is a signal. */
  readonly declared?: Risk | undefined
  /**
   * The number of organizations with an address of this domain, in lower case and punycode, were made in the last
   * `sameDomainMillis`, this one not counted.
   */
  readonly earlierOfDomain: (domain: string) => Effect.Effect<number, E, R>
}

/** Words that make a domain suspicious. See {@link RiskSignals}. */
export interface RiskSignalsOptions {
  /** Words that no domain has but a brand's own. Default none. */
  readonly brandWords?: ReadonlyArray<string> | undefined
}

/**
 * The signals of a higher risk of a sign-up or a domain.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { RiskSignals } from "sluice/send"
 *
 * const signals = Effect.flatMap(RiskSignals, ({ ofDomain }) => ofDomain("acme-login.top", "ann"))
 * const layer = RiskSignals.layerMemory({ brandWords: ["acme"] })
 * console.log(await Effect.runPromise(Effect.provide(signals, layer))) // [ 'top_level_domain', 'brand_word' ]
 * ```
 */
export class RiskSignals extends Context.Service<
  RiskSignals,
  {
    /** The signals of a sign-up, in the order of `signUpSignals`. */
    readonly ofSignUp: <E = never, R = never>(signUp: SignUp<E, R>) => Effect.Effect<ReadonlyArray<SignUpSignal>, E, R>
    /**
     * The signals of a domain that an organization adds, in the order of `domainSignals`. Takes some seconds where name
     * servers are silent.
     */
    readonly ofDomain: (domain: string, organizationId: string) => Effect.Effect<ReadonlyArray<DomainSignal>>
  }
>()("sluice/send/RiskSignals") {
  /** With the name servers of the system, or those given as `address:port`. */
  static readonly layer = (
    options: RiskSignalsOptions & { readonly nameServers?: ReadonlyArray<string> | undefined } = {}
  ): Layer.Layer<RiskSignals> => Layer.sync(RiskSignals, () => make(options, makeFindMailHosts(options.nameServers)))

  /**
   * Asks no name server: `mailHosts` says of each domain whether a host takes its mail; of other domains it is unknown.
   */
  static readonly layerMemory = (
    options: RiskSignalsOptions & { readonly mailHosts?: ReadonlyMap<string, MailHosts> | undefined } = {}
  ): Layer.Layer<RiskSignals> =>
    Layer.sync(RiskSignals, () =>
      make(options, (domain) => Effect.succeed(options.mailHosts?.get(domain) ?? "unknown"))
    )
}

const make = ({ brandWords = [] }: RiskSignalsOptions, findMailHosts: FindMailHosts): RiskSignals["Service"] => ({
  ofSignUp: Effect.fn("RiskSignals.ofSignUp")(function* ({ declared, earlierOfDomain, email }) {
    const signals: Array<SignUpSignal> = declared === "higher" ? ["declared"] : []
    if (email === null) return signals
    const domain = domainOf(email)
    const { disposable, free } = yield* providers
    if (isListed(disposable, domain)) signals.push("disposable_address")
    else if (isListed(free, domain)) signals.push("free_address")
    if ((yield* earlierOfDomain(domain)) + 1 >= sameDomainOrganizations) signals.push("same_domain")
    return signals
  }),
  ofDomain: Effect.fn("RiskSignals.ofDomain")(function* (given, organizationId) {
    const domain = domainOf(given)
    const signals: Array<DomainSignal> = []
    if (hasRiskyTopLevelDomain(domain)) signals.push("top_level_domain")
    if (hasMixedScripts(domain)) signals.push("mixed_scripts")
    if (hasBrandWord(domain, brandWords)) signals.push("brand_word")
    if ((yield* findMailHosts(domain, organizationId)) === "none") signals.push("no_mail_host")
    return signals
  })
})
