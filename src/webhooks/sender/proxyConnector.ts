/**
 * Opens connections through an HTTP proxy (docs/platform.md, 6.12). The proxy gets a `CONNECT` with the address that the
 * guard has checked, never a name, so it cannot be led elsewhere; TLS and the `Host` header keep the name. Needs no
 * service.
 */
import { connect as connectTcp, isIP, type LookupFunction, type Socket } from "node:net"
import { connect as connectTls } from "node:tls"
import { buildConnector } from "undici"
import type { EgressProxy } from "./egressProxy.ts"

/** How long the proxy may take until it can be spoken to, and for its answer to `CONNECT`. */
const connectMillis = 5_000
const answerMillis = 10_000

/** The longest answer to `CONNECT`, in bytes. */
const maximumAnswerBytes = 8_192

/**
 * A connection through the proxy that failed. The message is for the owner of the endpoint, and names neither the
 * proxy's address nor its credentials.
 */
export class ProxyFailed extends Error {
  readonly code = "ERR_EGRESS_PROXY"
  /** Whether it is certainly no fault of the endpoint. */
  readonly isOurs: boolean

  constructor(message: string, isOurs: boolean) {
    super(message)
    this.isOurs = isOurs
  }
}

/** Acts when the time is over, unless the answer is called before. Undici calls a connector outside of every fiber. */
export type After = (millis: number, act: () => void) => () => void

type Done<A> = (error: Error | null, value: A | undefined) => void

/** Calls `done` once. */
const once = <A>(done: Done<A>): Done<A> => {
  let isDone = false
  return (error, value) => {
    if (isDone) return
    isDone = true
    done(error, value)
  }
}

/** Opens a connection to the proxy itself. */
const reach = ({ host, isSecure, port }: EgressProxy, after: After, given: Done<Socket>): void => {
  const fail = () => {
    socket.destroy()
    done(new ProxyFailed("The egress proxy could not be reached", true), undefined)
  }
  const cancel = after(connectMillis, fail)
  const done = once<Socket>((error, value) => {
    cancel()
    given(error, value)
  })
  const socket = isSecure
    ? connectTls({ host, port, ...(isIP(host) === 0 ? { servername: host } : {}), ALPNProtocols: ["http/1.1"] })
    : connectTcp({ host, port })
  socket.once("error", fail)
  socket.once(isSecure ? "secureConnect" : "connect", () => {
    socket.removeListener("error", fail)
    done(null, socket)
  })
}

/** The fault of the proxy's answer to `CONNECT`; undefined where the way is open. */
const faultOf = (head: string): ProxyFailed | undefined => {
  const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(head)?.[1] ?? 0)
  if (status >= 200 && status <= 299) return undefined
  if (status === 407) return new ProxyFailed("The egress proxy refused its credentials (407)", true)
  // Proxies answer so where the target cannot be reached.
  if (status === 502 || status === 503 || status === 504)
    return new ProxyFailed(`The host could not be reached: the egress proxy answered ${status}`, false)
  return new ProxyFailed(
    status === 0 ? "The egress proxy did not answer in HTTP" : `The egress proxy refused the connection (${status})`,
    true
  )
}

/** Asks the proxy for the way to an address. */
const tunnel = (socket: Socket, proxy: EgressProxy, target: string, after: After, given: Done<Socket>): void => {
  let head = ""
  const fail = (error: ProxyFailed) => {
    socket.destroy()
    done(error, undefined)
  }
  const closed = () => fail(new ProxyFailed("The egress proxy closed the connection", true))
  // It may be waiting for the target.
  const cancel = after(answerMillis, () => fail(new ProxyFailed("The egress proxy gave no answer in time", false)))
  const read = (chunk: Buffer) => {
    head += chunk.toString("latin1")
    const end = head.indexOf("\r\n\r\n")
    if (end < 0 && head.length <= maximumAnswerBytes) return
    const fault = end < 0 ? new ProxyFailed("The answer of the egress proxy is too large", true) : faultOf(head)
    if (fault !== undefined) return void fail(fault)
    // The target does not speak before it is spoken to.
    if (head.length > end + 4) return void fail(new ProxyFailed("The egress proxy did not answer in HTTP", true))
    done(null, socket)
  }
  const done = once<Socket>((error, value) => {
    cancel()
    socket.removeListener("data", read)
    socket.removeListener("close", closed)
    if (error === null) socket.removeListener("error", closed)
    socket.pause()
    given(error, value)
  })
  socket.on("data", read)
  socket.once("close", closed)
  socket.on("error", closed)
  const authorization = proxy.authorization === undefined ? "" : `Proxy-Authorization: ${proxy.authorization}\r\n`
  socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n${authorization}\r\n`)
}

/** The checked address of a host, as `CONNECT` writes it. */
const addressOf = (lookup: LookupFunction, hostname: string, done: Done<string>): void => {
  const host = hostname.replace(/^\[|\]$/g, "")
  const written = (address: string, family: number) => (family === 6 ? `[${address}]` : address)
  if (isIP(host) !== 0) {
    done(null, written(host, isIP(host)))
    return
  }
  lookup(host, { all: true }, (error, answers) => {
    const first = Array.isArray(answers) ? answers[0] : undefined
    if (error !== null) done(error, undefined)
    else if (first === undefined)
      done(Object.assign(new Error(`${host} has no address`), { code: "ENOTFOUND" }), undefined)
    else done(null, written(first.address, isIP(first.address)))
  })
}

/**
 * A connector of undici that goes through a proxy. `lookup` gives the addresses that were checked, `after` the time.
 */
export const proxyConnector = (proxy: EgressProxy, lookup: LookupFunction, after: After): buildConnector.connector => {
  const secure = buildConnector({ allowH2: false })
  return (options, callback) => {
    const fail = (error: Error) => callback(error, null)
    const port = options.port || (options.protocol === "https:" ? "443" : "80")
    addressOf(lookup, options.hostname, (unresolved, address) => {
      if (address === undefined) return fail(unresolved!)
      reach(proxy, after, (unreached, reached) => {
        if (reached === undefined) return fail(unreached!)
        tunnel(reached, proxy, `${address}:${port}`, after, (refused, socket) => {
          if (socket === undefined) return fail(refused!)
          if (options.protocol === "https:") secure({ ...options, httpSocket: socket }, callback)
          else callback(null, socket)
        })
      })
    })
  }
}
