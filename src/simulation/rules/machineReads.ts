/**
 * Notices when a rule reads the machine it runs on: its clock or its random source. What it asks for it is still given. Only while `watching` runs
 * something are the global names exchanged, so nothing else is affected. Needs no service.
 */

type Told = (name: string) => void

/** Who is told; undefined while nothing is watched. */
let told: Told | undefined

const RealDate = globalThis.Date

const WatchedDate = new Proxy(RealDate, {
  construct(target, parts, newTarget) {
    if (parts.length === 0) told?.("the clock, by new Date()")
    return Reflect.construct(target, parts, newTarget) as object
  },
  apply(target, self, parts) {
    told?.("the clock, by Date()")
    return Reflect.apply(target, self, parts) as unknown
  },
  get(target, name, receiver) {
    if (name === "now") told?.("the clock, by Date.now")
    return Reflect.get(target, name, receiver) as unknown
  }
})

const { random } = Math

const watchedRandom = (): number => {
  told?.("random numbers, by Math.random")
  return random()
}

const realPerformance = globalThis.performance

const WatchedPerformance = new Proxy(realPerformance, {
  get(target, name) {
    if (name === "now") told?.("the clock, by performance.now")
    const value = Reflect.get(target, name) as unknown
    return typeof value === "function" ? value.bind(target) : value
  }
})

const exchange = (date: DateConstructor, randomNumber: () => number, performance: typeof realPerformance): void => {
  globalThis.Date = date
  Math.random = randomNumber
  globalThis.performance = performance
}

/** Runs something, and tells what it reads of the machine. */
export const watching = <A>(tell: Told, run: () => A): A => {
  const outer = told
  told = tell
  if (outer === undefined) exchange(WatchedDate, watchedRandom, WatchedPerformance)
  try {
    return run()
  } finally {
    told = outer
    if (outer === undefined) exchange(RealDate, random, realPerformance)
  }
}
