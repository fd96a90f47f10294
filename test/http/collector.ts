/** An OTLP collector over HTTP that takes everything and keeps it, so that a test can look for what must not be there. */
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

export interface Export {
  readonly path: string
  readonly headers: string
  readonly body: string
}

export interface Collector {
  readonly url: string
  readonly exports: () => ReadonlyArray<Export>
  readonly close: () => Promise<void>
}

export const startCollector = async (): Promise<Collector> => {
  const exports: Array<Export> = []
  const server = createServer((request, response) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      exports.push({
        path: request.url ?? "",
        headers: request.rawHeaders.join("\n"),
        body: Buffer.concat(chunks).toString("utf8")
      })
      response.setHeader("content-type", "application/json")
      response.end("{}")
    })
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    exports: () => exports,
    close: async () => {
      server.closeAllConnections()
      server.close()
    }
  }
}
