/**
 * Resolves hosts without a name server, as the system's resolver does: those of its file and `localhost`. Needs no
 * service; the file is read again when it has changed.
 */
import { readFileSync, statSync } from "node:fs"
import { isIP } from "node:net"
import type { ResolvedAddress } from "./addresses.ts"

/** Addresses by lower-case name. */
export type Hosts = ReadonlyMap<string, ReadonlyArray<ResolvedAddress>>
export type ReadHosts = () => Hosts

/** How often the file is checked, milliseconds. */
const lookAgainMillis = 5_000

/** Reads the text of a hosts file: an address and its names in each line, comments behind `#`. */
export const parseHosts = (text: string): Hosts => {
  const hosts = new Map<string, Array<ResolvedAddress>>()
  for (const line of text.split("\n")) {
    const [address, ...names] = line
      .replace(/#.*$/, "")
      .split(/\s+/)
      .filter((word) => word !== "")
    const family = isIP(address ?? "")
    if (address === undefined || family === 0) continue
    for (const name of names.map((one) => one.toLowerCase())) {
      const known = hosts.get(name) ?? []
      hosts.set(name, known)
      if (!known.some((one) => one.address === address)) known.push({ address, family })
    }
  }
  return hosts
}

const loopback: ReadonlyArray<ResolvedAddress> = [
  { address: "127.0.0.1", family: 4 },
  { address: "::1", family: 6 }
]

/** Whether a name is this machine's by definition (RFC 6761). */
const isLocalhost = (host: string): boolean => host === "localhost" || host.endsWith(".localhost")

/** The addresses of a lower-case name that is resolved without a name server; undefined for every other one. */
export const localAddresses = (host: string, hosts: Hosts): ReadonlyArray<ResolvedAddress> | undefined =>
  hosts.get(host) ?? (isLocalhost(host) ? loopback : undefined)

/** Reads a hosts file, again when it has changed; none if it cannot be read. `now` is monotonic, in milliseconds. */
export const readHostsFile = (path: string, now: () => number = () => performance.now()): ReadHosts => {
  let hosts: Hosts = new Map()
  let changedAt = Number.NaN
  let lookAt = Number.NEGATIVE_INFINITY
  return () => {
    if (now() < lookAt) return hosts
    lookAt = now() + lookAgainMillis
    try {
      const { mtimeMs } = statSync(path)
      if (mtimeMs !== changedAt) hosts = parseHosts(readFileSync(path, "utf8"))
      changedAt = mtimeMs
    } catch {
      hosts = new Map()
      changedAt = Number.NaN
    }
    return hosts
  }
}

const systemFile =
  process.platform === "win32" ? `${process.env.SystemRoot}\\System32\\drivers\\etc\\hosts` : "/etc/hosts"

export const systemHosts: ReadHosts = readHostsFile(systemFile)
