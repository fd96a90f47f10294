/**
 * Tracks the connections whose POSTs the fast lane handles, with the unanswered POSTs of each. A connection is watched
 * once, not for each of its requests; a request that waits behind another one is also notified of its end.
 */
import type { Socket } from "node:net"
import { type Link, PendingAnswers } from "./PendingAnswers.ts"

const key = Symbol("sluice/http/fast/Connection")

/** A POST that a connection waits for. */
export interface PendingPost extends Link {
  /** Ends the request when the server no longer waits. */
  stop(): void
  /** Ends the request when its client no longer waits. */
  lost(): void
}

type Known = Socket & { [key]?: Connection }

export class Connection implements Link {
  before: Link | undefined
  after: Link | undefined
  /** Its unanswered POSTs. */
  readonly posts = new PendingAnswers<PendingPost>()
}

export class Connections {
  private readonly open = new PendingAnswers<Connection>()

  of(socket: Known): Connection {
    socket[key] ??= this.watch(socket)
    return socket[key]
  }

  /** A copy of the unanswered POSTs. */
  posts(): ReadonlyArray<PendingPost> {
    return this.open.all().flatMap(({ posts }) => posts.all())
  }

  private watch(socket: Socket): Connection {
    const connection = new Connection()
    this.open.add(connection)
    socket.once("close", () => {
      this.open.delete(connection)
      for (const post of connection.posts.all()) post.lost()
    })
    return connection
  }
}
