/**
 * Bounds a receiver's answer to a delivery (docs/platform.md, 7.4): all bytes that come over its connection count, so
 * interim answers, chunk extensions and trailers do not escape the bound. It wraps undici's connector, because undici
 * itself counts bodies and headers only. Needs no service.
 */
import { Data } from "effect"
import type { buildConnector } from "undici"

/** The receiver has sent more than the bound; the connection is closed. */
export class AnswerTooLarge extends Data.TaggedError("AnswerTooLarge")<{
  readonly message: string
}> {}

export const answerTooLarge = (maximumBytes: number): AnswerTooLarge =>
  new AnswerTooLarge({ message: `The answer has more than ${maximumBytes} bytes` })

/** Makes a connector whose connections break with `AnswerTooLarge` if an answer has more bytes. */
export const boundingAnswers =
  (connect: buildConnector.connector, maximumBytes: number): buildConnector.connector =>
  (options, callback) =>
    connect(options, (...connected) => {
      callback(...connected)
      const [error, socket] = connected
      if (error !== null) return
      let written = 0
      let read = 0
      // Undici reads the connection itself; a listener beside it sees what it reads and takes nothing away.
      socket.on("data", (chunk: Buffer) => {
        // A request that was written since begins another answer.
        if (socket.bytesWritten !== written) {
          written = socket.bytesWritten
          read = 0
        }
        const before = read
        read += chunk.length
        // The chunk itself is still parsed: the status may be in it.
        if (before <= maximumBytes && read > maximumBytes)
          queueMicrotask(() => void socket.destroy(answerTooLarge(maximumBytes)))
      })
    })
