/**
 * Tracks the connections whose requests wait on the fast lane, with the unanswered ones of each. A connection is watched
 * once, not for each of its requests; a request that waits behind another one is also notified of its end.
 */
import type { Socket } from "node:net"
import { type Link, PendingAnswers } from "./PendingAnswers.ts"

const key = Symbol("sluice/http/fast/Connection")

/** A request that a connection waits for. */
export interface PendingRequest extends Link {
  /** Ends the request when the server no longer waits. */
  stop(): void
  /** Ends the request when its client no longer waits. */
  lost(): void
}

type Known = Socket & { [key]?: Connection }

export class Connection implements Link {
  before: Link | undefined
  after: Link | undefined
  /** Its unanswered requests. */
  readonly pending = new PendingAnswers<PendingRequest>()
}

export class Connections {
  private readonly open = new PendingAnswers<Connection>()

  of(socket: Known): Connection {
    socket[key] ??= this.watch(socket)
    return socket[key]
  }

  /** A copy of the unanswered requests. */
  pending(): ReadonlyArray<PendingRequest> {
    return this.open.all().flatMap(({ pending }) => pending.all())
  }

  private watch(socket: Socket): Connection {
    const connection = new Connection()
    this.open.add(connection)
    socket.once("close", () => {
      this.open.delete(connection)
      for (const request of connection.pending.all()) request.lost()
    })
    return connection
  }
}
