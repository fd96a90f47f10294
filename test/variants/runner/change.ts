/**
 * The change of a broken variant at its place in the source, and how a process learns of it. Every command that a test starts loads this file, so it
 * needs nothing else.
 */
import { readFileSync, writeFileSync } from "node:fs"

/** The repository's root, with a slash at its end. */
export const root = new URL("../../../", import.meta.url).pathname

export interface Change {
  readonly name: string
  /** From the repository's root. */
  readonly file: string
  /** Where the text that is found begins. */
  readonly start: number
  readonly found: string
  readonly replace: string
}

/** What a process is told in its environment. */
export interface Told {
  /** Null for the program as it is, which runs in the same way. */
  readonly change: Change | null
  /** A file to write once the change was made: what is written elsewhere, tests might read. */
  readonly appliedFile: string
}

/** The environment variable with what a process is told, as JSON. The platform complains of unknown ones that begin with its own name. */
export const environmentName = "BROKEN_VARIANT"

/** What a process must have in its environment to be broken like this one; nothing where this one is not. Whoever starts a process with an environment of its own adds it. */
export const variantEnvironment = (): Record<string, string> => {
  const told = process.env[environmentName]
  return told === undefined ? {} : { NODE_OPTIONS: process.env.NODE_OPTIONS ?? "", [environmentName]: told }
}

const make = (source: string, { file, found, name, replace, start }: Change): string => {
  if (!source.startsWith(found, start)) throw new Error(`the variant "${name}" does not find its text in ${file}`)
  return source.slice(0, start) + replace + source.slice(start + found.length)
}

/** The source of a module with this process's change made, by its path; undefined for each other module. */
export const sourceOf = (): ((path: string) => string | undefined) => {
  const text = process.env[environmentName]
  const { appliedFile = "", change = null } = text === undefined ? {} : (JSON.parse(text) as Told)
  if (change === null) return () => undefined
  const path = `${root}${change.file}`
  return (loaded) => {
    if (loaded !== path) return undefined
    const source = make(readFileSync(path, "utf8"), change)
    writeFileSync(appliedFile, "")
    return source
  }
}
