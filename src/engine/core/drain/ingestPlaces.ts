/**
 * Keeps the places of ingests that a partition's frames carry (docs/streams.md). A place outlives its ingest: a program
 * that takes the ingest up again goes on there. Pure.
 */
import type { IngestPlaces } from "../../frame.ts"
import { maximumIngestPlaces } from "../../limits.ts"

/**
 * The places with that of one ingest set. With too many of them, the oldest of an ingest that the program does not have
 * goes: its stream would be read like a new one.
 */
export const withPlace = (
  places: IngestPlaces | undefined,
  ingest: string,
  sequence: number,
  isKnown: (ingest: string) => boolean
): IngestPlaces => {
  const kept = { ...places, [ingest]: sequence }
  const names = Object.keys(kept)
  if (names.length <= maximumIngestPlaces) return kept
  const dropped = names.find((name) => name !== ingest && !isKnown(name))
  if (dropped !== undefined) delete kept[dropped]
  return kept
}
