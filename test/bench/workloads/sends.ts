/**
 * Requests to send from a process of their own, over connections that stay: closed, where each connection sends its next request when it has the answer to the last, or
 * open, so many a second whatever becomes of them. Every request is 202, or the measurement fails.
 */
import { Effect } from "effect"
import { Pool } from "undici"
import { Latencies, sampleOf } from "./latencies.ts"
import { serveWorkload } from "./workload.ts"

/** Connections in all. */
export const sendConnections = 64

export interface SendsAccount {
  readonly key: string
  readonly from: string
}

export interface SendsLoad {
  readonly url: string
  /** In turn. */
  readonly accounts: ReadonlyArray<SendsAccount>
  /** Emails of each request; more than one is a batch. */
  readonly emails: number
  /** Whether each request has an `Idempotency-Key` of its own. */
  readonly isKeyed: boolean
  /** Of an open loop. */
  readonly perSecond?: number
  readonly warmUpSeconds: number
  readonly seconds: number
}

/** About 2 kB, as an application sends it. */
const emailOf = (from: string) => ({
  from,
  to: ["someone@example.com"],
  subject: "Your invoice of November",
  html: `<p>${"Thank you for your order. ".repeat(48)}</p>`,
  text: "Thank you for your order. ".repeat(20),
  tags: [{ name: "kind", value: "invoice" }]
})

const run = process.pid

/** What sends the next request, and whether it was accepted. */
const makeSend = ({ accounts, emails, isKeyed, url }: SendsLoad) => {
  const pool = new Pool(url, { connections: sendConnections, pipelining: 1 })
  const requests = accounts.map(({ from, key }) => ({
    authorization: `Bearer ${key}`,
    body: JSON.stringify(emails === 1 ? emailOf(from) : Array.from({ length: emails }, () => emailOf(from)))
  }))
  const path = emails === 1 ? "/v1/send/emails" : "/v1/send/emails/batch"
  let sent = 0
  const send = async (): Promise<boolean> => {
    const number = sent++
    const { authorization, body } = requests[number % requests.length]!
    const headers = { authorization, "content-type": "application/json" }
    const answer = await pool.request({
      method: "POST",
      path,
      headers: isKeyed ? { ...headers, "idempotency-key": `${run}-${number}` } : headers,
      body
    })
    if (answer.statusCode === 202) await answer.body.dump()
    else process.stderr.write(`${answer.statusCode} ${await answer.body.text()}\n`)
    return answer.statusCode === 202
  }
  return { send, close: () => pool.destroy() }
}

/** Sends until it is stopped, and records how long each request took. */
const loop = ({ perSecond }: SendsLoad, latencies: Latencies, send: () => Promise<boolean>): (() => void) => {
  let isOver = false
  const timed = async (since: number): Promise<void> => {
    const isAccepted = await send().catch(() => false)
    if (isOver) return
    if (isAccepted) latencies.record(performance.now() - since)
    else latencies.refuse()
  }
  if (perSecond === undefined) {
    const connection = async (): Promise<void> => {
      while (!isOver) await timed(performance.now())
    }
    for (let index = 0; index < sendConnections; index++) void connection()
    return () => {
      isOver = true
    }
  }
  const started = performance.now()
  let begun = 0
  const timer = setInterval(() => {
    const due = ((performance.now() - started) / 1000) * perSecond
    // From when it was due, so that a server that stalls is not spared.
    for (; begun < due; begun++) void timed(started + (begun / perSecond) * 1000)
  }, 1)
  return () => {
    isOver = true
    clearInterval(timer)
  }
}

serveWorkload((load: SendsLoad) =>
  Effect.gen(function* () {
    const { close, send } = makeSend(load)
    const latencies = new Latencies()
    const stop = loop(load, latencies, send)
    yield* Effect.addFinalizer(() =>
      Effect.promise(() => {
        stop()
        return close()
      })
    )
    yield* Effect.sleep(load.warmUpSeconds * 1000)
    return { measure: () => sampleOf(latencies, load.seconds) }
  })
)
