/**
 * One organization's endpoints beside another's, and odd receivers beside the platform (docs/platform.md,
 * 7.4), on the running platform with real receivers. Endpoints have so long for their answer that nothing here ends by
 * running out of time.
 */
import { once } from "node:events"
import { type AddressInfo, createServer, type Socket } from "node:net"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { answering, type Behaviour } from "./receiver.ts"
import { eventually, useWhole } from "./whole.ts"

const whole = useWhole({ SLUICE_WEBHOOK_TIMEOUT_MILLIS: "60000" })

describe("an organization whose endpoints hang after they have answered well", () => {
  it("keeps no event of another one waiting", async () => {
    const [bad, good] = [await whole().tenant(), await whole().tenant()]
    const hooks = await Promise.all(Array.from({ length: 24 }, () => bad.hook()))
    const healthy = await good.hook()
    const warming = 24
    await bad.happens("telco.lookup.completed", warming)
    for (const hook of hooks) await hook.receives(warming)
    let hanging = 0
    let ended = 0
    const hang: Behaviour = (response) => {
      hanging++
      response.once("close", () => ended++)
    }
    for (const hook of hooks) whole().receiver.answer(hook.to, hang)
    await bad.happens("telco.lookup.completed", 25)
    await eventually(() => expect(hanging).toBeGreaterThan(100))
    for (let count = 1; count <= 60; count++) {
      await good.happens("telco.lookup.completed")
      await healthy.receives(count)
    }
    expect(ended).toBe(0)
    // So that the platform need not wait for them when it stops.
    for (const hook of hooks) whole().receiver.answer(hook.to, answering(200))
  })
})

describe("an endpoint that takes more than a second for each of many", () => {
  it("gets many at a time, and shows what waits", async () => {
    const tenant = await whole().tenant()
    const hook = await tenant.hook()
    whole().receiver.answer(hook.to, (response) => void setTimeout(() => response.end(), 1_200))
    const begunAt = Date.now()
    await tenant.happens("telco.lookup.completed", 60)
    const shown = await eventually(async () => {
      const endpoint = await hook.shown()
      expect(endpoint.pending).toBeGreaterThan(0)
      return endpoint
    })
    expect(shown.oldest_pending_at).toBeGreaterThanOrEqual(begunAt - 1_000)
    await hook.receives(60)
    await hook.deliveries(60, "succeeded")
    expect(whole().receiver.mostAtOnce(hook.to)).toBeGreaterThan(8)
    await eventually(async () => expect(await hook.shown()).toMatchObject({ pending: 0, oldest_pending_at: null }))
  })
})

describe("a receiver that answers as no HTTP server does", () => {
  const chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
  const flood = (socket: Socket) => {
    socket.write(chunked)
    const go = () => {
      while (!socket.destroyed && socket.write("1;xxxxxxxxxxxxxxxx\r\na\r\n".repeat(1_000)));
    }
    socket.on("drain", go)
    go()
  }
  const answers: Readonly<Record<string, (socket: Socket) => void>> = {
    flood,
    cut: (socket) => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nbeginning"),
    text: (socket) => socket.end("hello\r\n")
  }
  let closed = 0
  const server = createServer((socket) => {
    socket.on("error", () => undefined)
    socket.on("close", () => closed++)
    socket.once("data", (bytes) => answers[/^POST \/(\w+)/.exec(bytes.toString("latin1"))?.[1] ?? ""]?.(socket))
  })
  beforeAll(async () => {
    server.listen(0, "127.0.0.1")
    await once(server, "listening")
  })
  afterAll(() => void server.close())

  it.each([
    ["flood", "succeeded", { status: 200, error: "The answer has more than 65536 bytes" }],
    ["cut", "succeeded", { status: 200, error: "The answer broke off" }],
    ["text", "failed", { status: 0, error: "The answer is not HTTP" }]
  ])("is closed, and its owner reads why: %s", async (kind, status, expected) => {
    const before = closed
    const tenant = await whole().tenant()
    const hook = await tenant.hook(["telco.*"], `http://127.0.0.1:${(server.address() as AddressInfo).port}/${kind}`)
    await tenant.happens("telco.lookup.completed")
    const [delivery] = await hook.deliveries(1, status)
    expect(delivery!.attempts[0]).toMatchObject(expected)
    await eventually(() => expect(closed).toBeGreaterThan(before))
  })
})
