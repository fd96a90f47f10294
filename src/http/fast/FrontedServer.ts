/**
 * Extends Node's server by a front before its listeners. The front sees every request first and either answers it or
 * leaves it. It gets requests in the order in which Node emits them, and Node puts the answers of one connection in
 * order.
 */
import { type IncomingMessage, Server, type ServerResponse } from "node:http"

/** Answers a request, or returns false and leaves it untouched. */
export type Answering = (request: IncomingMessage, response: ServerResponse) => boolean

export class FrontedServer extends Server {
  /** The front before the listeners; undefined while there is none. */
  front: Answering | undefined
  /** Whether every answer closes its connection, from either path. */
  isClosing = false

  override emit(event: string | symbol, ...given: Array<unknown>): boolean {
    if (event === "request") {
      const [request, response] = given as [IncomingMessage, ServerResponse]
      if (this.isClosing) response.shouldKeepAlive = false
      if (this.isAnswered(request, response)) return true
    }
    return super.emit(event as string, ...given)
  }

  private isAnswered(request: IncomingMessage, response: ServerResponse): boolean {
    try {
      return this.front?.(request, response) === true
    } catch {
      // The listeners meet a defect again and report it; here it would end the process.
      return response.headersSent
    }
  }
}
