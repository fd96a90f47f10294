/**
 * Domains at which anybody gets an address: providers of passing addresses, and those of free ones. The lists are read when they are first asked for, and kept.
 * What they are and whose stands in `data/NOTICE`. Needs no service.
 */
import { readFile } from "node:fs/promises"
import { promisify } from "node:util"
import { gunzip } from "node:zlib"
import { Effect } from "effect"
import { getDomain } from "tldts"

export interface Providers {
  readonly disposable: ReadonlySet<string>
  /** Those of passing addresses among them. */
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
    // What stands above is a suffix that many share.
    if (name === registered || !name.includes(".")) return false
  }
}
