/**
 * Reads the package's version, which the health record reports as the API's (docs/directory.md, 3.6), and the commit
 * that it was built from, for operators.
 */
import { readFileSync } from "node:fs"

// Read rather than imported: the build's root is this folder, and the file lies above it, in the package as in a
// checkout.
const packageJson = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
  readonly version: string
}

export const version: string = packageJson.version

const textOf = (path: string): string | undefined => {
  try {
    return readFileSync(new URL(`../../${path}`, import.meta.url), "utf8").trim()
  } catch {
    return undefined
  }
}

/** The commit of a checkout, without git: its branch is in a file of its own, or packed with others. */
const commitOfCheckout = (): string | undefined => {
  const head = textOf(".git/HEAD")
  if (head === undefined || !head.startsWith("ref: ")) return head
  const branch = head.slice("ref: ".length)
  return (
    textOf(`.git/${branch}`) ??
    new RegExp(`^([0-9a-f]{40}) ${branch}$`, "m").exec(textOf(".git/packed-refs") ?? "")?.[1]
  )
}

const shownDigits = 8

/** The version with the commit, such as `0.1.0+82603474`; without it where the build does not say. */
export const build = (): string => {
  const commit = (commitOfCheckout() ?? textOf("dist/build"))?.slice(0, shownDigits)
  return commit !== undefined && /^[0-9a-f]{8}$/.test(commit) ? `${version}+${commit}` : version
}
