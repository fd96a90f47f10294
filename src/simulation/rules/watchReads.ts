/**
 * Reports what a function reads of the machine while it runs: its clock, its random numbers, its time zone and its
 * locale. Two machines answer these differently, so a rule that reads one is not pure. Needs no service.
 */

/** Receives the name of a read. */
type Receiver = (name: string) => void

/** The receiver of reads; undefined while nothing is watched. */
let receiver: Receiver | undefined

const RealDate = globalThis.Date

/** A time in words without a zone, which is read in that of the machine. A date alone is UTC. */
const zoneless = /\d[T ]\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?$/

const isZoneless = (text: unknown): boolean => typeof text === "string" && zoneless.test(text.trim())

const WatchedDate = new Proxy(RealDate, {
  construct(target, parts, newTarget) {
    if (parts.length === 0) receiver?.("the clock, by new Date()")
    else if (parts.length > 1 || isZoneless(parts[0])) receiver?.("the time zone of the machine, by new Date")
    return Reflect.construct(target, parts, newTarget) as object
  },
  apply(target, self, parts) {
    receiver?.("the clock, by Date()")
    return Reflect.apply(target, self, parts) as unknown
  },
  get(target, name, self) {
    if (name === "now") receiver?.("the clock, by Date.now")
    const value = Reflect.get(target, name, self) as unknown
    if (name !== "parse") return value
    return (text: string) => {
      if (isZoneless(text)) receiver?.("the time zone of the machine, by Date.parse")
      return target.parse(text)
    }
  }
})

const { random } = Math

const watchedRandom = (): number => {
  receiver?.("random numbers, by Math.random")
  return random()
}

const realPerformance = globalThis.performance

const WatchedPerformance = new Proxy(realPerformance, {
  get(target, name) {
    if (name === "now") receiver?.("the clock, by performance.now")
    const value = Reflect.get(target, name) as unknown
    return typeof value === "function" ? value.bind(target) : value
  }
})

type Method = (this: unknown, ...parts: ReadonlyArray<unknown>) => unknown

/** Replaces a method for good by one that reports its calls while a function is watched. */
const report = (of: object, name: string, read: string, isRead: (parts: ReadonlyArray<unknown>) => boolean): void => {
  const real = (of as Record<string, unknown>)[name] as Method
  Object.defineProperty(of, name, {
    configurable: true,
    writable: true,
    value: function (this: unknown, ...parts: ReadonlyArray<unknown>) {
      if (receiver !== undefined && isRead(parts)) receiver(`${read}, by ${name}`)
      return Reflect.apply(real, this, parts) as unknown
    }
  })
}

/** Methods of dates that answer in the zone of the machine. Seconds are the same in every zone. */
const zoned = (
  "getDate getDay getFullYear getHours getMinutes getMonth getTimezoneOffset setDate setFullYear setHours setMinutes " +
  "setMonth toString toDateString toTimeString"
).split(" ")

const always = () => true
/** Whether a call names no locale. */
const isLocal = ([locale]: ReadonlyArray<unknown>): boolean => locale === undefined
/** Whether a call names no locale or no zone. */
const isLocalOrZoned = ([locale, options]: ReadonlyArray<unknown>): boolean =>
  locale === undefined || (options as { readonly timeZone?: unknown } | undefined)?.timeZone === undefined

/** Watches the time zone and the locale. Once a process: exchanging the methods for each call would cost too much. */
const watchPlace = (): void => {
  const zone = "the time zone of the machine"
  const locale = "the locale of the machine"
  for (const name of zoned) report(RealDate.prototype, name, zone, always)
  for (const name of ["toLocaleString", "toLocaleDateString", "toLocaleTimeString"])
    report(RealDate.prototype, name, "the time zone or the locale of the machine", isLocalOrZoned)
  report(Number.prototype, "toLocaleString", locale, isLocal)
  report(Array.prototype, "toLocaleString", locale, isLocal)
  report(String.prototype, "localeCompare", locale, (parts) => isLocal(parts.slice(1)))
  for (const name of ["toLocaleLowerCase", "toLocaleUpperCase"]) report(String.prototype, name, locale, isLocal)
}

let isPlaceWatched = false

const exchange = (date: DateConstructor, randomNumber: () => number, performance: typeof realPerformance): void => {
  globalThis.Date = date
  Math.random = randomNumber
  globalThis.performance = performance
}

/** Runs something, and reports its reads of the machine. */
export const watchReads = <A>(tell: Receiver, run: () => A): A => {
  if (!isPlaceWatched) {
    isPlaceWatched = true
    watchPlace()
  }
  const outer = receiver
  receiver = tell
  if (outer === undefined) exchange(WatchedDate, watchedRandom, WatchedPerformance)
  try {
    return run()
  } finally {
    receiver = outer
    if (outer === undefined) exchange(RealDate, random, realPerformance)
  }
}
