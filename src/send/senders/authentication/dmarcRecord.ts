/** Parses DMARC records strictly (RFC 7489, 6.3 and 6.4). Pure. */
import { Result } from "effect"
import { recordCharacters } from "./limits.ts"
import { quoted } from "./spfRecord.ts"

export const dmarcPolicies = ["none", "quarantine", "reject"] as const
export type DmarcPolicy = (typeof dmarcPolicies)[number]

export interface DmarcRecord {
  readonly policy: DmarcPolicy
  /** The policy of subdomains. */
  readonly subdomains: DmarcPolicy
  /** Whether the domain of SPF must be exactly that of `From`. */
  readonly isSpfStrict: boolean
}

/** Whether a text is meant as a DMARC record, also one with a fault. */
export const isDmarc = (text: string): boolean => /^\s{0,20}v\s{0,20}=\s{0,20}dmarc1/i.test(text)

const policyOf = (value: string | undefined): DmarcPolicy | undefined =>
  dmarcPolicies.find((one) => one === value?.toLowerCase())

/** Addresses for reports, each with a size or without (RFC 7489, 6.2). */
const isAddresses = (value: string): boolean =>
  value.split(",").every((one) => {
    const uri = one.trim()
    if (!/^[a-z][a-z0-9+.-]*:[^\s,;!]+(![0-9]+[kmgt]?)?$/i.test(uri)) return false
    return !/^mailto:/i.test(uri) || /^mailto:[^@]+@[^@]+$/i.test(uri)
  })

const isOneOf = (values: ReadonlyArray<string>) => (value: string) => values.includes(value.toLowerCase())

/** Values of tags that are known; others are for programs of a later time. */
const checks: Readonly<Record<string, (value: string) => boolean>> = {
  p: isOneOf(dmarcPolicies),
  sp: isOneOf(dmarcPolicies),
  np: isOneOf(dmarcPolicies),
  adkim: isOneOf(["r", "s"]),
  aspf: isOneOf(["r", "s"]),
  pct: (value) => /^\d{1,3}$/.test(value) && Number(value) <= 100,
  fo: (value) => /^[01ds](\s*:\s*[01ds])*$/i.test(value),
  rf: (value) => /^[a-z0-9-]+(:[a-z0-9-]+)*$/i.test(value),
  ri: (value) => /^\d{1,10}$/.test(value),
  rua: isAddresses,
  ruf: isAddresses
}

/** Tags by their names in lower case, in order; or what is wrong. */
const tagsOf = (text: string): Result.Result<ReadonlyMap<string, string>, string> => {
  const tags = new Map<string, string>()
  const pieces = text.split(";").map((piece) => piece.trim())
  if (pieces.at(-1) === "") pieces.pop()
  for (const piece of pieces) {
    const equals = piece.indexOf("=")
    const name = piece.slice(0, Math.max(equals, 0)).trim().toLowerCase()
    if (!/^[a-z]+$/.test(name)) return Result.fail(`its part ${quoted(piece)} is no tag with a value`)
    if (tags.has(name)) return Result.fail(`it has ${name}= twice`)
    tags.set(name, piece.slice(equals + 1).trim())
  }
  return Result.succeed(tags)
}

/** The record of a text for which `isDmarc` holds, or what is wrong with it. */
export const parseDmarc = (text: string): Result.Result<DmarcRecord, string> => {
  if (text.length > recordCharacters) return Result.fail(`it is longer than ${recordCharacters} characters`)
  const tags = tagsOf(text)
  if (Result.isFailure(tags)) return Result.fail(tags.failure)
  const version = tags.success.get("v") ?? ""
  if (version !== "DMARC1") return Result.fail(`it begins with ${quoted(`v=${version}`)} instead of "v=DMARC1;"`)
  for (const [name, value] of tags.success) {
    const isValid = Object.hasOwn(checks, name) ? checks[name]! : () => true
    if (!isValid(value)) return Result.fail(`its part ${quoted(`${name}=${value}`)} is not valid`)
  }
  const policy = policyOf(tags.success.get("p"))
  if (policy === undefined) return Result.fail("it has no policy, such as p=none")
  const subdomains = policyOf(tags.success.get("sp")) ?? policy
  return Result.succeed({ policy, subdomains, isSpfStrict: tags.success.get("aspf")?.toLowerCase() === "s" })
}
