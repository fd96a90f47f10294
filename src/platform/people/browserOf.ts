/** Names the browser and the system of a user agent in words that its owner recognizes. Pure. */

/** The names, in the order in which they are looked for: browsers also carry the names of those before them. */
const browsers: ReadonlyArray<readonly [sign: RegExp, name: string]> = [
  [/\bEdgA?\//, "Edge"],
  [/\bOPR\//, "Opera"],
  [/\b(?:Firefox|FxiOS)\//, "Firefox"],
  [/\b(?:Chrome|Chromium|CriOS|HeadlessChrome)\//, "Chrome"],
  [/\bSafari\//, "Safari"]
]

const systems: ReadonlyArray<readonly [sign: RegExp, name: string]> = [
  [/iPhone|iPad/, "iOS"],
  [/Android/, "Android"],
  [/Windows/, "Windows"],
  [/Mac OS X|Macintosh/, "macOS"],
  [/CrOS/, "ChromeOS"],
  [/Linux/, "Linux"]
]

const nameIn = (names: typeof browsers, text: string): string | undefined =>
  names.find(([sign]) => sign.test(text))?.[1]

/** For example `Firefox on Linux`; null for a program that says nothing known. */
export const browserOf = (userAgent: string | undefined): string | null => {
  if (userAgent === undefined) return null
  const browser = nameIn(browsers, userAgent)
  const system = nameIn(systems, userAgent)
  if (browser === undefined) return system === undefined ? null : `a program on ${system}`
  return system === undefined ? browser : `${browser} on ${system}`
}
