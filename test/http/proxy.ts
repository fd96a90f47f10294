/**
 * A TCP proxy in front of a server that the platform uses, so that a test decides when that server is away: gone, as when
 * its process was killed, or silent, as when the network between them has failed.
 */
import { once } from "node:events"
import { type AddressInfo, connect, createServer, type Socket } from "node:net"

export interface TcpProxy {
  readonly port: number
  /** Cuts every connection and refuses new ones. */
  readonly cut: () => void
  /** Passes nothing on any more, and closes nothing. */
  readonly silence: () => void
  /** Lets everything through again; connections that were silent go on. */
  readonly restore: () => void
  readonly close: () => Promise<void>
}

/** Listens on a free port of loopback and passes everything on to the target. */
export const startProxy = async (target: { readonly host: string; readonly port: number }): Promise<TcpProxy> => {
  const sockets = new Set<Socket>()
  let state: "open" | "cut" | "silent" = "open"

  const pass = (from: Socket, to: Socket) => {
    sockets.add(from)
    from.setNoDelay(true)
    from.on("data", (chunk) => {
      if (!to.write(chunk)) from.pause()
    })
    to.on("drain", () => {
      if (state !== "silent") from.resume()
    })
    from.on("end", () => to.end())
    from.on("error", () => {})
    from.on("close", () => {
      sockets.delete(from)
      to.destroy()
    })
    if (state === "silent") from.pause()
  }

  const server = createServer((incoming) => {
    if (state === "cut") {
      incoming.on("error", () => {})
      incoming.resetAndDestroy()
      return
    }
    const outgoing = connect(target)
    pass(incoming, outgoing)
    pass(outgoing, incoming)
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")

  return {
    port: (server.address() as AddressInfo).port,
    cut: () => {
      state = "cut"
      for (const socket of sockets) socket.resetAndDestroy()
    },
    silence: () => {
      state = "silent"
      for (const socket of sockets) socket.pause()
    },
    restore: () => {
      state = "open"
      for (const socket of sockets) socket.resume()
    },
    close: async () => {
      const closed = once(server, "close")
      server.close()
      for (const socket of sockets) socket.destroy()
      await closed
    }
  }
}

/** The proxy's address in the place of the server's own. */
export const through = (url: string, proxy: TcpProxy): string => {
  const proxied = new URL(url)
  proxied.host = `127.0.0.1:${proxy.port}`
  return proxied.toString()
}

/** Starts a proxy in front of the server that the URL names. */
export const proxyOf = (url: string): Promise<TcpProxy> => {
  const { hostname, port } = new URL(url)
  return startProxy({ host: hostname, port: Number(port) })
}
