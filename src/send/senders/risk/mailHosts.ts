/**
 * Looks up whether a domain has a host that takes mail: its MX records, or else its addresses. Needs no service; tests
 * bring name servers of their own.
 */
import type { MxRecord } from "node:dns"
import { Duration, Effect, Option } from "effect"
import { makeBulkhead } from "../../../common/Bulkhead.ts"
import { type AskNameServers, makeNameServers } from "../../../common/nameServers.ts"
import { mailHostLookups, mailHostLookupsOfOrganization, mailHostsMillis } from "./limits.ts"

/**
 * `none`: name servers said of every kind of record that there is none. `unknown`: none that knows the outside world
 * said anything in time. See {@link RiskSignals}.
 */
export type MailHosts = "some" | "none" | "unknown"

/** Looks at the expense of an organization, so that another's dead names delay no one else. */
export type FindMailHosts = (domain: string, organizationId: string) => Effect.Effect<MailHosts>

/** A record with an empty host says that no host takes mail (RFC 7505). */
const namesHost = (records: ReadonlyArray<MxRecord>): boolean => records.some(({ exchange }) => exchange !== "")

/**
 * Whether the name servers know the domain's top-level domain. Resolvers of closed networks deny every name of the
 * world outside, and one that denies `org` says nothing about `example.org`.
 */
const knowTopLevelDomain = (askServers: AskNameServers, domain: string): Effect.Effect<boolean> =>
  Effect.map(
    askServers((resolver) => [resolver.resolveNs(domain.slice(domain.lastIndexOf(".") + 1))]),
    ([answer]) => answer?._tag === "Found" && answer.value.length > 0
  )

const ask = Effect.fnUntraced(function* (askServers: AskNameServers, domain: string) {
  const answers = yield* askServers((resolver) => [
    resolver.resolveMx(domain).then(namesHost),
    resolver.resolve4(domain).then((found) => found.length > 0),
    resolver.resolve6(domain).then((found) => found.length > 0)
  ])
  if (answers.some((answer) => answer._tag === "Found" && answer.value)) return "some" as const
  if (answers.some(({ _tag }) => _tag === "Unknown")) return "unknown" as const
  return (yield* knowTopLevelDomain(askServers, domain)) ? ("none" as const) : ("unknown" as const)
})

/** `servers` as `address:port`; by default those of the system. */
export const makeFindMailHosts = (servers?: ReadonlyArray<string>): FindMailHosts => {
  const askServers = makeNameServers(servers)
  const inPlace = makeBulkhead({ total: mailHostLookups, ofOrganization: mailHostLookupsOfOrganization })
  return (domain, organizationId) =>
    inPlace(organizationId, ask(askServers, domain)).pipe(
      Effect.timeoutOption(Duration.millis(mailHostsMillis)),
      Effect.map(Option.getOrElse(() => "unknown" as const))
    )
}
