/** Logs in an outage: lines of failed requests are sampled, and all of them are counted. */
import { Effect, Logger } from "effect"
import { describe, expect, it } from "vitest"
import { LogSampler, samplingLimits } from "../../src/config/LogSampler.ts"
import { heldWhile, sampled, watchStart } from "../../src/config/observability.ts"

const run = async (lines: Effect.Effect<void>, hasAccessLog = false) => {
  const sampling = new LogSampler()
  const written: Array<string> = []
  const logger = Logger.make<unknown, void>(({ message }) => void written.push(String(message)))
  await Effect.runPromise(Effect.provide(lines, Logger.layer([sampled(sampling, logger, hasAccessLog)])))
  return { written, due: sampling.due(Date.now()) }
}

const answered = (status: number, path: string) =>
  Effect.annotateLogs(Effect.logInfo("Request answered"), { status, path, requestId: `req_${path}` })

describe("logs", () => {
  it("hold a few lines of each kind of failure, whatever the paths and ids, and count the others", async () => {
    const flood = Effect.forEach(
      Array.from({ length: 1_000 }, (_, at) => at),
      (at) =>
        Effect.andThen(
          answered(503, `/v1/telco/lookup/${at}`),
          Effect.logWarning(`The probe ${at} failed`, new Error(`no answer from 10.0.0.${at}`))
        ),
      { discard: true }
    )
    const { due, written } = await run(flood)
    expect(written).toHaveLength(2 * samplingLimits.lines)
    expect(due.map(({ count }) => count)).toEqual([1_000 - samplingLimits.lines, 1_000 - samplingLimits.lines])
    expect(due[0]!.kind).toBe("Info Request answered #")
  })

  it("hold every request where there is an access log", async () => {
    const flood = Effect.forEach(Array.from({ length: 100 }), () => answered(503, "/v1/npa/212"), { discard: true })
    expect([await run(flood, true).then(({ written }) => written.length), (await run(flood)).written.length]).toEqual([
      100,
      samplingLimits.lines
    ])
  })

  it("hold every line of an access log, and failures of another kind", async () => {
    const { due, written } = await run(
      Effect.gen(function* () {
        for (let at = 0; at < 100; at++) yield* answered(200, "/v1/npa/212")
        for (let at = 0; at < 100; at++) yield* answered(404, "/v1/none")
        for (let at = 0; at < 100; at++) yield* Effect.logInfo("A partition serves")
        for (let at = 0; at < 5; at++) yield* Effect.logError("Request failed", new Error("one"))
        for (let at = 0; at < 5; at++) yield* Effect.logError("Request failed", new Error("another"))
      })
    )
    expect([written.length, due]).toEqual([310, []])
  })

  it("of a start are told when it is over, in order; warnings at once", async () => {
    const told: Array<string> = []
    let isHeld = true
    let over = () => {}
    const logger = heldWhile(
      () => isHeld,
      (listener) => {
        over = listener
      },
      Logger.make<unknown, void>(({ message }) => void told.push(String(message)))
    )
    const lines = Effect.gen(function* () {
      yield* Effect.logInfo("one")
      yield* Effect.logInfo("two")
      yield* Effect.logWarning("three")
      expect(told).toEqual(["three"])
      isHeld = false
      over()
      yield* Effect.logInfo("four")
    })
    await Effect.runPromise(Effect.provide(lines, Logger.layer([logger])))
    expect(told).toEqual(["three", "one", "two", "four"])
  })

  it("of a start that fails are told too, before the failure is", async () => {
    const told: Array<string> = []
    const { isStarting, onReady, watched } = watchStart()
    const logger = heldWhile(
      isStarting,
      onReady,
      Logger.make<unknown, void>(({ message }) => void told.push(String(message)))
    )
    const start = watched(Effect.andThen(Effect.logInfo("migrated"), Effect.fail("the port is taken")))
    const explained = Effect.catch(start, (failure) => Effect.logError(failure))
    await Effect.runPromise(Effect.provide(explained, Logger.layer([logger])))
    expect(told).toEqual(["migrated", "the port is taken"])
  })
})
