/**
 * Exports the ports of streams in and out with their implementations in memory (docs/streams.md). `sluice/durable`
 * provides those on JetStream.
 */
export { layerMemory } from "./memory/ProgramStreamsMemory.ts"
export { layer as layerSignalsMemory } from "./memory/SignalsMemory.ts"
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
export { type Signal, Signals, SignalsUnavailable } from "./ports/Signals.ts"
