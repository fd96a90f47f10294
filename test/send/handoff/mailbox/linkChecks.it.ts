/** Checking the links of a mail (docs/handoff.md, 3.4), against servers on this machine: what leads somewhere, and where nothing is asked. */
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { makeLinkChecks } from "../../../../src/send/handoff/mailbox/LinkChecks.ts"
import { makeTargetGuard, type TargetPolicy } from "../../../../src/webhooks/target/targets.ts"

let server: Server
let port = 0
const asked: Array<string> = []

beforeAll(async () => {
  server = createServer(({ method, url }, answer) => {
    asked.push(`${method} ${url}`)
    if (url === "/moved") answer.writeHead(302, { location: "/ok" })
    else if (url === "/round") answer.writeHead(302, { location: "/round" })
    else if (url === "/out") answer.writeHead(302, { location: "ftp://elsewhere.test/" })
    else if (url === "/get-only" && method === "HEAD") answer.writeHead(405)
    else if (url === "/gone") answer.writeHead(404)
    else answer.writeHead(200, { "content-type": "text/plain" })
    answer.end("x".repeat(1_000))
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  port = (server.address() as AddressInfo).port
})
afterAll(() => void server.close())

const resolve = async (host: string) => {
  if (host.endsWith(".inside.test")) return [{ address: "127.0.0.1", family: 4 }]
  throw Object.assign(new Error("unknown"), { code: "ENOTFOUND" })
}

const check = (policy: TargetPolicy, urls: ReadonlyArray<string>) =>
  Effect.runPromise(
    Effect.scoped(Effect.flatMap(makeLinkChecks(makeTargetGuard(policy, resolve)), (checks) => checks.check(urls)))
  )

describe("[handoff 3.4] links are checked", () => {
  it("by HEAD, by GET where that is refused, and behind redirections", async () => {
    const at = (path: string) => `http://localhost.inside.test:${port}${path}`
    const found = await check("any", ["/ok", "/moved", "/get-only", "/gone", "/round", "/out"].map(at))
    expect(found.map(({ outcome, status }) => [outcome, status])).toEqual([
      ["ok", 200],
      ["ok", 200],
      ["ok", 200],
      ["broken", 404],
      ["broken", null],
      ["refused", null]
    ])
    expect(found[1]!.finalUrl).toBe(at("/ok"))
    expect(asked).toEqual(expect.arrayContaining(["HEAD /ok", "HEAD /get-only", "GET /get-only"]))
    expect(asked).not.toContain("GET /ok")
  })

  it("never inside, unless webhooks may go there", async () => {
    asked.length = 0
    const inside = [
      `http://127.0.0.1:${port}/ok`,
      `http://[::1]:${port}/ok`,
      `http://2130706433:${port}/ok`,
      `http://shop.inside.test:${port}/ok`,
      "http://169.254.169.254/latest/meta-data/",
      "http://user:password@shop.inside.test/",
      `http://shop.inside.test:22/`
    ]
    const found = await check("public", inside)
    expect(found.map(({ outcome }) => outcome)).toEqual(inside.map(() => "refused"))
    expect(asked).toEqual([])
  })

  it("not at all where they are no web address, and says where nobody answers", async () => {
    const found = await check("any", ["mailto:ann@a.test", "http://nowhere.test/", "http://closed.inside.test:9999/"])
    expect(found.map(({ outcome }) => outcome)).toEqual(["unchecked", "unreachable", "unreachable"])
  })
})
