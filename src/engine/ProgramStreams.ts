/**
 * Exports the port of a program's own streams with its implementation in memory (docs/streams.md). `sluice/durable`
 * provides the one on JetStream.
 */
export { layerMemory, layerOf, makeStore, type ProgramStreamsStore, purge } from "./memory/ProgramStreamsMemory.ts"
export {
  type FollowRequest,
  ProgramStreams,
  type PublishedMessage,
  PublishRefused,
  type StreamBatch,
  type StreamEnds,
  type StreamMessage,
  StreamPlaceLost,
  StreamUnavailable
} from "./ports/ProgramStreams.ts"
