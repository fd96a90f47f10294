/**
 * Refuses unknown variables at a first start (docs/operating.md): it fixes some settings for ever, so a misspelt one
 * must not get its default. Later starts only log them.
 */
import { existsSync } from "node:fs"
import { join, resolve } from "node:path"
import { Data, Effect } from "effect"
import { type Config, settings } from "../config/settings.ts"
import { nearestName } from "../http/unknownNames.ts"
import { isMigrated } from "../postgres/databaseServer.ts"
import { tellUnknown } from "./flags.ts"

/** A first start was given variables that look like settings and are none. */
export class UnknownVariables extends Data.TaggedError("UnknownVariables")<{ readonly names: ReadonlyArray<string> }> {
  override get message(): string {
    const known = Object.values(settings).map(({ env }) => env)
    const shown = this.names.map((name) => {
      const near = nearestName(name, known)
      return near === undefined ? name : `${name} (did you mean ${near}?)`
    })
    const [is, them] = shown.length === 1 ? ["is no setting", "it"] : ["are no settings", "them"]
    return `${shown.join(", ")} ${is}. A first start refuses ${them}, because some settings, such as ${settings.partitions.env}, are fixed for ever by it.`
  }
}

/**
 * Whether a platform has run before on what is configured: on the embedded database of the data folder, or on the named
 * one.
 */
const hasRun = ({ databaseUrl, dataDir }: Config) =>
  databaseUrl === undefined
    ? Effect.sync(() => existsSync(join(resolve(dataDir), "postgres")))
    : isMigrated({ url: databaseUrl })

/**
 * Fails at a first start with unknown variables, and names them at a later one. To be asked before anything is made.
 */
export const requireKnownVariables = Effect.fnUntraced(function* (config: Config, unknown: ReadonlyArray<string>) {
  if (unknown.length === 0) return
  if (!(yield* hasRun(config))) return yield* new UnknownVariables({ names: unknown })
  yield* tellUnknown(unknown)
})
