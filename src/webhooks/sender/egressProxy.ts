/** Defines the proxy through which deliveries leave (docs/platform.md, 6.12), and reads its address. Pure. */

/** A proxy: its place, and the credentials that it wants. See {@link HttpSender.make}. */
export interface EgressProxy {
  readonly isSecure: boolean
  readonly host: string
  readonly port: number
  /** The value of `Proxy-Authorization`. */
  readonly authorization: string | undefined
}

/** Reads an address such as `http://user:password@host:3128`; undefined if it is none. */
export const parseProxy = (text: string): EgressProxy | undefined => {
  const url = URL.parse(text)
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:") || url.hostname === "") return undefined
  if (url.pathname !== "/" || url.search !== "" || url.hash !== "") return undefined
  const isSecure = url.protocol === "https:"
  try {
    const credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`
    return {
      isSecure,
      host: url.hostname.replace(/^\[|\]$/g, ""),
      port: url.port === "" ? (isSecure ? 443 : 80) : Number(url.port),
      authorization: credentials === ":" ? undefined : `Basic ${Buffer.from(credentials).toString("base64")}`
    }
  } catch {
    return undefined
  }
}
