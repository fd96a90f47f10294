/** A server that takes webhooks and keeps them. It refuses those with a certain text. */
import { createServer, type IncomingHttpHeaders } from "node:http"
import type { AddressInfo } from "node:net"

export interface HookRequest {
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** `refused`: a body with this text is answered with 500. */
export const startHook = async (refused?: string) => {
  const requests: Array<HookRequest> = []
  const server = createServer((request, response) => {
    let body = ""
    request.setEncoding("utf8").on("data", (text: string) => {
      body += text
    })
    request.on("end", () => {
      requests.push({ headers: request.headers, body })
      response.writeHead(refused !== undefined && body.includes(refused) ? 500 : 200).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/golden`,
    requests,
    stop: () => {
      server.closeAllConnections()
      server.close()
    }
  }
}
