/**
 * Loaded into the serving process before the platform (`node --import`), to see from inside what a caller cannot: how
 * long its event loop was held. `reset` starts anew, `read` tells the longest time since. It sleeps otherwise.
 */
import { monitorEventLoopDelay } from "node:perf_hooks"

export interface ProbeReading {
  readonly longestDelayMillis: number
}

/** How often the loop is looked at. */
const resolutionMillis = 1

const histogram = monitorEventLoopDelay({ resolution: resolutionMillis })

process.on("message", (message) => {
  if (message === "reset") {
    histogram.enable()
    histogram.reset()
    process.send!("reset")
  } else if (message === "read") {
    histogram.disable()
    process.send!({ longestDelayMillis: histogram.max / 1e6 } satisfies ProbeReading)
  }
})
// The channel must not keep a platform alive that wants to stop.
process.channel?.unref()
