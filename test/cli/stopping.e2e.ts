/**
 * Connections at a running platform and at its end: a client that closes its own side gets its answer, and a stop under
 * load loses no request on connections that are kept alive.
 */
import { connect, type Socket } from "node:net"
import { afterAll, beforeAll, expect, inject, it } from "vitest"
import { type Platform, startPlatform } from "../support/platform.ts"
import { until, useDatabases } from "./support.ts"

const database = useDatabases()
let platform: Platform

beforeAll(async () => {
  const url = await database("seeded")
  platform = await startPlatform({ DATABASE_URL: url, NATS_URL: inject("natsUrl") })
})

afterAll(async () => {
  platform.process.kill("SIGKILL")
  await platform.finished
})

const open = (): Socket => {
  const { hostname, port } = new URL(platform.url)
  return connect({ host: hostname, port: Number(port), allowHalfOpen: true })
}

const request = (path: string): string =>
  `GET ${path} HTTP/1.1\r\nHost: sluice\r\nAuthorization: Bearer ${platform.demoKey}\r\n\r\n`

it("answers a client that has closed its own side after the request, and then closes the connection", async () => {
  const socket = open()
  let received = ""
  socket.setEncoding("utf8").on("data", (text: string) => {
    received += text
  })
  const ended = new Promise((resolve) => socket.once("end", resolve))
  socket.end(request("/v1/npa/212?limit=1"))
  await ended
  socket.destroy()
  expect(received).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
  expect(received).toMatch(/"pagination":\{"limit":1,"offset":0,"total":800\}\}$/)
})

it("gives an event stream's place back when its reader closes the connection", async () => {
  // 20 is the bound of an organization, so each round needs the places of the one before.
  for (let round = 0; round < 2; round++) {
    const sockets = await Promise.all(
      Array.from({ length: 20 }, async () => {
        for (;;) {
          const socket = open()
          const first = await new Promise<string>((resolve) => {
            socket.setEncoding("utf8").once("data", resolve)
            socket.write(request("/v1/events/stream"))
          })
          if (first.startsWith("HTTP/1.1 200")) return socket
          expect(first).toMatch(/^HTTP\/1\.1 429/)
          socket.destroy()
        }
      })
    )
    for (const socket of sockets) socket.end()
  }
})

/** One connection that asks again and again. Tells how many answers it got, and whether one is missing at its end. */
const asker = () => {
  const socket = open()
  let answers = 0
  let waiting = false
  let goodbye = false
  let buffer = ""
  const ask = () => {
    waiting = true
    socket.write(request("/v1/npa/212?limit=100"))
  }
  socket.once("connect", ask)
  socket.setEncoding("utf8").on("data", (text: string) => {
    buffer += text
    const end = buffer.indexOf("\r\n\r\n")
    if (end === -1) return
    const head = buffer.slice(0, end)
    const length = Number(/content-length: (\d+)/i.exec(head)![1])
    if (Buffer.byteLength(buffer) < end + 4 + length) return
    buffer = ""
    waiting = false
    answers++
    goodbye = /connection: close/i.test(head)
    if (goodbye) socket.end()
    else ask()
  })
  const closed = new Promise<void>((resolve) => {
    socket.on("error", () => {})
    socket.once("close", () => resolve())
    socket.once("end", () => socket.destroy())
  })
  return { answers: () => answers, closed, result: () => ({ lost: waiting, goodbye }) }
}

it("loses no request of 32 busy connections when it is stopped, and tells balancers first", async () => {
  const askers = Array.from({ length: 32 }, asker)
  // An idle one and one that was never used end too, and until then the rest is still answered.
  const unused = open()
  const idle = open()
  idle.write(request("/livez"))
  await until(() => askers.every(({ answers }) => answers() > 20))
  platform.process.kill("SIGTERM")
  await until(async () => {
    const ready = await fetch(`${platform.url}/readyz`)
    return ready.status === 503 && (await ready.text()).includes("The server is stopping")
  })
  await Promise.all(askers.map(({ closed }) => closed))
  expect(askers.map(({ result }) => result())).toEqual(askers.map(() => ({ lost: false, goodbye: true })))
  const { code, signal } = await platform.finished
  expect({ code, signal }).toEqual({ code: 0, signal: null })
  unused.destroy()
  idle.destroy()
})
