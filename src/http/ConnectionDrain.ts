/**
 * Stops a Node listener without losing a request, and serves clients that have sent their request and closed their own
 * side. A server that closes a kept-alive connection races the client's next request; so for a while every answer says
 * `Connection: close`, and the clients close their connections.
 */
import { Server as NetServer, type Socket } from "node:net"
import { Effect } from "effect"
import type { FrontedServer } from "./fast/FrontedServer.ts"

/** How long answers say that the connection closes, while new connections are still accepted. */
const drainMillis = 1_000
/** How long connections that were accepted at the very end have to send their request. */
const lingerMillis = 250
/** How often to check whether all connections are closed. */
const lookMillis = 10

/** A connection with the answer that Node is writing to it. */
interface Answering extends Socket {
  readonly _httpMessage?: { readonly headersSent: boolean; readonly _header?: string | null } | null
}

/** Answers that stream events as they come, and are silent in between. */
const streamPattern = /^content-type: *(?:text\/event-stream|application\/x-ndjson)/im

export interface ConnectionDrain {
  /** Asks every client to close, then waits for open requests, at most `patienceMillis`. */
  readonly drain: (patienceMillis: number) => Effect.Effect<void>
  /** Closes the connections that are left. */
  readonly close: Effect.Effect<void>
}

/** Starts to watch the connections of a server that does not listen yet. */
export const watchConnections = (server: FrontedServer): ConnectionDrain => {
  const sockets = new Set<Socket>()

  server.on("connection", (socket: Answering) => {
    sockets.add(socket)
    socket.once("close", () => sockets.delete(socket))
    socket.once("end", () => {
      // A client that has closed its side no longer reads a stream, and a stream may have nothing to write for long.
      if (streamPattern.test(socket._httpMessage?._header ?? "")) socket.destroy()
    })
  })
  // A client that closes its side after the request still reads the answer.
  Object.assign(server, { httpAllowHalfOpen: true })

  const gone = (withinMillis: number) =>
    Effect.suspend(() => (sockets.size === 0 ? Effect.void : Effect.sleep(lookMillis))).pipe(
      Effect.repeat({ until: () => sockets.size === 0 }),
      Effect.timeoutOption(withinMillis)
    )

  return {
    drain: Effect.fnUntraced(function* (patienceMillis) {
      server.isClosing = true
      yield* gone(drainMillis)
      // Not the HTTP server's own `close`, which would also close connections that are about to send.
      NetServer.prototype.close.call(server)
      yield* gone(lingerMillis)
      server.closeIdleConnections()
      // Connections that clients opened in advance and never used; Node does not count them as idle.
      for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
      yield* gone(patienceMillis)
    }),
    close: Effect.sync(() => server.closeAllConnections())
  }
}
