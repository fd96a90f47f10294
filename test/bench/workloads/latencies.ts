/** Latencies counted in classes, so that recording one costs the same however many there are and makes no garbage. */

/** Width of a class, and how many there are; the last one takes what is longer. */
const classMillis = 0.01
const classes = 200_000

/** What is longer is not told apart. */
export const longestCountedMillis = classes * classMillis

export class Latencies {
  private readonly counts = new Uint32Array(classes)
  count = 0
  refused = 0
  longestMillis = 0

  record(millis: number): void {
    if (millis > this.longestMillis) this.longestMillis = millis
    const at = Math.floor(millis / classMillis)
    this.counts[at < 0 ? 0 : at < classes ? at : classes - 1]!++
    this.count++
  }

  /** What got no answer that counts: slower than anything that did. */
  refuse(): void {
    this.counts[classes - 1]!++
    this.refused++
  }

  reset(): void {
    this.counts.fill(0)
    this.count = 0
    this.refused = 0
    this.longestMillis = 0
  }

  /** The latency that this share of all does not exceed, rounded up to a class; of the last class its least. */
  percentile(share: number): number {
    let seen = 0
    for (let at = 0; at < classes - 1; at++) {
      seen += this.counts[at]!
      if (seen >= (this.count + this.refused) * share) return (at + 1) * classMillis
    }
    return longestCountedMillis
  }
}

/** What loops measure: how many a second, and how long each took. */
export interface LoopSample extends Record<string, number> {
  readonly perSecond: number
  readonly p50Millis: number
  readonly p99Millis: number
  readonly longestMillis: number
  readonly refused: number
}

/** Counts what a running loop records from now on for a time. */
export const sampleOf = async (latencies: Latencies, seconds: number): Promise<LoopSample> => {
  latencies.reset()
  const started = performance.now()
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
  const elapsedSeconds = (performance.now() - started) / 1000
  return {
    perSecond: latencies.count / elapsedSeconds,
    p50Millis: latencies.percentile(0.5),
    p99Millis: latencies.percentile(0.99),
    longestMillis: latencies.longestMillis,
    refused: latencies.refused
  }
}
