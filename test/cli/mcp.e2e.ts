/** `sluice mcp`, by the client of the protocol's own library. */
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { getDefaultEnvironment, StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js"
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js"
import { afterEach, beforeAll, describe, expect, it } from "vitest"
import { sluice } from "../support/commands.ts"
import type { Platform } from "../support/platform.ts"
import { useSharedPlatform } from "../support/sharedPlatform.ts"
import { makeKey, makeOrganization, refusal } from "./support.ts"

const shared = useSharedPlatform()

let platform: Platform
let testKey = ""
let liveKey = ""
const clients: Array<Client> = []

beforeAll(async () => {
  platform = shared().process
  const organization = await makeOrganization(platform, { name: "mcp", plan: "team" })
  const rights = { services: ["directory", "telco", "send"], scopes: ["*"] }
  testKey = await makeKey(platform, organization, { ...rights, mode: "test" })
  liveKey = await makeKey(platform, organization, { ...rights, mode: "live" })
})

afterEach(async () => {
  for (const client of clients.splice(0)) await client.close()
})

const environmentOf = (key: string) => ({ SLUICE_DATA_DIR: platform.dataDir, SLUICE_API_KEY: key })

const connect = async (...flags: ReadonlyArray<string>): Promise<Client> => {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [process.env.SLUICE_TEST_PROGRAM!, "mcp", ...flags],
    env: { ...getDefaultEnvironment(), ...environmentOf(testKey) }
  })
  const client = new Client({ name: "test", version: "1" })
  clients.push(client)
  await client.connect(transport as Transport)
  return client
}

const textOf = (result: Awaited<ReturnType<Client["callTool"]>>): unknown =>
  JSON.parse((result.content as ReadonlyArray<{ readonly text: string }>)[0]!.text)

describe("sluice mcp", () => {
  it("offers tools that read, and none that writes or returns a credential", async () => {
    const client = await connect()
    const { tools } = await client.listTools()
    const names = tools.map(({ name }) => name)
    expect(names).toEqual(expect.arrayContaining(["directory_get_area_code_read", "emails_list_read"]))
    expect(names.filter((name) => !name.endsWith("_read"))).toEqual([])
    expect(names).not.toContain("webhooks_get_delivery_request_read")
    const area = await client.callTool({
      name: "directory_get_area_code_read",
      arguments: { npa: "212", limit: 1 }
    })
    expect(textOf(area)).toMatchObject({ npa: "212", pagination: { limit: 1 } })
    const missing = await client.callTool({ name: "directory_get_carrier_read", arguments: { ocn: "ZZZ9" } })
    expect(missing.isError).toBe(true)
    expect(textOf(missing)).toMatchObject({ error: "not_found" })
    const refused = await client.callTool({ name: "emails_create_write", arguments: {} })
    expect(refused).toMatchObject({ isError: true, content: [{ text: expect.stringContaining("--allow-write") }] })
  })

  it("with --allow-write offers the others too, by a test key", async () => {
    const client = await connect("--allow-write")
    const { tools } = await client.listTools()
    const names = tools.map(({ name }) => name)
    for (const name of ["emails_create_write", "own_keys_create_write", "webhooks_get_delivery_request_write"])
      expect(names).toContain(name)
    expect(new Set(names).size).toBe(names.length)
    await client.callTool({ name: "send_domains_create_write", arguments: { body: { name: "mcp.example" } } })
    const body = { from: "ann@mcp.example", to: "bob@example.com", subject: "Hello", text: "Hi Bob" }
    const sent = await client.callTool({ name: "emails_create_write", arguments: { body } })
    expect(textOf(sent)).toMatchObject({ state: "queued" })
  })

  it("takes no live key unless it is told to, and needs a key and a platform", async () => {
    expect(refusal(await sluice(["mcp"], environmentOf(liveKey)))).toContain("is a live key")
    expect(refusal(await sluice(["mcp"], { SLUICE_DATA_DIR: platform.dataDir }))).toContain("set SLUICE_API_KEY")
    const nowhere = { ...environmentOf(testKey), SLUICE_API_URL: "http://127.0.0.1:1" }
    expect(refusal(await sluice(["mcp"], nowhere))).toContain("http://127.0.0.1:1 is not there")
  })
})
