/**
 * Headers and small manners of the HTTP surface, as clients and operators meet them: challenges, tags and 304, the
 * documentation's size, requests of other protocols, how numbers and letters are read, and who may read the metrics.
 */
import { connect } from "node:net"
import { buffer } from "node:stream/consumers"
import { brotliDecompressSync, gunzipSync } from "node:zlib"
import { describe, expect, it } from "vitest"
import { ok, refusal } from "../cli/support.ts"
import { sluice } from "../support/commands.ts"
import { useSharedPlatform } from "../support/sharedPlatform.ts"
import { send } from "./exchange.ts"

const platform = useSharedPlatform()

/** Bytes as they come: `fetch` would unpack them, and keep what it has. */
const raw = (path: string, headers: Readonly<Record<string, string>> = {}) =>
  send(platform().url, {
    target: path,
    headers: Object.entries({ Authorization: `Bearer ${platform().key}`, ...headers })
  })

describe("a refused key", () => {
  it("is told how a key is given, in every product's shape", async () => {
    for (const path of ["/v1/npa/212", "/v1/events", "/v1/webhooks", "/v1/telco/search"]) {
      for (const authorization of ["", "Bearer sk_live_unknown"]) {
        const answer = await raw(path, { Authorization: authorization })
        expect([answer.status, answer.headers["www-authenticate"]], path).toEqual([401, 'Bearer realm="sluice"'])
      }
    }
    expect((await raw("/v1/npa/212")).headers["www-authenticate"]).toBeUndefined()
  })
})

describe("reads of the directory", () => {
  const paths = ["/v1/npa/212?limit=100", "/v1/npa/212/nxx/200", "/v1/npa?npa=212", "/v1/carriers", "/v1/carrier/9104"]

  it("[directory 3.7] carry a tag, are kept privately and asked for again, and 304 costs no body", async () => {
    for (const path of paths) {
      const first = await raw(path)
      const tag = first.headers.etag!
      expect([first.status, first.headers["cache-control"]]).toEqual([200, "private, no-cache"])
      expect(tag).toMatch(/^"[\w-]{16}"$/)
      for (const given of [tag, `W/${tag}`, `"other", ${tag}`, "*"]) {
        const again = await raw(path, { "If-None-Match": given })
        expect([again.status, again.text, again.headers.etag]).toEqual([304, "", tag])
        expect(again.headers["content-length"] ?? "0").toBe("0")
        expect(again.headers["x-ratelimit-limit"]).toBe(first.headers["x-ratelimit-limit"])
      }
      expect((await raw(path, { "If-None-Match": '"other"' })).text).toBe(first.text)
    }
    expect((await raw("/v1/npa/999", { "If-None-Match": "*" })).status).toBe(404)
    expect((await raw("/v1/npa/212", { "If-None-Match": "*", Authorization: "" })).status).toBe(401)
  })

  it("fold the case of ASCII letters alone", async () => {
    expect((await raw("/v1/carriers?country=us&type=ilec")).status).toBe(200)
    // A long s and a dotless i, whose capitals are S and I.
    for (const query of ["country=u%C5%BF", "type=%C4%B1lec"]) {
      expect((await raw(`/v1/carriers?${query}`)).status, query).toBe(400)
    }
  })

  it("know one spelling of a number, and say how large it may be", async () => {
    const messageOf = async (query: string) => {
      const { status, text } = await raw(`/v1/carriers?${query}`)
      return [status, (JSON.parse(text) as { readonly message: string }).message]
    }
    for (const text of ["010", "0x10", "+1", "00"]) {
      const quoted = text.replace("+", " ")
      expect(await messageOf(`limit=${text}`)).toEqual([
        400,
        `Invalid parameter 'limit': "${quoted}". Expected an integer from 1 to 100.`
      ])
    }
    for (const text of ["9007199254740992", "99999999999999999999"]) {
      expect(await messageOf(`offset=${text}`)).toEqual([
        400,
        `Invalid parameter 'offset': "${text}". Expected an integer of at most 9007199254740991.`
      ])
    }
  })
})

describe("the text of a request", () => {
  it("[platform 1.1] has each `;` where it stands in the path", async () => {
    for (const [path, status] of [
      ["/v1/carriers;limit=1", 404],
      ["/v1/carriers;", 404],
      ["/v1/npa/212;x", 400],
      ["/v1/npa/212;", 400],
      ["/v1/carrier/9104;x=1", 400],
      ["/v1/npa/212?limit=1;offset=2", 400],
      ["/v1/npa/212", 200]
    ] as const)
      expect([path, (await raw(path)).status]).toEqual([path, status])
    expect(JSON.parse((await raw("/v1/npa/212;x")).text).message).toContain('"212;x"')
    expect(JSON.parse((await raw("/v1/npa/212;key=secret")).text).message).toContain('"212;key=…"')
  })
})

describe("the documentation", () => {
  const bytesOf = async (headers: Readonly<Record<string, string>>) => {
    const { hostname, port } = new URL(platform().url)
    const socket = connect({ host: hostname, port: Number(port) })
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.write(`GET /docs/description.json HTTP/1.1\r\nHost: sluice\r\nConnection: close\r\n${lines.join("")}\r\n`)
    const all = await buffer(socket)
    const end = all.indexOf("\r\n\r\n")
    return { head: all.toString("latin1", 0, end), body: all.subarray(end + 4) }
  }

  it("is packed for who takes it so, and not sent again to who has it", async () => {
    const plain = await bytesOf({})
    expect(plain.body.length).toBeGreaterThan(300_000)
    expect(plain.head).toMatch(/\r\nvary: Accept-Encoding/i)
    for (const [encoding, unpack] of [
      ["br", brotliDecompressSync],
      ["gzip", gunzipSync]
    ] as const) {
      const packed = await bytesOf({ "Accept-Encoding": `deflate, ${encoding};q=0.8` })
      expect(packed.head).toMatch(new RegExp(`\\r\\ncontent-encoding: ${encoding}`, "i"))
      expect(packed.body.length).toBeLessThan(plain.body.length / 3)
      expect(unpack(packed.body).equals(plain.body)).toBe(true)
    }
    expect((await bytesOf({ "Accept-Encoding": "br;q=0, identity" })).body.equals(plain.body)).toBe(true)
    expect(plain.head).toMatch(/\r\ncache-control: public, max-age=300/i)
    const tag = /\r\netag: (\S+)/i.exec(plain.head)![1]!
    const again = await bytesOf({ "Accept-Encoding": "br", "If-None-Match": tag })
    expect(again.head).toMatch(/^HTTP\/1\.1 304 /)
    expect(again.body.length).toBe(0)
  })
})

describe("a request to change the protocol", () => {
  it("is answered like any other, with a body and a request id", async () => {
    const upgrade = { Connection: "close, Upgrade", Upgrade: "h2c", "Transfer-Encoding": "chunked" }
    const answer = await send(platform().url, {
      method: "POST",
      target: "/v1/npa/212",
      headers: Object.entries(upgrade),
      body: "0\r\n\r\n"
    }).catch(String)
    expect(answer).toMatchObject({ status: expect.any(Number), headers: { "x-request-id": expect.any(String) } })
    const websocket = await raw("/v1/npa/212/nxx/200", { Connection: "Upgrade", Upgrade: "websocket" })
    expect(websocket.status).toBe(200)
  })
})

describe("the metrics", () => {
  it("[platform 8.2] need the operator's credential where others reach the API", async () => {
    for (const authorization of ["", `Bearer ${platform().key}`, `Bearer ${platform().adminKey}x`]) {
      const answer = await raw("/metrics", { Authorization: authorization })
      expect([answer.status, answer.text.includes("sluice_")]).toEqual([401, false])
    }
    const answer = await raw("/metrics", { Authorization: `Bearer ${platform().adminKey}` })
    expect([answer.status, answer.text.includes("sluice_http_requests_total")]).toEqual([200, true])
  })
})

describe("orders that cannot be meant", () => {
  it("are refused: a key that is over, and a limit that lets nothing pass", async () => {
    const environment = { SLUICE_DATA_DIR: platform().process.dataDir }
    const { id } = JSON.parse(await ok(["orgs", "create", "small", "--json"], environment)) as { readonly id: string }
    const key = ["keys", "create", "--org", id, "--services", "directory", "--expires", "2020-01-01T00:00:00Z"]
    expect(refusal(await sluice(key, environment))).toBe(
      "sluice: Invalid field 'expiresAt': 2020-01-01T00:00:00.000Z is over. Expected a time to come."
    )
    const limit = await sluice(["orgs", "set-limits", id, "--requests-per-minute", "0"], environment)
    expect(limit.code).toBe(2)
    expect(limit.stderr).toContain("Expected a number of at least 1, unlimited or plan")
  })
})
