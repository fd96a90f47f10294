/** Streams in and out: an ingest beside a bare consumer of the same stream, and a publisher beside bare publishes with many in flight. */
import { atLeast, type Benchmark, benchmark, type Round } from "../runner/benchmark.ts"
import type { StreamLoad } from "../workloads/streams.ts"
import { runWithServers } from "../workloads/workload.ts"

const by = (side: StreamLoad["by"], messages: number) => (round: Round) =>
  runWithServers<{ readonly perSecond: number }>(round, "streams", { by: side, messages } satisfies StreamLoad)

export const streamsBenchmarks: ReadonlyArray<Benchmark> = [
  benchmark({
    name: "streams/in",
    sides: { ingest: by("ingest", 60_000), consumer: by("consumer", 60_000) },
    rows: [
      {
        name: "decided",
        unit: "messages/s",
        figure: ({ ingest }) => ingest.perSecond,
        peer: ({ consumer }) => consumer.perSecond,
        goal: atLeast(0.2),
        note: "8 partitions with subjects of their own, to facts that are acknowledged; peer: an ordered consumer that only reads"
      }
    ]
  }),
  benchmark({
    name: "streams/out",
    sides: { publisher: by("publisher", 20_000), batched: by("batched", 20_000) },
    rows: [
      {
        name: "published",
        unit: "messages/s",
        figure: ({ publisher }) => publisher.perSecond,
        peer: ({ batched }) => batched.perSecond,
        goal: atLeast(0.5),
        note: "facts of 500 organizations, each organization's in order; peer: 256 bare publishes in flight"
      }
    ]
  })
]
