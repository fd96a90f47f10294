/** The environment that settings come from: the process's own, unless a program that runs a command within itself gives another one. */
import { Context } from "effect"

export const Environment = Context.Reference<Readonly<Record<string, string | undefined>>>("sluice/cli/Environment", {
  defaultValue: () => process.env
})
