/**
 * How a listener of Node ends without losing a request, and what it does with a client that has sent its request and
 * closed its own side. A connection that is kept alive cannot be closed by the server without racing the client's next
 * request; so for a while every answer says `Connection: close`, and the clients close them.
 */
import { Server as NetServer, type Socket } from "node:net"
import { Effect } from "effect"
import type { FrontedServer } from "./fast/Front.ts"

/** For so long answers say that the connection closes, while new ones are still taken. */
const drainMillis = 1_000
/** For so long connections that were taken at the very end may send their request. */
const lingerMillis = 250
/** How often it is looked whether all are gone. */
const lookMillis = 10

/** What Node keeps of a connection: the answer that is being written. */
interface Answering extends Socket {
  readonly _httpMessage?: { readonly headersSent: boolean; readonly _header?: string | null } | null
}

export interface Draining {
  /** Says goodbye to every client, then waits for requests under way as long as they may take. */
  readonly drain: (patienceMillis: number) => Effect.Effect<void>
  /** Ends what is left. */
  readonly close: Effect.Effect<void>
}

/** Watches the connections of a server that does not listen yet. */
export const watchConnections = (server: FrontedServer): Draining => {
  const sockets = new Set<Socket>()

  server.on("connection", (socket: Answering) => {
    sockets.add(socket)
    socket.once("close", () => sockets.delete(socket))
    socket.once("end", () => {
      // Who has closed the connection reads no stream any more, and one may have nothing to write for long.
      if (/^content-type: *text\/event-stream/im.test(socket._httpMessage?._header ?? "")) socket.destroy()
    })
  })
  // Who closes the own side after the request still reads the answer.
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
      // Opened in advance and never used, which Node does not count as idle.
      for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
      yield* gone(patienceMillis)
    }),
    close: Effect.sync(() => server.closeAllConnections())
  }
}
