/**
 * Exports the number directory for embedders (`sluice/directory`): `Directory.layerMemory` and `Directory.layerFiles`
 * answer without any server, `Directory.layer` and `Ingestions` work on PostgreSQL, and the readers turn published
 * numbering files into records.
 */
import "../common/checkedNodePeers.ts"

export {
  layer as layerNotifications,
  Notification,
  Notifications,
  type NotificationsOptions,
  NotificationTooLong
} from "../postgres/Notifications.ts"
export type { Watch } from "../postgres/PgSession.ts"
export { createDirectoryChanges } from "./changes.ts"
export {
  type CarrierBasis,
  type CodeCarrier,
  type CodeFilters,
  carrierBases,
  codesMatching,
  findCode,
  findNumber,
  type NumberingCode,
  searchCodes
} from "./codes.ts"
export { Directory, type DirectoryRecords, type DirectorySnapshot, DirectoryUnavailable } from "./Directory.ts"
export type {
  AreaCodeColumns,
  BlockColumns,
  CarrierColumns,
  CodeColumns,
  DirectoryCounts,
  DirectoryIndex
} from "./DirectoryIndex.ts"
export type { EncodedAnswers } from "./EncodedAnswers.ts"
export type { Admission } from "./fileAdmission.ts"
export { type BundledSource, bundledSources } from "./files/bundledSources.ts"
export { splitCsv } from "./files/csv.ts"
export type { Coverage, Records, Unread } from "./files/DatasetReader.ts"
export { MalformedLines, NotRecognized, Refused, SourceUnreadable } from "./files/errors.ts"
export { type Limits, listedMalformedLimit, malformedShareLimit, SourceLimits } from "./files/limits.ts"
export { type LineConsumer, type LineSplitter, makeLineSplitter } from "./files/lines.ts"
export type { Header as FileHeader, Result as FileResult } from "./files/parser.ts"
export {
  type Batch,
  type DirectoryFile,
  type FileSummary,
  layer as layerReaders,
  type OpenedSource,
  openSource,
  readFile
} from "./files/read.ts"
export type { PackedFile, Progress, SkippedEntry } from "./files/unpack.ts"
export { InvalidRecord } from "./IndexBuilder.ts"
export { type IngestionOrder, Ingestions, type RunOptions, type WorkerOptions } from "./Ingestions.ts"
export { directoryChannel } from "./ingest.ts"
export {
  ConflictingCodes,
  IngestionEvent,
  IngestionFailure,
  IngestionFailureRecord,
  IngestionProgress,
  IngestionRecord,
  IngestionSkipped,
  IngestionStopped,
  IngestionSummary,
  PresentIngestion,
  ShownChange
} from "./ingestionSchema.ts"
export type { DirectoryState } from "./load.ts"
export {
  addDirectoryBlocks,
  addDirectoryDetails,
  createDirectoryTables,
  createIngestionFailures
} from "./migrations.ts"
export type {
  AreaCodeRecord,
  BlockRecord,
  CarrierType,
  CarrierTypeRecord,
  CodeRecord,
  Country,
  DatasetKind,
  DialingPlan,
  ExchangeStatus,
  ReportedDetails,
  ReportedRelief
} from "./model.ts"
export { carrierTypes, countries, datasetKinds, exchangeStatuses } from "./model.ts"
export { type AreaCodeQuery, type CarrierQuery, EntryNotFound, type PageQuery, timeZonesOf } from "./rules.ts"
export {
  AreaCode,
  AreaCodeDetails,
  Block,
  Carrier,
  CarrierDetail,
  CarrierPage,
  Exchange,
  Pagination,
  Statistics
} from "./schema.ts"
