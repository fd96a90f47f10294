/**
 * Judges this machine and the settings that no server answers for, for `sluice doctor`: the data folder, room on its
 * disk, addresses, files that may be open, the key of secrets, certificates in files. It makes and changes nothing.
 */
import { X509Certificate } from "node:crypto"
import { accessSync, constants, existsSync, readFileSync, statfsSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { Clock, Effect, Option } from "effect"
import { type Config, settings } from "../../config/settings.ts"
import { findRunning } from "../../embedded/dataFolder.ts"
import { firstStartBytes, laterStartBytes } from "../../embedded/room.ts"
import { freeShareLeast } from "../../platform/DiskSpace.ts"
import { type Address, addressesOf, isEverywhere, requireAddress } from "../addresses.ts"
import { requireSecretsKey } from "../secretsKeys.ts"
import { type CheckResult, certificateCheck, failed, ok, warning } from "./CheckResult.ts"

/** The folder itself, or the nearest one above it that exists. */
const existing = (path: string): string => (existsSync(path) || dirname(path) === path ? path : existing(dirname(path)))

const gigabytes = (bytes: number): string => `${(bytes / 1e9).toFixed(1)} GB`

const folderCheck = (path: string): CheckResult => {
  const check = "data folder"
  const there = existing(path)
  try {
    accessSync(there, constants.W_OK | constants.X_OK)
  } catch {
    return failed(
      check,
      `this user may not write to ${there}: choose another folder (${settings.dataDir.env}), or its owner`
    )
  }
  return ok(check, there === path ? `${path} is there` : `${path} will be made`)
}

/** Judges the disk of a folder. `needed` bytes are written by a start. Pure. */
export const diskCheck = (free: number, size: number, needed: number): CheckResult => {
  const check = "disk"
  const room = `${gigabytes(free)} of ${gigabytes(size)} are free`
  if (free < needed) return failed(check, `${room}, and a start needs ${gigabytes(needed)}`)
  return size > 0 && free / size < freeShareLeast
    ? warning(check, `${room}, less than ${freeShareLeast * 100} %: the platform reports that as a fault`)
    : ok(check, room)
}

const diskOf = (path: string, config: Config): CheckResult => {
  const { bavail, blocks, bsize } = statfsSync(existing(path))
  const isFirst = config.databaseUrl === undefined && !existsSync(join(path, "postgres", "cluster", "PG_VERSION"))
  return diskCheck(bavail * bsize, blocks * bsize, isFirst ? firstStartBytes : laterStartBytes)
}

/** Open files that a busy node needs: connections of clients, endpoints, stores. */
const neededFiles = 8_192

/** Judges the limit of open files by the text of `/proc/self/limits`. Node uses the hard one. Pure. */
export const filesCheck = (limits: string): ReadonlyArray<CheckResult> => {
  const hard = /^Max open files\s+\S+\s+(\d+|unlimited)/m.exec(limits)?.[1]
  if (hard === undefined) return []
  return hard !== "unlimited" && Number(hard) < neededFiles
    ? [
        warning(
          "open files",
          `at most ${hard}, and many connections need ${neededFiles}: raise it (LimitNOFILE, ulimit -Hn)`
        )
      ]
    : [ok("open files", `at most ${hard}`)]
}

const limitsOfThis = (): string => {
  try {
    return readFileSync("/proc/self/limits", "utf8")
  } catch {
    return ""
  }
}

/** The addresses are free, unless a platform of this folder has them. */
const addressCheck = (check: string, address: Address, isRunning: boolean): Effect.Effect<CheckResult> =>
  requireAddress(address).pipe(
    Effect.as(ok(check, `${address.host}:${address.port === 0 ? "any free port" : address.port} is free`)),
    Effect.catch((error) =>
      Effect.succeed(
        isRunning && error.code === "EADDRINUSE"
          ? ok(check, `${address.host}:${address.port} is taken, probably by the platform that runs here`)
          : failed(check, error.message)
      )
    )
  )

/** Judges the address that links have. Pure. */
export const publicCheck = ({ host, publicUrl }: Pick<Config, "host" | "publicUrl">): CheckResult => {
  const check = "public address"
  if (publicUrl === undefined)
    return isEverywhere(host)
      ? warning(check, `links begin with an address that others cannot reach: set ${settings.publicUrl.env}`)
      : ok(check, `links begin with the address of the API`)
  const { hostname, protocol } = new URL(publicUrl)
  return protocol === "http:" && !/^(localhost|127\.|\[::1\])/.test(hostname)
    ? warning(check, `${publicUrl} is not encrypted: keys and mail pass in clear`)
    : ok(check, publicUrl)
}

const certificateIn = (check: string, file: string, now: number): CheckResult => {
  try {
    return certificateCheck(check, Date.parse(new X509Certificate(readFileSync(file)).validTo), now)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    return failed(
      check,
      `${file} ${code === "ENOENT" || code === "EACCES" ? `cannot be read (${code})` : "holds no certificate in PEM"}`
    )
  }
}

/** All findings of this machine. */
export const machineChecks = Effect.fnUntraced(function* (config: Config) {
  const path = resolve(config.dataDir)
  const now = yield* Clock.currentTimeMillis
  const running = yield* Effect.option(findRunning(config.dataDir))
  const isRunning = Option.isSome(Option.flatten(running))
  const { admin, api } = addressesOf(config)
  const secrets = yield* Effect.match(requireSecretsKey(config), {
    onSuccess: () =>
      ok("secrets key", config.secretsKey === undefined ? "in the data folder, made at the first start" : "given"),
    onFailure: ({ message }) => failed("secrets key", message)
  })
  const certificates = [
    ["NATS certificate", config.natsCertificate],
    ["certificate for bounces", config.bounceTlsCert],
    ["certificate for submission", config.submissionTlsCert]
  ] as const
  return [
    folderCheck(path),
    diskOf(path, config),
    ...filesCheck(limitsOfThis()),
    yield* addressCheck("API address", api, isRunning),
    ...(admin === undefined ? [] : [yield* addressCheck("admin address", admin, isRunning)]),
    publicCheck(config),
    secrets,
    ...certificates.flatMap(([check, file]) => (file === undefined ? [] : [certificateIn(check, file, now)]))
  ] satisfies ReadonlyArray<CheckResult>
})
