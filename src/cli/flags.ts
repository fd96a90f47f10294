/**
 * Defines the configuration's flags: every setting has one, shared by all commands, and checked together with the
 * environment.
 */
import { Console, Effect, Option } from "effect"
import { Flag } from "effect/cli"
import { type Config, type Resolved, resolveConfig, settings } from "../config/settings.ts"
import { Environment } from "./environment.ts"
import { explained } from "./output.ts"

type SettingFlags = { readonly [K in keyof typeof settings]: Flag.Flag<Option.Option<string>> }

/** One optional text flag per setting. Secrets have none, because everybody on the machine can see a command line. */
export const settingFlags = Object.fromEntries(
  Object.entries(settings)
    .filter(([, setting]) => !setting.secret)
    .map(([name, setting]) => [
      name,
      Flag.String(setting.flag).pipe(
        Flag.withDescription(
          `${setting.description}${setting.fallback === undefined ? "" : ` (default ${setting.fallback})`}; ${setting.env}`
        ),
        Flag.optional
      )
    ])
) as unknown as SettingFlags

/** `--json`: machine-readable output. */
export const json = Flag.Boolean("json").pipe(Flag.withDescription("Print JSON"), Flag.withDefault(false))

export type GivenFlags = { readonly [K in keyof typeof settings]?: Option.Option<string> }

/** The effective configuration with the origin of each value. */
export const resolved = (flags: GivenFlags) => Effect.tap(resolvedQuietly(flags), ({ unknown }) => tellUnknown(unknown))

/** Says which variables look like settings and are none. */
export const tellUnknown = (names: ReadonlyArray<string>): Effect.Effect<void> =>
  Effect.forEach(names, (name) => Console.error(`sluice: the environment variable ${name} is unknown and ignored`), {
    discard: true
  })

/** The same without a word of unknown variables. */
export const resolvedQuietly = (flags: GivenFlags) =>
  explained(
    Effect.gen(function* () {
      const given = Object.fromEntries(
        Object.entries(flags).flatMap(([name, value]) =>
          Option.isOption(value) && Option.isSome(value) ? [[name, String(value.value)]] : []
        )
      )
      const result: Resolved = yield* Effect.fromResult(resolveConfig(yield* Environment, given))
      return result
    })
  )

/** The effective configuration. */
export const configuration = (flags: GivenFlags): Effect.Effect<Config, Effect.Error<ReturnType<typeof resolved>>> =>
  Effect.map(resolved(flags), ({ config }) => config)
