/** Whether anybody takes mail for a domain: its MX records, or else its addresses. Needs no service; tests bring name servers of their own. */
import type { MxRecord } from "node:dns"
import { Duration, Effect, Option } from "effect"
import { type AskNameServers, makeNameServers } from "../../common/nameServers.ts"
import { makePlaces } from "../../common/places.ts"
import { mailHostLookups, mailHostLookupsOfOrganization, mailHostsMillis } from "./limits.ts"

/** `unknown`: no name server said so in time. */
export type MailHosts = "some" | "none" | "unknown"

/** Looks at the expense of an organization, so that another's dead names keep nobody waiting. */
export type FindMailHosts = (domain: string, organizationId: string) => Effect.Effect<MailHosts>

/** A record with an empty host says that nobody takes mail (RFC 7505). */
const namesHost = (records: ReadonlyArray<MxRecord>): boolean => records.some(({ exchange }) => exchange !== "")

const ask = (askServers: AskNameServers, domain: string): Effect.Effect<MailHosts> =>
  Effect.map(
    askServers((resolver) => [
      resolver.resolveMx(domain).then(namesHost),
      resolver.resolve4(domain).then((found) => found.length > 0),
      resolver.resolve6(domain).then((found) => found.length > 0)
    ]),
    (answers) => {
      if (answers.some((answer) => answer._tag === "Found" && answer.value)) return "some"
      return answers.some(({ _tag }) => _tag === "Unknown") ? "unknown" : "none"
    }
  )

/** `servers` as `address:port`; by default those of the system. */
export const makeFindMailHosts = (servers?: ReadonlyArray<string>): FindMailHosts => {
  const askServers = makeNameServers(servers)
  const inPlace = makePlaces({ total: mailHostLookups, ofOrganization: mailHostLookupsOfOrganization })
  return (domain, organizationId) =>
    inPlace(organizationId, ask(askServers, domain)).pipe(
      Effect.timeoutOption(Duration.millis(mailHostsMillis)),
      Effect.map(Option.getOrElse(() => "unknown" as const))
    )
}
