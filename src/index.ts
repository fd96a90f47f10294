/**
 * Exports `sluice`: the engine. Actors are pure rules; the engine makes them durable
 * and answers asks. `Engine.layerMemory` needs no server; `sluice/durable` puts the same engine on JetStream and
 * PostgreSQL.
 */
import "./common/checkedPeers.ts"

export * as Actor from "./engine/Actor.ts"
export { defaultConfig, type EngineConfig } from "./engine/config.ts"
export * as Engine from "./engine/Engine.ts"
export * as AskErrors from "./engine/errors.ts"
export {
  beginning,
  type FactPosition,
  type FactsOptions,
  FactsPurged,
  FactUnreadable,
  type FollowError,
  type KeysOptions,
  type KeysPage,
  type OrganizationsPage
} from "./engine/followTypes.ts"
export * as Ingest from "./engine/Ingest.ts"
export * as Lane from "./engine/Lane.ts"
export type { OnceOptions, OnceReply } from "./engine/once.ts"
export * as Parked from "./engine/Parked.ts"
export * as Publish from "./engine/Publish.ts"
export { Checkpoints } from "./engine/ports/Checkpoints.ts"
export { Cursors, ReactorTransaction } from "./engine/ports/Cursors.ts"
export type * as Ports from "./engine/ports/index.ts"
export { Journal } from "./engine/ports/Journal.ts"
export { Placement } from "./engine/ports/Placement.ts"
export { WorkerJobs } from "./engine/ports/WorkerJobs.ts"
export * as Reactor from "./engine/Reactor.ts"
export * as Reactors from "./engine/Reactors.ts"
export type { EventRecord, FactRecord, LogRecord, RecordPlace } from "./engine/records.ts"
export * as Streams from "./engine/Streams.ts"
export * as Worker from "./engine/Worker.ts"
