/**
 * The connections whose POSTs the fast lane takes, and those of each that are not answered yet. A connection is watched
 * once, not for each of its requests; a request that waits behind another one hears of its end too.
 */
import type { Socket } from "node:net"
import { type Link, PendingAnswers } from "./PendingAnswers.ts"
import type { Post } from "./Post.ts"

const key = Symbol("sluice/http/fast/Connection")

type Known = Socket & { [key]?: Connection }

export class Connection implements Link {
  before: Link | undefined
  after: Link | undefined
  /** Its POSTs that are not answered yet. */
  readonly posts = new PendingAnswers<Post>()
}

export class Connections {
  private readonly open = new PendingAnswers<Connection>()

  of(socket: Known): Connection {
    socket[key] ??= this.watch(socket)
    return socket[key]
  }

  /** The POSTs that are not answered yet, as they are now. */
  posts(): ReadonlyArray<Post> {
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
