/**
 * Name look-ups that cannot hold each other up. The system's resolver has a few threads, which the whole process
 * shares, and a dead name server keeps one of them for many seconds: so there are few look-ups at a time and one per
 * host, answers are kept for a moment, and hosts that were slow or had no answer share a single place. Needs no
 * service.
 */
import type { Resolve, ResolvedAddress } from "./targets.ts"

/** Look-ups at a time; Node has four threads for them and for files. */
const maximumLookups = 3

/** Places for hosts whose last look-up was slow or failed. */
const maximumSuspects = 1

/** Hosts that wait for a place at most. */
const maximumWaiting = 1_000

/** Hosts that are remembered. */
const maximumRemembered = 10_000

/** How long an answer stays valid, and how long a failure does. In milliseconds. */
const answerMillis = 10_000
const failureMillis = 5_000

/** How long a caller waits before it gets a failure. */
const waitMillis = 5_000

/** A host whose look-up takes longer is a suspect. */
const suspectAfterMillis = 1_000

interface Known {
  readonly until: number
  readonly answer: Promise<ReadonlyArray<ResolvedAddress>>
}

interface Waiting {
  readonly host: string
  readonly begin: () => void
}

const noAnswer = (host: string): NodeJS.ErrnoException =>
  Object.assign(new Error(`${host} was not found in time`), { code: "EAI_AGAIN" })

/**
 * `resolve` with those bounds. `now` is monotonic, in milliseconds. By default it and the timers use the system's time:
 * undici calls this outside of any fiber, so there is no Clock, and a simulation replaces the whole sender.
 */
export const boundedResolve = (resolve: Resolve, now: () => number = () => performance.now()): Resolve => {
  const known = new Map<string, Known>()
  const pending = new Map<string, Promise<ReadonlyArray<ResolvedAddress>>>()
  const suspects = new Set<string>()
  let waiting: Array<Waiting> = []
  const running = { all: 0, suspects: 0 }

  const bound = (of: {
    readonly size: number
    readonly keys: () => Iterator<string>
    delete: (key: string) => boolean
  }) => {
    while (of.size > maximumRemembered) of.delete(of.keys().next().value!)
  }

  const beginNext = () => {
    const later: Array<Waiting> = []
    for (const one of waiting) {
      const isSuspect = suspects.has(one.host)
      if (running.all >= maximumLookups || (isSuspect && running.suspects >= maximumSuspects)) later.push(one)
      else one.begin()
    }
    waiting = later
  }

  const lookUp = async (host: string): Promise<ReadonlyArray<ResolvedAddress>> => {
    const isSuspect = suspects.has(host)
    running.all++
    if (isSuspect) running.suspects++
    const begunAt = now()
    const remember = (answer: Promise<ReadonlyArray<ResolvedAddress>>, millis: number, isGood: boolean) => {
      known.delete(host)
      known.set(host, { until: now() + millis, answer })
      bound(known)
      suspects.delete(host)
      if (!isGood || now() - begunAt > suspectAfterMillis) suspects.add(host)
      bound(suspects)
    }
    try {
      const answer = await resolve(host)
      remember(Promise.resolve(answer), answerMillis, true)
      return answer
    } catch (error) {
      const failed = Promise.reject(error)
      failed.catch(() => undefined)
      remember(failed, failureMillis, false)
      throw error
    } finally {
      running.all--
      if (isSuspect) running.suspects--
      pending.delete(host)
      beginNext()
    }
  }

  const begin = (host: string): Promise<ReadonlyArray<ResolvedAddress>> => {
    const lookup = new Promise<ReadonlyArray<ResolvedAddress>>((found, failed) => {
      if (waiting.length >= maximumWaiting) failed(noAnswer(host))
      else waiting.push({ host, begin: () => lookUp(host).then(found, failed) })
    })
    lookup.catch(() => undefined)
    return lookup
  }

  return (host) => {
    const recent = known.get(host)
    if (recent !== undefined && now() < recent.until) return recent.answer
    const lookup = pending.get(host) ?? begin(host)
    pending.set(host, lookup)
    beginNext()
    return new Promise((found, failed) => {
      const timer = setTimeout(() => {
        suspects.add(host)
        failed(noAnswer(host))
      }, waitMillis)
      lookup.then(found, failed).finally(() => clearTimeout(timer))
    })
  }
}
