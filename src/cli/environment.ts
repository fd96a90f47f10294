/**
 * Provides the environment of the settings: the process's own, or another one from a program that runs a command within
 * itself.
 */
import { Context } from "effect"

export const Environment = Context.Reference<Readonly<Record<string, string | undefined>>>("sluice/cli/Environment", {
  defaultValue: () => process.env
})
