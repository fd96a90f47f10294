/** Windows over event time: events per second of CPU through a tumbling window, beside a loop that counts the same events in a map and closes nothing. */
import { atLeast, type Benchmark, benchmark, type Round } from "../runner/benchmark.ts"
import type { WindowLoad } from "../workloads/windows.ts"
import { runWorkload } from "../workloads/workload.ts"

const events = (through: WindowLoad["through"]) => (round: Round) =>
  runWorkload<{ readonly perSecond: number }>(round, "windows", { through, seconds: 2 } satisfies WindowLoad)

export const windowsBenchmarks: ReadonlyArray<Benchmark> = [
  benchmark({
    name: "windows/tumbling",
    sides: { one: events("add"), batch: events("addAll"), map: events("map") },
    rows: [
      {
        name: "one-by-one",
        unit: "events/s of CPU",
        figure: ({ one }) => one.perSecond,
        peer: ({ map }) => map.perSecond,
        goal: atLeast(0.15),
        note: "add; peer: a Map that is changed in place"
      },
      {
        name: "together",
        unit: "events/s of CPU",
        figure: ({ batch }) => batch.perSecond,
        peer: ({ map }) => map.perSecond,
        goal: atLeast(0.15),
        note: "addAll of 100 events; peer: as above"
      }
    ]
  })
]
