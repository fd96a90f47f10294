/**
 * `sluice` with a clock that a test moves on: the time of day is the system's and an offset, and whoever sleeps until a time wakes when the clock is moved past it. Sleeps below
 * a second, the monotonic clock, PostgreSQL and NATS go by the real time. Started in place of the platform, which knows nothing of it; `moveOn` speaks to it over a socket.
 */
import { rmSync } from "node:fs"
import { createServer, request } from "node:http"
import { Clock, Context, Duration, Effect } from "effect"

/** Names the socket. */
export const clockVariable = "MOVABLE_CLOCK_SOCKET"

/** By how many milliseconds the clock is ahead of the system's at first, or behind it; default 0. */
export const clockStartVariable = "MOVABLE_CLOCK_START_MILLIS"

/** Shorter sleeps are pauses between attempts, and go by the real time. */
const realBelowMillis = 1_000

const longestTimerMillis = 2 ** 31 - 1

interface Sleeper {
  /** In the moved time. */
  readonly until: number
  readonly wake: () => void
}

/** Gives the process's clock an offset, and answers what moves it. */
const makeMovable = (): ((millis: number) => void) => {
  let offset = Number(process.env[clockStartVariable] ?? 0)
  const sleepers = new Set<Sleeper>()
  // Every fiber has this one unless it was given another.
  const clock = Context.get(Context.empty(), Clock.Clock)
  const realSleep = clock.sleep.bind(clock)
  const now = () => Date.now() + offset
  const sleep = (duration: Duration.Duration): Effect.Effect<void> => {
    const millis = Duration.toMillis(duration)
    if (millis < realBelowMillis) return realSleep(duration)
    return Effect.callback<void>((resume) => {
      const wake = () => {
        clearTimeout(timer)
        sleepers.delete(sleeper)
        resume(Effect.void)
      }
      const sleeper: Sleeper = { until: now() + millis, wake }
      const timer = setTimeout(wake, Math.min(millis, longestTimerMillis))
      sleepers.add(sleeper)
      return Effect.sync(() => {
        clearTimeout(timer)
        sleepers.delete(sleeper)
      })
    })
  }
  Object.assign(clock, {
    currentTimeMillisUnsafe: now,
    currentTimeNanosUnsafe: () => BigInt(now()) * 1_000_000n,
    sleep
  })
  return (millis) => {
    offset += millis
    for (const { until, wake } of [...sleepers]) if (until <= now()) wake()
  }
}

/** Moves the clock of the platform that listens at this socket, and answers its time. */
export const moveOn = (socketPath: string, millis: number): Promise<number> =>
  new Promise((resolve, reject) => {
    const asked = request({ socketPath, path: `/${Math.ceil(millis)}`, method: "POST" }, (response) => {
      let text = ""
      response.setEncoding("utf8").on("data", (part: string) => {
        text += part
      })
      response.on("end", () => resolve(Number(text)))
    })
    asked.on("error", reject)
    asked.end()
  })

const socket = process.env[clockVariable]
if (socket !== undefined) {
  const move = makeMovable()
  rmSync(socket, { force: true })
  const clock = Context.get(Context.empty(), Clock.Clock)
  const server = createServer((asked, answer) => {
    move(Number(asked.url!.slice(1)))
    answer.end(String(clock.currentTimeMillisUnsafe()))
  })
  server.listen(socket)
  server.unref()
  await import("../../src/main.ts")
}
