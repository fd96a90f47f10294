/** The place of a long run: a temporary folder, and everything that was started in it, which end with the run and at a signal. */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** The work's end, or a failure at the signal; then the work is left to itself, and what it uses is ended under it. */
export const untilInterrupted = async <A>(signal: AbortSignal | undefined, work: Promise<A>): Promise<A> => {
  if (signal === undefined) return work
  const interrupted = Promise.withResolvers<never>()
  const stop = () => interrupted.reject(new Error("the run was interrupted"))
  if (signal.aborted) stop()
  signal.addEventListener("abort", stop)
  // It fails when what it uses is gone, and nobody waits for it any more.
  work.catch(() => {})
  try {
    return await Promise.race([work, interrupted.promise])
  } finally {
    signal.removeEventListener("abort", stop)
  }
}

/** Takes a step at the end of a run; where that has come, at once, and fails. */
export type AtEnd = (step: () => unknown) => void

/** Works in a folder of its own, which is removed with everything that was started: steps given to `atEnd` are taken in reverse order. */
export const inRunFolder = async <A>(
  name: string,
  signal: AbortSignal | undefined,
  work: (folder: string, atEnd: AtEnd) => Promise<A>
): Promise<A> => {
  const folder = await mkdtemp(join(tmpdir(), `sluice-${name}-`))
  const steps: Array<() => unknown> = [() => rm(folder, { recursive: true, force: true })]
  let isOver = false
  const atEnd: AtEnd = (step) => {
    if (!isOver) return void steps.push(step)
    // The work goes on beside the end of what it uses until it notices.
    step()
    throw new Error("the run is over")
  }
  try {
    return await untilInterrupted(signal, work(folder, atEnd))
  } finally {
    isOver = true
    for (const step of steps.reverse()) await step()
  }
}

/** Tells with the seconds since now before each line. */
export const timed = (tell: (line: string) => void) => {
  const startedAt = performance.now()
  const seconds = () => (performance.now() - startedAt) / 1000
  return { seconds, say: (line: string) => tell(`  ${seconds().toFixed(1).padStart(6)} s  ${line}`) }
}
