/**
 * Emails at an even rate from HTTP to an SMTP server of its own, both in this process: what was accepted and has not arrived is the backlog, exact at both ends of the
 * measurement. Recipients are of many domains, because no domain gets all connections to a relay.
 */
import { once } from "node:events"
import { Worker } from "node:worker_threads"
import { Effect } from "effect"
import { Pool } from "undici"
import { addressesOf } from "../runner/platform.ts"
import type { SendsAccount } from "./sends.ts"
import { serveWorkload } from "./workload.ts"

/** The port of the SMTP server is told, for the platform's relay. */
export interface SustainedLoad {
  /** Of the platform, which is started before the measurement. */
  readonly dataFolder: string
  readonly accounts: ReadonlyArray<SendsAccount>
  readonly perSecond: number
  readonly warmUpSeconds: number
  readonly seconds: number
}

const sendConnections = 64
const recipientDomains = 25

/** How long what is left may take to arrive. */
const drainSeconds = 120

const textOf = (from: string, number: number) =>
  JSON.stringify({
    from,
    to: `someone@domain${number % recipientDomains}.example`,
    subject: "Your invoice of November",
    html: `<p>${"Thank you for your order. ".repeat(48)}</p>`,
    text: "Thank you for your order. ".repeat(20)
  })

const pauseOf = (millis: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, millis))

const prepare = ({ accounts, dataFolder, perSecond, seconds, warmUpSeconds }: SustainedLoad) =>
  Effect.gen(function* () {
    const sink = yield* Effect.acquireRelease(
      Effect.sync(() => new Worker(new URL("smtpSink.ts", import.meta.url))),
      (worker) => Effect.promise(() => worker.terminate())
    )
    const [relayPort] = (yield* Effect.promise(() => once(sink, "message"))) as [number]
    const taken = async (): Promise<number> => {
      sink.postMessage("how many")
      const [count] = (await once(sink, "message")) as [number]
      return count
    }
    let accepted = 0
    let refused = 0
    const send = async (pool: Pool, number: number): Promise<void> => {
      const { from, key } = accounts[number % accounts.length]!
      const answer = await pool.request({
        method: "POST",
        path: "/v1/send/emails",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: textOf(from, number)
      })
      await answer.body.dump()
      if (answer.statusCode === 202) accepted++
      else refused++
    }
    const backlog = async (): Promise<number> => accepted - (await taken())
    const measure = async () => {
      const { url } = await addressesOf(dataFolder)
      const pool = new Pool(url, { connections: sendConnections, pipelining: 1 })
      const started = performance.now()
      let begun = 0
      const timer = setInterval(() => {
        const due = ((performance.now() - started) / 1_000) * perSecond
        for (; begun < due; begun++) send(pool, begun).catch(() => refused++)
      }, 2)
      await pauseOf(warmUpSeconds * 1_000)
      const [backlogStart, takenStart, acceptedStart, from] = [
        await backlog(),
        await taken(),
        accepted,
        performance.now()
      ]
      await pauseOf(seconds * 1_000)
      const [backlogEnd, takenEnd, acceptedEnd] = [await backlog(), await taken(), accepted]
      const measured = (performance.now() - from) / 1_000
      clearInterval(timer)
      const drainFrom = performance.now()
      while ((await backlog()) > 0 && performance.now() - drainFrom < drainSeconds * 1_000) await pauseOf(20)
      const drained = (performance.now() - drainFrom) / 1_000
      const left = await backlog()
      await pool.destroy()
      return {
        acceptedPerSecond: (acceptedEnd - acceptedStart) / measured,
        takenPerSecond: (takenEnd - takenStart) / measured,
        backlogStart,
        backlogEnd,
        drainSeconds: drained,
        left,
        refused
      }
    }
    return { told: relayPort, measure }
  })

serveWorkload(prepare)
