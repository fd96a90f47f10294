/**
 * Defines the kinds of settings: the valid texts, the conversion to a value, and the part of a secret that may be
 * shown. Each is a function of the variable's name, its description and its default; the flag's name follows from the
 * variable's. The table of settings is in `settings.ts`.
 */
import { Redacted, Result } from "effect"

/** One setting: where it comes from, what it means and how its text becomes a value. */
export interface Setting<A> {
  readonly env: string
  readonly flag: string
  readonly description: string
  /** The default text when neither flag nor environment gives one; undefined when the setting may be absent. */
  readonly fallback: string | undefined
  readonly secret: boolean
  /** The expected text, in words, for the fault's sentence. */
  readonly expected: string
  readonly parse: (text: string) => Result.Result<A, string>
  /** The part of a valid secret that may be shown; without this function nothing is. */
  readonly show?: (text: string) => string
}

export const setting =
  <A>(
    expected: string,
    parse: (text: string) => A | undefined,
    more: { readonly explain?: (text: string) => string | undefined; readonly show?: (text: string) => string } = {}
  ) =>
  (options: { readonly env: string; readonly description: string; readonly fallback?: string }): Setting<A> => ({
    env: options.env,
    flag: options.env
      .replace(/^SLUICE_/, "")
      .toLowerCase()
      .replaceAll("_", "-"),
    description: options.description,
    fallback: options.fallback,
    secret: false,
    expected,
    parse: (text) => {
      const value = parse(text)
      if (value !== undefined) return Result.succeed(value)
      const why = more.explain?.(text)
      return Result.fail(why === undefined ? expected : `${expected} (${why})`)
    },
    ...(more.show === undefined ? {} : { show: more.show })
  })

export const secret = <A>(of: Setting<A>): Setting<Redacted.Redacted<A>> => ({
  ...of,
  secret: true,
  parse: (text) => Result.map(of.parse(text), (value) => Redacted.make(value))
})

export const text = setting("a text that is not empty", (value) => (value === "" ? undefined : value))

export const integer = (minimum: number, maximum: number) =>
  setting(`a whole number from ${minimum} to ${maximum}`, (value) => {
    const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN
    return number >= minimum && number <= maximum ? number : undefined
  })

export const oneOf = <const Choices extends ReadonlyArray<string>>(choices: Choices) =>
  setting(`one of ${choices.join(", ")}`, (value): Choices[number] | undefined =>
    choices.includes(value) ? value : undefined
  )

export const url = (...protocols: ReadonlyArray<string>) =>
  setting(`an address such as ${protocols[0]}//host`, (value) => {
    const parsed = URL.parse(value)
    return parsed !== null && protocols.includes(parsed.protocol) && parsed.host !== "" ? value : undefined
  })

/** Shows an address without its user and password. */
export const withoutCredentials = (address: string): string => address.replace(/^([a-z]+:\/\/)[^/]*@/, "$1<redacted>@")

const isDecodable = (encoded: string): boolean => {
  try {
    decodeURIComponent(encoded)
    return true
  } catch {
    return false
  }
}

/** Percent-encoded values, as OpenTelemetry's own variable is written. */
export const headers = setting("headers such as name=value,name=value with percent-encoded values", (value) =>
  value.split(",").every((pair) => /^[^=\s]+=/.test(pair.trim()) && isDecodable(pair)) ? value : undefined
)

/** An API key as the platform makes them; the demo key may be given a value of this form. */
export const apiKey = setting(
  "a key such as sk_live_… with at least 22 letters and digits after the prefix",
  (value) => (/^sk_(live|test)_[A-Za-z0-9]{22,128}$/.test(value) ? value : undefined)
)

export const adminKey = setting("a key such as adm_… with at least 22 letters and digits after the prefix", (value) =>
  /^adm_[A-Za-z0-9]{22,128}$/.test(value) ? value : undefined
)

/** Part of the names of streams and subjects, where dots, blanks and wildcards have a meaning. */
export const namespace = setting("1 to 64 letters, digits, _ and -", (value) =>
  /^[A-Za-z0-9_-]{1,64}$/.test(value) ? value : undefined
)

const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }

/** One duration, such as `10m`, in milliseconds. */
export const duration = (longest: string) => {
  const millisOf = (value: string): number => {
    const match = /^(\d{1,9})(ms|s|m|h)$/.exec(value.trim())
    return match === null ? Number.NaN : Number(match[1]) * units[match[2]!]!
  }
  return setting(`a duration such as 30s, 10m or 24h, at most ${longest}`, (value) => {
    const millis = millisOf(value)
    return millis <= millisOf(longest) ? millis : undefined
  })
}

/** Durations in a row, such as `5s,30s,2m`, in milliseconds. An empty text is none. */
export const durations = (most: number, longestMillis: number) =>
  setting(`durations such as 5s,30s,2m,1h, at most ${most} of them`, (value) => {
    const millis = (value.trim() === "" ? [] : value.split(",")).map((one) => {
      const match = /^(\d{1,9})(ms|s|m|h)$/.exec(one.trim())
      return match === null ? Number.NaN : Number(match[1]) * units[match[2]!]!
    })
    return millis.length <= most && millis.every((one) => one <= longestMillis) ? millis : undefined
  })
