/** Chooses the engine's settings by the configuration. */

import type { EngineSettings } from "../app/engine.ts"
import type { Config } from "../config/settings.ts"

/** The engine as configured. `replicas` counts where the configuration does not say. */
export const engineSettings = (config: Config, replicas: EngineSettings["replicas"] = 1): EngineSettings => ({
  partitions: config.partitions,
  replicas: config.logReplicas === undefined ? replicas : (Number(config.logReplicas) as EngineSettings["replicas"]),
  maximumLogBytes: config.logMaxBytes,
  bounds: {
    maximumActors: config.maximumActors,
    maximumLaneActors: config.maximumLaneActors,
    mailboxCapacity: config.mailboxCommands,
    mailboxBytes: config.mailboxBytes,
    logKeepMillis: config.logKeep
  },
  namespace: config.logNamespace
})
