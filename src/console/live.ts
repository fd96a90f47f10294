/**
 * Follows new events, over one connection for the whole page. `EventSource` cannot send the header that the session's
 * cookie needs, so `fetch` reads the stream. It reconnects by itself and continues after the last event that it saw.
 */
import { signal } from "@preact/signals"
import { consoleHeaders } from "./api.ts"
import { session, sessionEnded } from "./session.ts"

export interface LiveEvent {
  readonly eventId: string
  readonly type: string
  readonly service: string
  readonly livemode: boolean
  readonly createdAt: number
  readonly data: Readonly<Record<string, unknown>>
}

type Listener = (event: LiveEvent) => void

export const liveState = signal<"connecting" | "live" | "waiting">("connecting")

const listeners = new Set<Listener>()
let lastId = ""
let stopping: AbortController | undefined

/** Silence after which a connection counts as dead: the server shows every 15 s that it lives. */
const silenceMillis = 40_000
const shortestPauseMillis = 1_000
const longestPauseMillis = 30_000

/** Hears every event until the answer is called. */
export const onEvent = (listener: Listener): (() => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

const take = (block: string): void => {
  let id = ""
  let data = ""
  for (const line of block.split("\n")) {
    if (line.startsWith("id: ")) id = line.slice(4)
    else if (line.startsWith("data: ")) data += line.slice(6)
  }
  if (data === "") return
  lastId = id
  const event = JSON.parse(data) as LiveEvent
  for (const listener of listeners) listener(event)
}

/** Reads one connection to its end. */
const read = async (signal: AbortSignal, dead: AbortController): Promise<void> => {
  const headers = lastId === "" ? consoleHeaders() : { ...consoleHeaders(), "last-event-id": lastId }
  const response = await fetch("/v1/events/stream", { headers, signal })
  if (response.status === 401) return sessionEnded()
  // The last event that it saw is no longer stored.
  if (response.status === 400) lastId = ""
  if (!response.ok || response.body === null) throw new Error(`status ${response.status}`)
  liveState.value = "live"
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ""
  for (;;) {
    const silence = setTimeout(() => dead.abort(), silenceMillis)
    const { done, value } = await reader.read().finally(() => clearTimeout(silence))
    if (done) return
    const blocks = (rest + value).split("\n\n")
    rest = blocks.pop() ?? ""
    for (const block of blocks) take(block)
  }
}

const run = async (stop: AbortController): Promise<void> => {
  let pause = shortestPauseMillis
  while (!stop.signal.aborted && session.value) {
    const dead = new AbortController()
    const began = performance.now()
    try {
      await read(AbortSignal.any([stop.signal, dead.signal]), dead)
    } catch {
      // It connects again below.
    }
    if (stop.signal.aborted) return
    liveState.value = "waiting"
    pause =
      performance.now() - began > longestPauseMillis ? shortestPauseMillis : Math.min(pause * 2, longestPauseMillis)
    await new Promise((resolve) => setTimeout(resolve, pause))
  }
}

/** Connects, until `disconnect`. */
export const connect = (): void => {
  disconnect()
  stopping = new AbortController()
  liveState.value = "connecting"
  void run(stopping)
}

export const disconnect = (): void => {
  stopping?.abort()
  stopping = undefined
  lastId = ""
}
