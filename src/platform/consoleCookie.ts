/**
 * Reads and writes the cookie of a console's session (docs/platform.md, 12.1). It counts only together with a header of
 * our own, which no page of another site can send, so that another site cannot make a browser act for the signed-in
 * user. Pure.
 */

/** The prefix of a session's text. */
export const sessionPrefix = "cs_"

/** The header that a request with the cookie must have. */
export const consoleHeader = "x-sluice-console"

/** The cookies of organizations' sessions and of operators': a browser gives a cookie to every port of a host. */
export const sessionCookie = "sluice_session"
export const operatorCookie = "sluice_operator"

const cookieOf = (header: string | undefined, name: string): string | undefined => {
  for (const part of header?.split(";") ?? []) {
    const equals = part.indexOf("=")
    if (equals !== -1 && part.slice(0, equals).trim() === name) return part.slice(equals + 1).trim()
  }
  return undefined
}

/** The value of the header by which a member's session acts in test mode; with any other it acts in live mode. */
export const testMode = "test"

/** The prefixes of a session's text in both modes. A member's session has the same random part in both. */
export const livePrefix = `${sessionPrefix}live_`
export const testPrefix = `${sessionPrefix}test_`

/**
 * The session's text in a request's cookie; undefined without one, or if the header is missing. The text of a session
 * that is not a member's is unknown in the other mode.
 */
export const givenSession = (
  headers: Readonly<Record<string, string | undefined>>,
  name = sessionCookie
): string | undefined => {
  if (headers[consoleHeader] === undefined) return undefined
  const text = cookieOf(headers.cookie, name)
  if (text?.startsWith(sessionPrefix) !== true) return undefined
  return headers[consoleHeader] === testMode && text.startsWith(livePrefix)
    ? `${testPrefix}${text.slice(livePrefix.length)}`
    : text
}

/**
 * The value of `Set-Cookie`: hidden from scripts, sent to this site only, and over https only if the page came by
 * https. `seconds` is 0 to end it.
 */
export const cookieText = (
  name: string,
  text: string,
  { origin, seconds }: { readonly origin: string | undefined; readonly seconds: number }
): string =>
  `${name}=${text}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${origin?.startsWith("https://") === true ? "; Secure" : ""}`
