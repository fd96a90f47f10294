/**
 * Describes in one sentence a wrong environment of the library: a Node that is too old, or another `effect` than it was
 * built for. The ranges are those of package.json.
 */
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"

interface Manifest {
  readonly version: string
  readonly engines: { readonly node: string }
  readonly peerDependencies: Readonly<Record<string, string>>
}

const numbersOf = (version: string): ReadonlyArray<number> =>
  (/^[^\d]*(\d+)(?:\.(\d+))?(?:\.(\d+))?/.exec(version) ?? []).slice(1).map((number) => Number(number ?? 0))

/** Whether a version is in a range of the forms that package.json has here: `>=22.19.0`, `~4.1.0`, `23.1.0`. */
export const satisfies = (version: string, range: string): boolean => {
  const [major = 0, minor = 0, patch = 0] = numbersOf(version)
  const [wantedMajor = 0, wantedMinor = 0, wantedPatch = 0] = numbersOf(range)
  const isAtLeast =
    major > wantedMajor ||
    (major === wantedMajor && (minor > wantedMinor || (minor === wantedMinor && patch >= wantedPatch)))
  if (range.startsWith(">=")) return isAtLeast
  const isSeries = major === wantedMajor && minor === wantedMinor
  return range.startsWith("~") ? isSeries && patch >= wantedPatch : isSeries && patch === wantedPatch
}

/**
 * Describes the fault in a sentence; undefined when all fits. `found` is the installed version of a peer, undefined if
 * unknown.
 */
export const peerProblem = (
  { engines, peerDependencies, version }: Manifest,
  node: string,
  found: (peer: string) => string | undefined,
  peers: ReadonlyArray<string>
): string | undefined => {
  if (!satisfies(node, engines.node))
    return `sluice ${version} needs Node ${engines.node.replace(">=", "")} or newer, and this is ${node}`
  for (const peer of peers) {
    const range = peerDependencies[peer]
    const installed = found(peer)
    if (range === undefined || installed === undefined || satisfies(installed, range)) continue
    return `sluice ${version} needs ${peer} ${range}, and finds ${installed}: run npm install ${peer}@${range}`
  }
  return undefined
}

/**
 * Throws when the library is loaded where it cannot work: an error whose stack is its sentence. What a bundler has put
 * together says nothing of its parts, and passes.
 */
export const requirePeers = (peers: ReadonlyArray<string>): void => {
  const require = createRequire(import.meta.url)
  let manifest: Manifest
  try {
    manifest = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as Manifest
  } catch {
    return
  }
  if ((manifest as { readonly name?: string }).name !== "sluice") return
  const found = (peer: string): string | undefined => {
    try {
      return (JSON.parse(readFileSync(require.resolve(`${peer}/package.json`), "utf8")) as Manifest).version
    } catch {
      return undefined
    }
  }
  const problem = peerProblem(manifest, process.versions.node, found, peers)
  if (problem === undefined) return
  const error = new Error(problem)
  // The stack of this call helps nobody.
  error.stack = problem
  throw error
}
