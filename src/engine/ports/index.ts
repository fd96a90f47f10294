/** Exports the types behind the ports, for stores of your own (`Ports` of `sluice`). */
export type {
  ActorRow,
  CheckpointConflict,
  CheckpointRecord,
  CheckpointsUnavailable,
  CheckpointWrite,
  Deployment,
  ExpiryRow,
  KeysRequest,
  LogPosition,
  OrganizationsRequest,
  RemovedRows,
  StatesRequest,
  TimerRow
} from "./Checkpoints.ts"
export type {
  Cursor,
  CursorMove,
  CursorMoved,
  CursorsUnavailable,
  ParkedOrganization,
  RebuildProgress
} from "./Cursors.ts"
export type {
  JournalGap,
  JournalRefused,
  JournalUnavailable,
  Log,
  LogFound,
  LogState,
  PublishAnswer,
  PublishRequest,
  Sequence,
  StoredFrame
} from "./Journal.ts"
export type { PlacementRefused, PlacementUnavailable } from "./Placement.ts"
export type {
  FollowRequest,
  PublishedMessage,
  PublishRefused,
  StreamBatch,
  StreamEnds,
  StreamMessage,
  StreamPlaceLost,
  StreamUnavailable
} from "./ProgramStreams.ts"
export type { Signal, Signals, SignalsUnavailable } from "./Signals.ts"
export type {
  DueOrganization,
  FailedJobSelection,
  FailedWorkerJob,
  JobClaim,
  JobFigures,
  JobLease,
  NewWorkerJob,
  TakenWorkerJob,
  WorkerJobOutcome,
  WorkerJobsUnavailable
} from "./WorkerJobs.ts"
