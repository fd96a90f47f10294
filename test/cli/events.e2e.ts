/**
 * Commands for those who receive events: `sluice listen` and `sluice trigger` with a real receiver. The tests follow each other on one platform,
 * which some of them start again.
 */
import { createHmac } from "node:crypto"
import { once } from "node:events"
import { createServer, type IncomingHttpHeaders, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from "vitest"
import { catalogue } from "../../src/events/index.ts"
import { sluice } from "../support/commands.ts"
import { commandHere } from "../support/here.ts"
import { type Platform, type Started, start, startPlatform } from "../support/platform.ts"
import {
  askAdmin,
  makeKey,
  makeTenant,
  ok,
  okJson,
  query,
  refusal,
  until,
  useDatabases,
  useFolders
} from "./support.ts"

const database = useDatabases()
const newFolder = useFolders()
const adminKey = `adm_${"Ab1".repeat(10)}`

let databaseUrl = ""
let folder = ""
let platform: Platform
let environment: Record<string, string> = {}
let organization = ""
let key = ""

const reader = { services: ["telco"], scopes: ["platform:events:read"] }

const serve = (port: string) =>
  startPlatform(
    { DATABASE_URL: databaseUrl, NATS_URL: inject("natsUrl"), SLUICE_ADMIN_KEY: adminKey, SLUICE_PORT: port },
    folder
  )

beforeAll(async () => {
  databaseUrl = await database("seeded")
  folder = await newFolder()
  platform = await serve("0")
  environment = { SLUICE_DATA_DIR: folder }
  const made = await makeTenant(platform, { name: "receiver" }, reader)
  organization = made.id
  key = made.key
})

afterAll(async () => {
  await platform.stop()
})

describe("sluice trigger", () => {
  it("emits the catalogue's example as a test event", async () => {
    const type = "telco.lookup.completed"
    const { example } = catalogue[type]
    expect(await okJson(["trigger", type, "--org", organization], environment)).toEqual({
      eventId: expect.stringMatching(/^evt_/),
      type,
      livemode: false,
      data: example,
      endpoints: []
    })
    const shown = async () => {
      const response = await fetch(`${platform.url}/v1/events?type=${type}`, { headers: { "x-api-key": key } })
      return ((await response.json()) as { readonly data: ReadonlyArray<object> }).data
    }
    await until(async () => (await shown()).length > 0)
    expect(await shown()).toMatchObject([{ type, service: "telco", data: example, livemode: false }])
    expect(await ok(["trigger", type, "--org", organization], environment)).toContain(
      `Emitted ${type} as a test event:\n${JSON.stringify(example, null, 2)}\nid  evt_`
    )
  })

  it("knows the types that have one, and the organizations that there are", async () => {
    const unknown = await sluice(["trigger", "invoice.lost", "--org", organization], environment)
    expect(unknown.code).toBe(2)
    expect(unknown.stderr).toContain("telco.search.completed")
    expect(refusal(await sluice(["trigger", "platform.test", "--org", "org_none"], environment))).toContain("org_none")
  })

  it("says of the type of tests that it reaches no endpoint, and what does", async () => {
    const { code, stderr, stdout } = await sluice(["trigger", "platform.test", "--org", organization], environment)
    expect(code).toBe(0)
    expect(stdout).toContain("Emitted platform.test as a test event")
    expect(stderr).toMatch(/goes to no webhook endpoint: POST \/v1\/webhooks\/\{id\}\/test sends one.*--endpoint/)
    const nobody = ["trigger", "platform.test", "--org", organization, "--endpoint", "we_none"]
    expect(refusal(await sluice(nobody, environment))).toContain('The organization has no webhook endpoint "we_none"')
  })

  it("asks whose event it is where there are several organizations", async () => {
    expect(refusal(await sluice(["trigger", "platform.test"], environment))).toContain("--org")
  })
})

describe("the event log", () => {
  interface Page {
    readonly data: ReadonlyArray<{ readonly data: { readonly tn?: string } }>
    readonly pagination: { readonly nextCursor?: string }
  }

  it("has the coming days made beforehand", async () => {
    const days = async () =>
      (await query(databaseUrl, "select 1 from pg_inherits where inhparent = 'events'::regclass")).length
    await until(async () => (await days()) >= 3)
  })

  it("has every answered lookup once and no other one twice, though the platform is killed in between", async () => {
    const created = await makeTenant(platform, { name: "killed", plan: "team" }, reader)
    const headers = { "x-api-key": created.key }
    const total = 600
    const answered = new Set<string>()
    let next = 0
    let serving: Promise<void> | undefined
    const { port } = new URL(platform.url)
    const work = async (): Promise<void> => {
      while (next < total) {
        await serving
        const tn = String(2_122_000_000 + next++)
        // Asked once each: whether it was stored is for the log to say.
        const response = await fetch(`${platform.url}/v1/telco/lookup/${tn}`, { headers }).catch(() => undefined)
        if (response?.status === 200) answered.add(tn)
        await response?.text().catch(() => "")
        if (answered.size > total / 3) {
          serving ??= (async () => {
            platform.process.kill("SIGKILL")
            await platform.finished
            platform = await serve(port)
          })()
        }
      }
    }
    await Promise.all(Array.from({ length: 4 }, work))
    expect(serving).toBeDefined()
    expect(answered.size).toBeGreaterThan(total / 2)

    const counts = async (): Promise<Map<string, number>> => {
      const found = new Map<string, number>()
      let cursor = ""
      for (;;) {
        const response = await fetch(`${platform.url}/v1/events?limit=100${cursor}`, { headers })
        const { data, pagination } = (await response.json()) as Page
        for (const { data: payload } of data) found.set(payload.tn!, (found.get(payload.tn!) ?? 0) + 1)
        if (pagination.nextCursor === undefined) return found
        cursor = `&cursor=${encodeURIComponent(pagination.nextCursor)}`
      }
    }
    await until(async () => {
      const found = await counts()
      return [...answered].every((tn) => found.has(tn))
    })
    expect([...(await counts()).values()].filter((count) => count !== 1)).toEqual([])
  })
})

describe("sluice listen", () => {
  interface Received {
    readonly headers: IncomingHttpHeaders
    readonly body: string
  }
  let receiver: Server
  let received: Array<Received> = []
  let status = 200
  let hook = ""
  const listeners: Array<Started> = []

  beforeAll(async () => {
    receiver = createServer((request, response) => {
      const chunks: Array<Buffer> = []
      request.on("data", (chunk) => chunks.push(chunk))
      request.on("end", () => {
        received.push({ headers: request.headers, body: Buffer.concat(chunks).toString("utf8") })
        response.writeHead(status, status === 302 ? { location: "/elsewhere" } : {}).end("thank you")
      })
    })
    receiver.listen(0, "127.0.0.1")
    await once(receiver, "listening")
    hook = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`
  })

  afterAll(() => {
    receiver.close()
  })

  afterEach(async () => {
    for (const listener of listeners.splice(0)) {
      listener.process.kill("SIGINT")
      await listener.finished
    }
    received = []
    status = 200
  })

  /** Returns once it is connected, with its secret. */
  const listen = async (...args: ReadonlyArray<string>) => {
    const started = start(["listen", "--forward-to", hook, ...args], { ...environment, SLUICE_API_KEY: key })
    listeners.push(started)
    await until(() => /Signing secret whsec_/.test(started.stderr()) || started.process.exitCode !== null)
    const secret = /Signing secret (whsec_\S+)/.exec(started.stderr())?.[1]
    expect(secret, started.stderr()).toBeDefined()
    return { ...started, secret: secret! }
  }
  const trigger = (type: string) => askAdmin(platform, "POST", `/organizations/${organization}/events`, { type })

  it("posts each event as it is in the log, signed, and prints a line with status and time", async () => {
    const listener = await listen()
    expect(listener.stderr()).toContain(`forwarding * to ${hook}`)
    await trigger("platform.webhook.paused")
    const [line, id] = await listener.printed(
      /^\d\d:\d\d:\d\dZ {2}200 {2}\d+ ms {2}platform\.webhook\.paused {2}(evt_\S+)$/m
    )
    expect(line).toBeDefined()
    expect(received).toHaveLength(1)
    const [{ body, headers }] = received as [Received]
    const logged = await fetch(`${platform.url}/v1/events/${id}`, { headers: { "x-api-key": key } })
    expect(body).toBe(await logged.text())

    // The signature computed here from docs/platform.md, 7.3, without the platform's code.
    const timestamp = headers["x-platformwebhook-timestamp"]
    const expected = createHmac("sha256", listener.secret).update(`${timestamp}.${body}`).digest("hex")
    expect(headers).toMatchObject({
      "x-platformwebhook-signature": `t=${timestamp},v1=${expected}`,
      "x-platformwebhook-id": id,
      "content-type": "application/json",
      "user-agent": "PlatformWebhook/1.0"
    })
    expect(timestamp).toMatch(/^\d{10}$/)
  })

  it("takes only the events that were asked for, and has the same secret as before", async () => {
    const first = await listen("--events", "telco.*, send.email.sent")
    const second = await listen("--events", "platform.test")
    expect(second.secret).toBe(first.secret)
    for (const type of ["platform.webhook.failing", "telco.search.completed"]) await trigger(type)
    // Those that come close together are posted at once, and printed as they are answered.
    await first.printed(/telco\.search\.completed/)
    for (const type of ["platform.test", "send.email.sent"]) await trigger(type)
    await first.printed(/send\.email\.sent/)
    await second.printed(/platform\.test/)
    const types = (text: string) => [...text.matchAll(/ms {2}(\S+)/g)].map(([, type]) => type)
    expect(types(first.stdout())).toEqual(["telco.search.completed", "send.email.sent"])
    expect(types(second.stdout())).toEqual(["platform.test"])
  })

  it("says what became of those that were not taken, and goes on; redirects are not followed", async () => {
    const listener = await listen()
    status = 500
    await trigger("platform.test")
    await listener.printed(/ 500 {2}\d+ ms {2}platform\.test/)
    status = 302
    await trigger("platform.test")
    await listener.printed(/ 302 {2}\d+ ms {2}platform\.test/)
    expect(received).toHaveLength(2)

    const nobody = start(["listen", "--forward-to", "http://127.0.0.1:1/hook", "--api-key", key], environment)
    listeners.push(nobody)
    await until(() => nobody.stderr().includes("Ready"))
    await trigger("telco.lookup.completed")
    await nobody.printed(/failed \(\w+\) {2}\d+ ms {2}telco\.lookup\.completed/)
  })

  it("goes on behind the last event when the platform was away; a stop of the platform ends its stream in order", async () => {
    const listener = await listen()
    await trigger("platform.test")
    await listener.printed(/platform\.test/)
    const stream = await fetch(`${platform.url}/v1/events/stream`, { headers: { "x-api-key": key } })
    const { port } = new URL(platform.url)

    platform.process.kill("SIGTERM")
    // A stream that was cut off instead of ended is an error here.
    expect(await stream.text()).toMatch(/^:\n\n/)
    expect((await platform.finished).code).toBe(0)
    expect(listener.process.exitCode).toBeNull()
    platform = await serve(port)
    await trigger("telco.search.completed")
    await listener.printed(/telco\.search\.completed/)
    expect(received.map(({ body }) => (JSON.parse(body) as { readonly type: string }).type)).toEqual([
      "platform.test",
      "telco.search.completed"
    ])
  })

  it("refuses what it cannot do, with a sentence", async () => {
    const run = async (args: ReadonlyArray<string>, more: Record<string, string> = { SLUICE_API_KEY: key }) => {
      const finished = await commandHere(["listen", ...args], { ...environment, ...more })
      expect(finished.stderr).not.toContain(key)
      return refusal(finished)
    }
    const to = ["--forward-to", hook]
    expect(await run(to, {})).toContain("A key is needed")
    expect(await run([...to, "--api-key", `sk_live_${"x".repeat(22)}`], {})).toContain("Invalid or missing API key")
    const unscoped = await makeKey(platform, organization, { services: ["telco"] })
    expect(await run(to, { SLUICE_API_KEY: unscoped })).toContain("Required: platform:events:read")
    expect(await run([...to, "--events", "te*"])).toContain('"te*"')
    expect(await run(["--forward-to", "localhost:3000"])).toContain("http://localhost:3000/hook")
    expect(await run([...to, "--url", "http://127.0.0.1:1"])).toContain("http://127.0.0.1:1 does not answer")
    const nowhere = { SLUICE_API_KEY: key, SLUICE_DATA_DIR: await newFolder() }
    expect(await run(to, nowhere)).toContain("No platform is running")
  })

  it("is ended by ^C", async () => {
    const listener = await listen()
    listener.process.kill("SIGINT")
    expect(await listener.finished).toMatchObject({ code: 130, signal: null })
  })
})
