/** Exports the signals of a higher risk (docs/platform.md, 9.8). */
export { hasBrandWord, hasMixedScripts, hasRiskyTopLevelDomain, riskyTopLevelDomains } from "../../rules/riskyDomain.ts"
export { sameDomainMillis, sameDomainOrganizations } from "./limits.ts"
export type { MailHosts } from "./mailHosts.ts"
export {
  type DomainSignal,
  domainSignals,
  RiskSignals,
  type RiskSignalsOptions,
  riskOf,
  type SignUp,
  type SignUpSignal,
  signUpSignals
} from "./RiskSignals.ts"
