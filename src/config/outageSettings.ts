/**
 * Defines the settings for outages of a server, and for the return of an older one (docs/operating.md), for the table
 * in `settings.ts`.
 */
import { duration } from "./kinds.ts"

export const outageSettings = {
  keyGrace: duration("24h")({
    env: "SLUICE_KEY_GRACE",
    fallback: "10m",
    description: "How long API keys that were used before keep working while PostgreSQL is away; 0s for not at all"
  }),
  logKeep: duration("8760h")({
    env: "SLUICE_LOG_KEEP",
    fallback: "24h",
    description:
      "How long frames stay in the log behind checkpoints, so that a PostgreSQL restored from a backup of that age catches up by itself; at most half of each log is used for it"
  })
} as const
