import { describe, expect, it } from "vitest"
import { mergedMetrics } from "../../src/cli/workers/mergedMetrics.ts"

const first = `# HELP sluice_owned Owned
# TYPE sluice_owned gauge
sluice_owned{partition="0"} 1
# HELP sluice_took Time
# TYPE sluice_took histogram
sluice_took_bucket{le="1"} 2
sluice_took_bucket{le="+Inf"} 3
sluice_took_sum 4.5
sluice_took_count 3
`

const second = `# TYPE sluice_only counter
sluice_only{text="a b} c"} 7
# HELP sluice_owned Owned
# TYPE sluice_owned gauge
sluice_owned{partition="1"} 0
`

describe("metrics of workers", () => {
  it("are one text, in which every family is described once and every sample names its worker", () => {
    const merged = mergedMetrics(
      new Map([
        [1, first],
        [2, second],
        [3, undefined]
      ])
    )
    expect(merged.split("\n")).toEqual([
      "# HELP sluice_worker_up Whether a worker has answered",
      "# TYPE sluice_worker_up gauge",
      'sluice_worker_up{worker="1"} 1',
      'sluice_worker_up{worker="2"} 1',
      'sluice_worker_up{worker="3"} 0',
      "# HELP sluice_owned Owned",
      "# TYPE sluice_owned gauge",
      'sluice_owned{worker="1",partition="0"} 1',
      'sluice_owned{worker="2",partition="1"} 0',
      "# HELP sluice_took Time",
      "# TYPE sluice_took histogram",
      'sluice_took_bucket{worker="1",le="1"} 2',
      'sluice_took_bucket{worker="1",le="+Inf"} 3',
      'sluice_took_sum{worker="1"} 4.5',
      'sluice_took_count{worker="1"} 3',
      "# TYPE sluice_only counter",
      'sluice_only{worker="2",text="a b} c"} 7',
      ""
    ])
  })
})
