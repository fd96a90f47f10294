/**
 * A broken variant of the program: one small replacement in one source file, applied by a test's module loader and never written to disk.
 * Production code therefore holds no switch for faults. A replacement whose text is not found exactly once fails loudly, so that a variant
 * cannot outlive the code it was made for.
 */
import { readFileSync } from "node:fs"

/** The repository's root, with a slash at its end. */
export const root = new URL("../../../", import.meta.url).pathname

/** Who may notice a variant. They are tried in the order of `finderKinds`, the quickest first. */
export type Finder =
  /** Tests without servers, by their files. */
  | { readonly kind: "unit"; readonly files: ReadonlyArray<string> }
  /** The engine's simulator: its corpus, then seeds. */
  | { readonly kind: "simulation" }
  /** The engine's simulator with followers: their corpus, then seeds. */
  | { readonly kind: "followers" }
  /** The simulator of webhook deliveries: its corpus, then seeds. */
  | { readonly kind: "deliveries" }
  /** The simulator of an account that sends: its corpus, then seeds. */
  | { readonly kind: "sending" }
  /** The simulator of several owners: its corpus, then seeds. */
  | { readonly kind: "owners" }
  /** Tests against real servers, by their files. */
  | { readonly kind: "servers"; readonly files: ReadonlyArray<string> }

export const finderKinds = ["unit", "simulation", "followers", "deliveries", "sending", "owners", "servers"] as const

/** What a module loader needs to know. */
export interface Replacement {
  readonly name: string
  /** From the repository's root. */
  readonly file: string
  readonly find: string
  readonly replace: string
}

export interface Variant extends Replacement {
  /** What is broken, as a user of the program would say it. */
  readonly sentence: string
  readonly finders: ReadonlyArray<Finder>
}

/** The text of a variant's file is not there, or is there more than once. */
export class NotFoundOnce extends Error {
  constructor({ file, find, name }: Replacement, count: number) {
    super(`the variant "${name}" finds its text ${count} times in ${file} instead of once:\n${find}`)
    this.name = "NotFoundOnce"
  }
}

/** The source with the replacement made. */
export const replaceIn = (source: string, variant: Replacement): string => {
  const parts = source.split(variant.find)
  if (variant.find === "" || parts.length !== 2) throw new NotFoundOnce(variant, parts.length - 1)
  return parts.join(variant.replace)
}

/** Fails when the variant does not fit the files as they are now. */
export const assertFits = (variant: Replacement): void => {
  const source = readFileSync(`${root}${variant.file}`, "utf8")
  if (replaceIn(source, variant) === source) throw new Error(`the variant "${variant.name}" changes nothing`)
}

/** The environment variable that tells a child process which replacement to make. */
export const environmentName = "SLUICE_TEST_VARIANT"

/** What a loader writes to stderr once it has made the replacement. */
export const appliedMark = "a variant was applied: "

/** The replacement that this process was told to make, as a function of a module's path; undefined where there is none. */
export const replacementOfEnvironment = (): ((path: string) => string | undefined) | undefined => {
  const text = process.env[environmentName]
  if (text === undefined) return undefined
  const variant = JSON.parse(text) as Replacement
  const path = `${root}${variant.file}`
  return (loaded) => {
    if (loaded !== path) return undefined
    const source = replaceIn(readFileSync(path, "utf8"), variant)
    process.stderr.write(`${appliedMark}${variant.name}\n`)
    return source
  }
}
