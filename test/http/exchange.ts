/**
 * Requests as bytes on a socket: what `fetch` would repair, refuse or never send (a method nobody knows, percent escapes
 * that are no UTF-8, a header of a megabyte) reaches the server as it is. One connection a request.
 */
import { connect } from "node:net"

/** A request that got no answer in this time hangs; the slowest documented answer takes a fraction of it. */
export const hangMillis = 20_000

export interface Answer {
  readonly status: number
  /** Lower-case names; of repeated headers the last. */
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

/** The body as JSON; throws where it is none. */
export const jsonOf = (answer: Answer): unknown => JSON.parse(answer.text)

const decodeChunked = (body: Buffer): Buffer => {
  const chunks: Array<Buffer> = []
  let at = 0
  for (;;) {
    const end = body.indexOf("\r\n", at)
    if (end === -1) throw new Error("a chunked answer was cut off")
    const size = Number.parseInt(body.toString("latin1", at, end), 16)
    if (size === 0) return Buffer.concat(chunks)
    chunks.push(body.subarray(end + 2, end + 2 + size))
    at = end + 2 + size + 2
  }
}

const parse = (bytes: Buffer): Answer => {
  const end = bytes.indexOf("\r\n\r\n")
  if (end === -1) throw new Error(`no HTTP answer: ${JSON.stringify(bytes.toString("latin1").slice(0, 200))}`)
  const [statusLine, ...lines] = bytes.toString("latin1", 0, end).split("\r\n")
  const status = /^HTTP\/1\.1 (\d{3})/.exec(statusLine!)?.[1]
  if (status === undefined) throw new Error(`no HTTP answer: ${statusLine}`)
  const headers = Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(":")
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
    })
  )
  const rest = bytes.subarray(end + 4)
  const body = headers["transfer-encoding"] === "chunked" ? decodeChunked(rest) : rest
  return { status: Number(status), headers, text: body.toString("utf8") }
}

/**
 * Sends the bytes and reads until the server hangs up, so they must ask for it (`Connection: close`) or be such that it
 * does so by itself. Rejects when there is no whole answer in time.
 */
export const exchange = (url: string, ...bytes: ReadonlyArray<string | Uint8Array>): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url)
    const received: Array<Buffer> = []
    const socket = connect({ host: hostname, port: Number(port) })
    const settle = (error?: Error) => {
      clearTimeout(timer)
      socket.destroy()
      try {
        resolve(parse(Buffer.concat(received)))
      } catch (cause) {
        reject(error ?? cause)
      }
    }
    const timer = setTimeout(() => settle(new Error(`no answer within ${hangMillis} ms`)), hangMillis)
    socket.on("data", (chunk) => received.push(chunk))
    socket.once("end", () => settle())
    // A server that refuses what is still being sent may reset the connection after its answer.
    socket.once("error", settle)
    for (const part of bytes) socket.write(part)
  })

export interface RawRequest {
  readonly method?: string
  /** The request target, byte for byte. */
  readonly target: string
  readonly headers?: ReadonlyArray<readonly [name: string, value: string]>
  readonly body?: string | Uint8Array
}

/** Sends a request with the given target and headers as they are. */
export const send = (url: string, request: RawRequest): Promise<Answer> => {
  const body = request.body === undefined ? undefined : Buffer.from(request.body)
  const lines = [
    `${request.method ?? "GET"} ${request.target} HTTP/1.1`,
    `Host: ${new URL(url).host}`,
    "Connection: close",
    ...(request.headers ?? []).map(([name, value]) => `${name}: ${value}`),
    ...(body === undefined ? [] : [`Content-Length: ${body.byteLength}`])
  ]
  return exchange(url, Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "utf8"), body ?? "")
}
