/** Look-ups of names in bounds: dead name servers keep nobody but themselves waiting. Time is the test's. */
import { afterEach, beforeEach, describe, expect, it, vi } from "@effect/vitest"
import { boundedResolve } from "../../../src/webhooks/target/boundedResolve.ts"
import type { ResolvedAddress } from "../../../src/webhooks/target/targets.ts"

const address = [{ address: "192.0.2.1", family: 4 }]

/** A resolver whose look-ups end when the test says so. */
const controlled = () => {
  const asked: Array<string> = []
  const open = new Map<
    string,
    { found: (answer: ReadonlyArray<ResolvedAddress>) => void; failed: (error: Error) => void }
  >()
  const resolve = boundedResolve(
    (host) => {
      asked.push(host)
      return new Promise((found, failed) => open.set(host, { found, failed }))
    },
    () => Date.now()
  )
  const settle = () => vi.advanceTimersByTimeAsync(0)
  return {
    asked,
    resolve: (host: string) => {
      const answer = resolve(host)
      answer.catch(() => undefined)
      return answer
    },
    settle,
    find: async (host: string) => {
      open.get(host)!.found(address)
      await settle()
    },
    fail: async (host: string) => {
      open.get(host)!.failed(Object.assign(new Error("not found"), { code: "ENOTFOUND" }))
      await settle()
    }
  }
}

describe("bounded look-ups", () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it("given many who ask for one host, then one look-up, whose answer is good for a while", async () => {
    const { asked, find, resolve } = controlled()
    const answers = [resolve("a"), resolve("a"), resolve("a")]
    await find("a")
    expect(await Promise.all(answers)).toEqual([address, address, address])
    expect(await resolve("a")).toEqual(address)
    expect(asked).toEqual(["a"])
    await vi.advanceTimersByTimeAsync(10_000)
    resolve("a")
    expect(asked).toEqual(["a", "a"])
  })

  it("given many hosts, then three at a time, in their order", async () => {
    const { asked, find, resolve } = controlled()
    for (const host of ["a", "b", "c", "d", "e"]) resolve(host)
    expect(asked).toEqual(["a", "b", "c"])
    await find("b")
    expect(asked).toEqual(["a", "b", "c", "d"])
  })

  it("given hosts that had no answer, then one of them at a time, beside the others", async () => {
    const { asked, fail, find, resolve } = controlled()
    const suspects = ["x", "y", "z"]
    for (const host of suspects) resolve(host)
    for (const host of suspects) await fail(host)
    await expect(resolve("x")).rejects.toMatchObject({ code: "ENOTFOUND" })
    await vi.advanceTimersByTimeAsync(5_000)
    asked.length = 0
    for (const host of suspects) resolve(host)
    for (const host of ["a", "b", "c"]) resolve(host)
    expect(asked).toEqual(["x", "a", "b"])
    await find("a")
    expect(asked).toEqual(["x", "a", "b", "c"])
    await find("x")
    expect(asked).toEqual(["x", "a", "b", "c", "y"])
  })

  it("given a look-up that never ends, then who asked is told after five seconds, and the thread still counts", async () => {
    const { asked, resolve } = controlled()
    for (const host of ["a", "b", "c"]) resolve(host)
    const late = expect(resolve("d")).rejects.toMatchObject({ code: "EAI_AGAIN" })
    await vi.advanceTimersByTimeAsync(5_000)
    await late
    expect(asked).toEqual(["a", "b", "c"])
  })

  it("given more hosts than may wait, then the next is refused at once", async () => {
    const { asked, resolve } = controlled()
    for (let host = 0; host < 1_003; host++) resolve(`host ${host}`)
    await expect(resolve("one more")).rejects.toMatchObject({ code: "EAI_AGAIN" })
    expect(asked).toHaveLength(3)
  })
})
