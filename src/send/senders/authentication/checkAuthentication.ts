/**
 * Checks SPF and DMARC of a domain at name servers: asks, judges, and asks for what the answers refer to, within a
 * deadline (docs/platform.md, 9.13).
 */
import type { Resolver } from "node:dns/promises"
import { Duration, Effect } from "effect"
import type { AskNameServers, NameAnswer } from "../../../common/nameServers.ts"
import type { AuthenticationVerdict } from "./authenticationVerdict.ts"
import { type DmarcSubject, dmarcVerdict } from "./dmarcVerdict.ts"
import { type DnsAnswer, type DnsAnswers, type DnsQuestion, questionKey } from "./dnsAnswers.ts"
import { authenticationMillis } from "./limits.ts"
import type { RelaySpf } from "./relaySpf.ts"
import { spfVerdict } from "./spfVerdict.ts"

/** The way of mail that leaves the platform. */
export interface MailRoute {
  /** The domain of return paths; undefined if the address of `From` is the return path. */
  readonly returnPath?: string | undefined
  /** The terms of SPF records that allow the relay. */
  readonly relaySpf?: RelaySpf | undefined
}

/** The verdicts as far as the answers go, and what must still be asked. Pure. */
export const judgeAuthentication = (
  { domain, isSigned }: Pick<DmarcSubject, "domain" | "isSigned">,
  { relaySpf: relay, returnPath = domain }: MailRoute,
  answers: DnsAnswers
): { readonly needs: ReadonlyArray<DnsQuestion>; readonly verdicts: ReadonlyArray<AuthenticationVerdict> } => {
  const own = spfVerdict({ name: domain, relay, owner: "domain", returnPath }, answers)
  const operators =
    returnPath === domain ? [] : [spfVerdict({ name: returnPath, relay, owner: "operator", returnPath }, answers)]
  const dmarc = dmarcVerdict({ domain, isSigned, returnPath }, answers)
  return {
    needs: [own, ...operators].flatMap(({ walk }) => walk.needs).concat(dmarc.needs),
    verdicts: [own, ...operators, dmarc].map(({ verdict }) => verdict)
  }
}

const asked = (resolver: Resolver, { name, type }: DnsQuestion): ReadonlyArray<Promise<ReadonlyArray<string>>> => {
  switch (type) {
    case "texts":
      return [resolver.resolveTxt(name).then((records) => records.map((strings) => strings.join("")))]
    case "mailHosts":
      return [resolver.resolveMx(name).then((hosts) => hosts.map(({ exchange }) => exchange))]
    case "addresses":
      return [resolver.resolve4(name), resolver.resolve6(name)]
  }
}

/** Both families are one look-up. */
const joined = (answers: ReadonlyArray<NameAnswer<ReadonlyArray<string>>>): DnsAnswer => {
  const value = answers.flatMap((answer) => (answer._tag === "Found" ? answer.value : []))
  if (value.length > 0) return { _tag: "Found", value }
  return { _tag: answers.some(({ _tag }) => _tag === "Unknown") ? "Unknown" : "None" }
}

/** Checks a domain; what was not answered in time is `unknown`. */
export const checkAuthentication = Effect.fn("checkAuthentication")(function* (
  askServers: AskNameServers,
  domain: Pick<DmarcSubject, "domain" | "isSigned">,
  route: MailRoute
) {
  const answers = new Map<string, DnsAnswer>()
  const judge = () => judgeAuthentication(domain, route, (question) => answers.get(questionKey(question)))
  const asking = Effect.gen(function* () {
    // Each round answers every need, and there are at most eleven questions about a record, so it ends.
    for (let { needs } = judge(); needs.length > 0; { needs } = judge()) {
      const counts: Array<number> = []
      const all = yield* askServers((resolver) =>
        needs.flatMap((question) => {
          const promises = asked(resolver, question)
          counts.push(promises.length)
          return promises
        })
      )
      let from = 0
      for (const [at, question] of needs.entries()) {
        answers.set(questionKey(question), joined(all.slice(from, from + counts[at]!)))
        from += counts[at]!
      }
    }
  })
  yield* Effect.timeoutOption(asking, Duration.millis(authenticationMillis))
  return judge().verdicts
})
