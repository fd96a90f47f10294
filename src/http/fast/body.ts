/**
 * Reads the whole body of a request of known length, so that it can still be given back: the general path then finds
 * the request as if nobody had read it.
 */
import type { IncomingMessage } from "node:http"

/**
 * The length that a request announces; undefined when there is none, when it is no number, or when the body is chunked.
 */
export const announcedLength = ({ headers }: IncomingMessage): number | undefined => {
  if (headers["transfer-encoding"] !== undefined) return undefined
  const length = headers["content-length"]
  return length === undefined ? 0 : /^\d{1,9}$/.test(length) ? Number(length) : undefined
}

/** Calls `whole` once with all bytes of the body, or never if the connection is lost before. */
export const readBody = (request: IncomingMessage, length: number, whole: (body: Buffer) => void): void => {
  const parts: Array<Buffer> = []
  let received = 0
  const take = (part: Buffer) => {
    parts.push(part)
    received += part.byteLength
    if (received < length) return
    request.off("data", take)
    // Whoever goes on with the request must not have missed its end.
    request.pause()
    whole(parts.length === 1 ? part : Buffer.concat(parts))
  }
  request.on("data", take)
}

const ignore = (): void => {}

/** Gives a body back. Call it at once, within the call that brought the body, since the stream ends after that. */
export const giveBack = (request: IncomingMessage, body: Buffer): void => {
  request.unshift(body)
  // Undoes the pause in the way of a stream that nobody has read yet: it flows when somebody listens for its data.
  request.on("readable", ignore)
  request.off("readable", ignore)
}
