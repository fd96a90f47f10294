/** The memory of this process, without the part that the next collection would free. */
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

let collect: (() => void) | undefined

/** Bytes that are held. The least of some looks: buffers that one collection has found are given back beside it, and are counted until then. */
export const heldBytes = (looks = 4): number => {
  if (collect === undefined) {
    setFlagsFromString("--expose-gc")
    collect = runInNewContext("gc") as () => void
  }
  let least = Number.POSITIVE_INFINITY
  for (let look = 0; look < looks; look++) {
    collect()
    const { arrayBuffers, heapUsed } = process.memoryUsage()
    least = Math.min(least, heapUsed + arrayBuffers)
  }
  return least
}
