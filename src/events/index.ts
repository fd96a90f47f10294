/**
 * Exports events for the rest of the program: their shape, the catalogue that rules emit from, and patterns of types.
 */
export {
  type CataloguedType,
  catalogue,
  checkData,
  type DataOf,
  isCatalogued,
  knownTypes,
  publicEvent,
  subscriptionPayload
} from "./catalogue.ts"
export {
  Event,
  EventId,
  type EventService,
  encodeEvent,
  eventIdPrefix,
  eventOf,
  eventRetentionMillis,
  eventServices,
  isEventType,
  maximumTypeLength,
  readEvent,
  testEventsKind
} from "./event.ts"
export {
  type EventPattern,
  type FirstSegments,
  InvalidPattern,
  knownFirstSegments,
  type Matchable,
  matches,
  matchesAny,
  maximumPatterns,
  parsePattern,
  parsePatterns,
  patternsBeyond,
  unmatchedPatterns
} from "./patterns.ts"
export { eventsTable } from "./table.ts"
