import { assert, describe, it } from "@effect/vitest"
import { atLeast, atMost, type Benchmark, benchmark, benchmarkInTurns, type Round, type RowOf } from "./benchmark.ts"
import { othersBetween, parseProcessTime, quiet, type Snapshot, type WatchOthers } from "./cpu.ts"
import { parseWrk } from "./load.ts"
import { intervalOf, median, resultsOf } from "./result.ts"
import type { FinishedRound } from "./rounds.ts"
import { maximumAttempts, runRounds } from "./rounds.ts"
import type { Workbench } from "./workbench.ts"

/** Rows of a made-up benchmark over given rounds. */

const round = (samples: FinishedRound["samples"], disturbed = false): FinishedRound => ({
  samples,
  disturbance: { othersCores: disturbed ? 1 : 0, stolenCores: 0 },
  disturbed
})

type Pair = { readonly ours: { readonly value: number }; readonly peer: { readonly value: number } }

const pairs = (rounds: ReadonlyArray<readonly [ours: number, peer: number]>) =>
  rounds.map(([ours, peer]) => round({ ours: { value: ours }, peer: { value: peer } }))

const withRow = (row: Partial<RowOf<Pair>>): Benchmark =>
  benchmark({
    name: "made-up",
    sides: { ours: async () => ({ value: 0 }), peer: async () => ({ value: 0 }) },
    rows: [{ name: "row", unit: "s", figure: ({ ours }) => ours.value, ...row }]
  })

const everything = () => true

const onlyRow = (of: Benchmark, rounds: ReadonlyArray<FinishedRound>) => resultsOf(of, rounds, everything)[0]!

describe("rows", () => {
  it("compare within a round and take the middle of the ratios", () => {
    const of = withRow({ peer: ({ peer }) => peer.value, goal: atLeast(0.85) })
    // The machine was slow in the second round for both: the middles alone would say 80 to 100.
    const { row, spread } = onlyRow(
      of,
      pairs([
        [90, 100],
        [9, 10],
        [80, 100]
      ])
    )
    assert.deepStrictEqual(row, {
      name: "made-up/row",
      figure: 80,
      unit: "s",
      peer: 100,
      ratio: 0.9,
      goal: 0.85,
      met: true
    })
    assert.deepStrictEqual(spread, [0.8, 0.9])
  })

  it("bound the figure where there is no peer, and the worst round where the limit must always hold", () => {
    const rounds = pairs([
      [4, 1],
      [7, 1],
      [5, 1]
    ])
    const worst = onlyRow(withRow({ goal: atMost(6), over: "worst" }), rounds).row
    assert.deepStrictEqual([worst.figure, worst.peer, worst.ratio, worst.met], [7, null, null, false])
    assert.strictEqual(onlyRow(withRow({ goal: atMost(6) }), rounds).row.met, true)
    assert.strictEqual(onlyRow(withRow({ goal: atLeast(5), over: "worst" }), rounds).row.figure, 4)
    assert.deepStrictEqual([onlyRow(withRow({}), rounds).row.goal, onlyRow(withRow({}), rounds).row.met], [null, null])
  })

  it("are refused when a round measured nothing", () => {
    const of = withRow({ peer: ({ peer }) => peer.value })
    assert.throws(() => onlyRow(of, pairs([[1, 0]])), /not a number/)
  })

  it("are judged before they are rounded", () => {
    const { row } = onlyRow(withRow({ goal: atMost(6) }), pairs([[6.00001, 1]]))
    assert.deepStrictEqual([row.figure, row.met], [6, false])
  })

  it("have a 95 % interval of their mean, narrower with more rounds, and none of one round", () => {
    assert.isUndefined(intervalOf([1.1]))
    const same = intervalOf([1.02, 1.02, 1.02])
    assert.deepStrictEqual(
      same?.map((one) => one.toFixed(6)),
      ["1.020000", "1.020000"]
    )
    // Of -ln 2 and ln 2 the mean is 0 and its error ln 2; t is 12.706 with one degree of freedom.
    const [low, high] = intervalOf([0.5, 2])!
    assert.closeTo(Math.log(high), 12.706 * Math.log(2), 0.001)
    assert.closeTo(low * high, 1, 1e-9)
    const ten = intervalOf([0.5, 2, 0.5, 2, 0.5, 2, 0.5, 2, 0.5, 2])!
    assert.isBelow(ten[1], high)
  })

  it("tell how many rounds were disturbed", () => {
    const of = withRow({})
    const rounds = [round({ ours: { value: 1 } }), round({ ours: { value: 1 } }, true)]
    assert.strictEqual(onlyRow(of, rounds).disturbedRounds, 1)
  })

  it("have the middle of an even number between the two", () => {
    assert.strictEqual(median([4, 1, 3, 2]), 2.5)
  })
})

describe("rounds", () => {
  const order: Array<string> = []
  const side = (name: string) => async () => {
    order.push(name)
    return { attempt: order.length }
  }
  const of = benchmark({ name: "made-up", sides: { ours: side("ours"), peer: side("peer") }, rows: [] })
  const lines: Array<string> = []
  const workbench = { log: (line: string) => lines.push(line) } as unknown as Workbench

  /** Runs with the given CPU of others, one figure a measurement of a side and 0 after them. */
  const run = (rounds: number, others: ReadonlyArray<number>) => {
    order.length = 0
    lines.length = 0
    const watchOthers: WatchOthers = async (part) => {
      const before = order.length
      const result = await part()
      // A look before a round measures nothing.
      const othersCores = order.length === before ? waitingFor.shift() : others[order.length - 1]
      return [result, { othersCores: othersCores ?? 0, stolenCores: 0 }]
    }
    return runRounds(of, workbench, rounds, { watchOthers, pause })
  }

  /** CPU of others at each look before a round, and the time spent looking. */
  const waitingFor: Array<number> = []
  let waitedMillis = 0
  const pause = async (millis: number) => {
    waitedMillis += millis
  }

  it("interleave the sides and show what each measured", async () => {
    const rounds = await run(3, [])
    assert.strictEqual(rounds.length, 3)
    assert.deepStrictEqual(order, ["ours", "peer", "ours", "peer", "ours", "peer"])
    assert.strictEqual(lines[5], "  made-up 3/3 peer: attempt 6 (others 0.00 cores, stolen 0.00)")
  })

  it("begin when others are quiet, or after a minute", async () => {
    waitedMillis = 0
    waitingFor.push(0.5, 0.5, 0.01)
    await run(1, [])
    assert.deepStrictEqual([waitedMillis, order.length], [1500, 2])
    waitedMillis = 0
    waitingFor.push(...Array.from({ length: 200 }, () => 1))
    const rounds = await run(1, [])
    waitingFor.length = 0
    assert.deepStrictEqual([waitedMillis, rounds.length], [60_000, 1])
  })

  it("are repeated as a whole when one side was disturbed", async () => {
    const rounds = await run(2, [0.01, 0.5, 0.02, 0.03])
    assert.strictEqual(order.length, 6)
    assert.deepStrictEqual(rounds[0], {
      samples: { ours: { attempt: 3 }, peer: { attempt: 4 } },
      disturbance: { othersCores: 0.03, stolenCores: 0 },
      disturbed: false
    })
  })

  it("keep the least disturbed attempt, marked, when none was quiet", async () => {
    const rounds = await run(1, [0.5, 0.5, 0.3, 0.2, 0.6, 0, 0.4, 0.4])
    assert.strictEqual(order.length, 2 * maximumAttempts)
    assert.deepStrictEqual([rounds[0]!.samples.ours, rounds[0]!.disturbed], [{ attempt: 3 }, true])
    assert.match(lines.at(-1)!, /kept although disturbed/)
  })

  it("are repeated where a side failed, and fail when it always does", async () => {
    let failures = 2
    const sides = {
      ours: async () => {
        if (failures-- > 0) throw new Error("connection lost")
        return { value: 1 }
      }
    }
    const failing = benchmark({ name: "made-up", sides, rows: [] })
    const rounds = await runRounds(failing, workbench, 1, { watchOthers: async (part) => [await part(), quiet], pause })
    assert.deepStrictEqual(rounds[0]!.samples, { ours: { value: 1 } })
    failures = maximumAttempts
    let message = ""
    await runRounds(failing, workbench, 1, { watchOthers: async (part) => [await part(), quiet], pause }).catch(
      (error: Error) => {
        message = error.message
      }
    )
    assert.strictEqual(message, "connection lost")
  })

  it("of sides that are up together are turns, each begun by another side, and all of them end", async () => {
    const happened: Array<string> = []
    const stand =
      (name: string, fails = false) =>
      async () => {
        if (fails) throw new Error("no port is free")
        happened.push(`${name} up`)
        return {
          measure: async () => {
            happened.push(name)
            return { value: happened.length }
          },
          stop: async () => {
            happened.push(`${name} down`)
          }
        }
      }
    const runAll = (stands: Record<"ours" | "peer", ReturnType<typeof stand>>) =>
      runRounds(benchmarkInTurns({ name: "made-up", stands, turns: 3, rows: [] }), workbench, 2, {
        watchOthers: async (part) => [await part(), quiet],
        pause
      })
    const rounds = await runAll({ ours: stand("ours"), peer: stand("peer") })
    const turns = ["ours", "peer", "peer", "ours", "ours", "peer"]
    const one = ["ours up", "peer up", ...turns, "ours down", "peer down"]
    assert.deepStrictEqual(happened, [...one, ...one])
    assert.deepStrictEqual(rounds.length, 6)
    assert.deepStrictEqual(rounds[1]!.samples, { peer: { value: 5 }, ours: { value: 6 } })
    happened.length = 0
    let message = ""
    await runAll({ ours: stand("ours"), peer: stand("peer", true) }).catch((error: Error) => {
      message = error.message
    })
    assert.deepStrictEqual([message, happened], ["no port is free", ["ours up", "ours down"]])
  })

  it("are watched only in the part that counts, where a side says which", async () => {
    const watched: Array<string> = []
    const watchOthers: WatchOthers = async (part) => {
      const result = await part()
      if (result !== undefined) watched.push(String(result))
      return [result, { othersCores: result === undefined || result === "counts" ? 0 : 1, stolenCores: 0 }]
    }
    const sides = {
      ours: async (round: Round) => ({ size: (await round.watched(async () => "counts")).length })
    }
    const rounds = await runRounds(benchmark({ name: "made-up", sides, rows: [] }), workbench, 1, {
      watchOthers,
      pause
    })
    assert.strictEqual(watched[0], "counts")
    assert.strictEqual(rounds[0]!.disturbed, false)
  })
})

describe("wrk", () => {
  const printed = `Running 5s test @ http://127.0.0.1:8080/v1/npa/212
  1 threads and 64 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.70ms  504.13us  17.58ms   92.04%
    Req/Sec    37.99k     3.43k   42.61k    82.00%
  Latency Distribution
     50%  900.00us
     75%    1.76ms
     90%    1.94ms
     99%    3.56ms
  189161 requests in 5.01s, 1.52GB read
Requests/sec:  37784.27
Transfer/sec:    311.34MB
`

  it("is read in its units", () => {
    const expected = { requestsPerSecond: 37784.27, p50Millis: 0.9, p99Millis: 3.56, refused: 0, lost: 0 }
    assert.deepStrictEqual(parseWrk(printed), expected)
  })

  it("counts refusals and lost requests", () => {
    const failing = `${printed}  Socket errors: connect 1, read 2, write 3, timeout 4\n  Non-2xx or 3xx responses: 100\n`
    const { lost, refused } = parseWrk(failing)
    assert.deepStrictEqual([refused, lost], [100, 10])
  })

  it("is not believed when it printed something else", () => {
    assert.throws(() => parseWrk("unable to connect"), /printed no/)
  })
})

describe("the CPU of others", () => {
  it("are read behind a name of any form", () => {
    const stat = "42 (node (1) x) S 7 42 42 0 -1 4194304 100 0 0 0 11 22 33 44 20 0 1 0 5000"
    assert.deepStrictEqual(parseProcessTime(stat), { parent: 7, own: 33, endedChildren: 77 })
  })

  const root = 10
  /** Busy ticks of the machine and, by process, its parent, its own ticks and those of its ended children. */
  const at = (
    atMillis: number,
    busy: number,
    processes: Record<number, readonly [parent: number, own: number, endedChildren: number]>
  ): Snapshot => ({
    atMillis,
    busy,
    stolen: 0,
    processes: new Map(
      Object.entries(processes).map(([id, [parent, own, endedChildren]]) => [
        Number(id),
        { parent, own, endedChildren }
      ])
    )
  })
  const others = (before: Snapshot, after: Snapshot) => othersBetween(before, after, root).othersCores

  it("is what is left of the machine's without the runner's tree", () => {
    const before = at(0, 1000, { 1: [0, 500, 0], 10: [1, 50, 0], 11: [10, 20, 0], 12: [11, 0, 0], 30: [1, 90, 0] })
    // 300 ticks in a second: 5 of the runner, 100 of its child, 190 of its grandchild, 5 of nobody who still lives.
    const after = at(1000, 1300, { 1: [0, 500, 0], 10: [1, 55, 0], 11: [10, 120, 0], 12: [11, 190, 0], 30: [1, 90, 0] })
    assert.closeTo(others(before, after), 0.05, 1e-9)
  })

  it("does not include a child of the runner's that came or went meanwhile", () => {
    const before = at(0, 1000, { 10: [1, 50, 0], 11: [10, 400, 0] })
    const after = at(1000, 1150, { 10: [1, 50, 500], 12: [10, 50, 0] })
    assert.strictEqual(others(before, after), 0)
  })

  it("is at least what living others used, where interrupts are counted apart", () => {
    const before = at(0, 1000, { 10: [1, 0, 0], 30: [1, 0, 0] })
    const after = at(1000, 1090, { 10: [1, 100, 0], 30: [1, 20, 0] })
    assert.closeTo(others(before, after), 0.2, 1e-9)
  })
})
