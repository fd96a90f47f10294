/**
 * A process that sends requests over many connections, of several organizations, and counts their answers. Started by the
 * run with a channel: it gets one `Flood`, and sends one `Flooded` back. Open: requests leave at their times, whatever was
 * answered before, behind each other on their connection where they must. Closed: a connection sends when it has its answer.
 */
import { connect, type Socket } from "node:net"
import { AnswerReader } from "./answers.ts"

export interface Caller {
  readonly name: string
  readonly key: string
  /** Its part of the requests; those of all callers together are 1. */
  readonly share: number
}

export interface Flood {
  readonly port: number
  readonly callers: ReadonlyArray<Caller>
  /** Paths to ask for in turn. */
  readonly paths: ReadonlyArray<string>
  readonly connections: number
  /** Requests that may wait for their answers on one connection; a request that finds none free is not sent. */
  readonly behind: number
  /** Requests a second over all; undefined for closed. */
  readonly perSecond: number | undefined
  readonly seconds: number
}

export interface CallerFigures {
  readonly sent: number
  readonly accepted: number
  readonly refused: number
  /** Of those refused. */
  readonly withoutRetryAfter: number
  /** Other statuses, and answers that never came. */
  readonly failed: number
  /** Of accepted requests, milliseconds from sending. */
  readonly p50Millis: number
  readonly p99Millis: number
}

export interface Flooded {
  readonly seconds: number
  readonly callers: Readonly<Record<string, CallerFigures>>
  readonly all: CallerFigures
}

class Tally {
  sent = 0
  refused = 0
  withoutRetryAfter = 0
  failed = 0
  readonly latencies: Array<number> = []

  figures(): CallerFigures {
    const sorted = Float64Array.from(this.latencies).sort()
    const at = (part: number) => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? 0
    const { failed, refused, sent, withoutRetryAfter } = this
    return {
      sent,
      accepted: sorted.length,
      refused,
      withoutRetryAfter,
      failed,
      p50Millis: at(0.5),
      p99Millis: at(0.99)
    }
  }
}

/** One connection of one caller; it is made again where it is cut. */
class Line {
  private socket: Socket | undefined
  private readonly sentAt: Array<number> = []
  private reader = new AnswerReader()
  private next = 0
  private isOver = false
  private readonly flood: Flood
  private readonly head: string
  private readonly tally: Tally
  private readonly onAnswer: () => void

  constructor(flood: Flood, caller: Caller, tally: Tally, start: number, onAnswer: () => void) {
    this.flood = flood
    this.head = ` HTTP/1.1\r\nhost: 127.0.0.1\r\nx-api-key: ${caller.key}\r\n\r\n`
    this.tally = tally
    this.next = start
    this.onAnswer = onAnswer
    this.open()
  }

  private open(): void {
    this.reader = new AnswerReader()
    const socket = connect(this.flood.port, "127.0.0.1")
    socket.setNoDelay(true)
    socket.on("data", (bytes) => this.take(bytes))
    socket.on("error", () => {})
    socket.on("close", () => {
      this.tally.failed += this.sentAt.length
      this.sentAt.length = 0
      if (!this.isOver) this.open()
    })
    this.socket = socket
  }

  private take(bytes: Buffer): void {
    const now = performance.now()
    for (const { retryAfter, status } of this.reader.take(bytes)) {
      const sentAt = this.sentAt.shift() ?? now
      if (status === 200) this.tally.latencies.push(now - sentAt)
      else if (status === 429 || status === 503) {
        this.tally.refused++
        if (retryAfter === undefined || !(Number(retryAfter) >= 1)) this.tally.withoutRetryAfter++
      } else this.tally.failed++
      this.onAnswer()
    }
  }

  /** Sends the next request; false where too many wait. */
  send(): boolean {
    const { behind, paths } = this.flood
    if (this.sentAt.length >= behind) return false
    this.sentAt.push(performance.now())
    this.tally.sent++
    this.socket!.write(`GET ${paths[this.next++ % paths.length]}${this.head}`)
    return true
  }

  get waiting(): number {
    return this.sentAt.length
  }

  /** Resolves once it is connected. */
  get connected(): Promise<unknown> {
    const { socket } = this
    return socket!.connecting ? new Promise((resolve) => socket!.once("connect", resolve)) : Promise.resolve()
  }

  close(): void {
    this.isOver = true
    this.socket?.destroy()
  }
}

/** How long answers may take after the last request. */
const patienceMillis = 10_000

const run = async (flood: Flood): Promise<Flooded> => {
  const tallies = new Map(flood.callers.map(({ name }) => [name, new Tally()]))
  const isClosed = flood.perSecond === undefined
  let isSending = false
  const lines: Array<Array<Line>> = []
  for (const [place, caller] of flood.callers.entries()) {
    const of: Array<Line> = []
    lines.push(of)
    for (let index = 0; index < Math.max(1, Math.round(flood.connections * caller.share)); index++) {
      const line: Line = new Line(flood, caller, tallies.get(caller.name)!, place * 7 + index, () => {
        if (isClosed && isSending) line.send()
      })
      of.push(line)
      // More concurrently than the kernel keeps for a listener would be tried again after seconds.
      await line.connected
    }
  }
  const begun = performance.now()
  const until = begun + flood.seconds * 1_000
  isSending = true
  if (isClosed) {
    for (const line of lines.flat()) line.send()
    await new Promise((resolve) => setTimeout(resolve, flood.seconds * 1_000))
  } else {
    // Each caller has its own schedule: what one cannot send takes no turn of another.
    const due = flood.callers.map(() => 0)
    const turns = flood.callers.map(() => 0)
    await new Promise<void>((resolve) => {
      const tick = () => {
        const now = performance.now()
        if (now >= until) return resolve()
        for (const [place, { share }] of flood.callers.entries()) {
          const of = lines[place]!
          due[place] = ((now - begun) / 1_000) * flood.perSecond! * share
          for (let left = Math.floor(due[place]!) - turns[place]!; left > 0; left--) {
            turns[place]!++
            of[turns[place]! % of.length]!.send()
          }
        }
        setTimeout(tick, 2)
      }
      tick()
    })
  }
  isSending = false
  const seconds = (performance.now() - begun) / 1_000
  const end = performance.now() + patienceMillis
  while (lines.flat().some(({ waiting }) => waiting > 0) && performance.now() < end)
    await new Promise((resolve) => setTimeout(resolve, 50))
  for (const line of lines.flat()) line.close()
  const all = new Tally()
  for (const tally of tallies.values()) {
    all.sent += tally.sent
    all.refused += tally.refused
    all.withoutRetryAfter += tally.withoutRetryAfter
    all.failed += tally.failed
    for (const latency of tally.latencies) all.latencies.push(latency)
  }
  const callers = Object.fromEntries([...tallies].map(([name, tally]) => [name, tally.figures()]))
  return { seconds, callers, all: all.figures() }
}

process.once("message", (flood) => {
  run(flood as Flood).then((flooded) => {
    process.send!(flooded)
    process.disconnect()
  })
})
