/**
 * The requests of README and docs as they are written there, in order, on a real platform: each command ends with 0, and
 * its answer is the one beside it, apart from ids, times and secrets.
 */
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { text } from "node:stream/consumers"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { query, until } from "../cli/support.ts"
import type { Reached } from "../http/harness.ts"
import { needing } from "../support/needs.ts"
import { patienceMillis } from "../support/patience.ts"
import { useSharedPlatform } from "../support/sharedPlatform.ts"
import { settled, settledText } from "./answers.ts"
import { type Block, blocksOf, isOutput } from "./blocks.ts"
import { DocumentShell } from "./shell.ts"
import { type Preparation, type Step, speechSteps, steps } from "./steps.ts"

const platform = useSharedPlatform()

/** The organization of the documents. */
const documented = "org_tmeSJ5HmCvGA4LDTjhNEyB"
const root = new URL("../../", import.meta.url).pathname
const services = ["directory", "telco", "talk", "send"]

const variables: Record<string, string> = {}
let shell: DocumentShell
let receiver: Server
/** Bodies that the receiver has got. */
const received: Array<string> = []

/** A request with a key of the run. */
const ask = async (method: string, path: string, body?: unknown, key = "KEY"): Promise<Response> =>
  fetch(`${platform().url}${path}`, {
    method,
    headers: { authorization: `Bearer ${variables[key]}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) })
  })

const askJson = async (method: string, path: string, body?: unknown, key?: string) => {
  const answer = await ask(method, path, body, key)
  // biome-ignore lint/suspicious/noExplicitAny: the tests look into any answer.
  return (await answer.json()) as any // because each answer has a shape of its own
}

const admin = async (method: string, path: string, body?: unknown): Promise<Readonly<Record<string, string>>> => {
  const answer = await platform().admin(method, `/admin/v1${path}`, body)
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300)
  return answer.body as Readonly<Record<string, string>>
}

/** An organization of the documents' own, with keys of both modes. */
const openOrganization = async ({ organization }: Reached): Promise<void> => {
  const keyOf = async (more: object) =>
    (await admin("POST", `/organizations/${organization}/keys`, { services, scopes: ["*"], ...more })).key!
  variables.ORG = organization
  variables.KEY = await keyOf({})
  variables.TEST = await keyOf({ mode: "test" })
  variables.BARE = await keyOf({ scopes: [] })
  const site = await admin("POST", `/organizations/${organization}/site-credentials`, { name: "transcribe" })
  variables.SITE = site.credential!
}

beforeAll(async () => {
  receiver = createServer(async (request, response) => {
    received.push(await text(request))
    response.end()
  }).listen(0, "127.0.0.1")
  await new Promise((resolve) => receiver.once("listening", resolve))
  const { adminKey, adminUrl, process, url } = platform()
  const environment = {
    HOME: globalThis.process.env.HOME ?? "/",
    API: url,
    SLUICE_ADMIN_KEY: adminKey,
    SLUICE_DATA_DIR: process.dataDir
  }
  const replacements = {
    "http://127.0.0.1:8080": url,
    "http://127.0.0.1:8124": adminUrl,
    "localhost:3000": `localhost:${(receiver.address() as AddressInfo).port}`,
    " src/directory/data/": ` ${root}src/directory/data/`
  }
  shell = new DocumentShell(globalThis.process.env.SLUICE_TEST_PROGRAM!, environment, replacements)
  await openOrganization(platform())
}, patienceMillis)

afterAll(async () => {
  receiver.closeAllConnections()
  receiver.close()
  await shell.close()
})

/** The block of a step, and the one behind it. */
const find = ({ document, has }: Step): readonly [Block, Block | undefined] => {
  const blocks = blocksOf(document)
  const found = blocks.filter((block) => block.text.includes(has))
  expect(found.length, `${document}: ${has}`).toBe(1)
  return [found[0]!, blocks[blocks.indexOf(found[0]!) + 1]]
}

const addDomain = async (name: string, key: "KEY" | "TEST"): Promise<void> => {
  const answer = await ask("POST", "/v1/send/domains", { name }, key)
  expect([201, 409]).toContain(answer.status)
}

const newEndpoint = async (more: object): Promise<string> => {
  const { port } = receiver.address() as AddressInfo
  const body = { url: `http://localhost:${port}/hook`, enabled_events: ["telco.*"], ...more }
  return (await askJson("POST", "/v1/webhooks", body)).id
}

const lookUp = async () => expect((await ask("GET", "/v1/telco/lookup/2125560123")).status).toBe(200)

/** The change that docs/directory.md shows, as an ingestion writes it. */
const putChange = async (): Promise<void> => {
  const { text } = blocksOf("docs/directory.md").find((block) => block.text.startsWith(`{"data":[{"source"`))!
  const [{ after, before, change, key, publication, source }] = JSON.parse(text).data
  await query(
    platform().databaseUrl,
    `with ingestion as (
       insert into directory_ingestions (kind, source, sha256, publication_date, started_at, finished_at, read, added, changed,
         removed, malformed, malformed_lines)
       values ($1, 'codes.txt', 'x', $2, now(), now(), 1, 0, 1, 0, 0, '[]') returning id
     )
     insert into directory_changes (ingestion, key, change, before, after)
     select id, $3, $4, $5, $6 from ingestion`,
    [source, publication, key, change, JSON.stringify(before), JSON.stringify(after)]
  )
}

const prepare: Readonly<Record<Preparation, () => Promise<void>>> = {
  "a change of the directory": putChange,
  "an organization to delete": async () => {
    variables.ACME = (await admin("POST", "/organizations", { name: "acme" })).id!
  },
  "a look-up in the event log": async () => {
    await lookUp()
    const newest = async () => (await askJson("GET", "/v1/events?type=telco.*&limit=1")).data[0]?.type
    await until(async () => (await newest()) === "telco.lookup.completed")
  },
  "a domain of a live account": () => addDomain("example.com", "KEY"),
  "a verified domain of a live account": async () => {
    await addDomain("demo.test", "KEY")
    const body = { domain: "demo.test", mode: "live", unchecked: true }
    await admin("POST", `/organizations/${variables.ORG}/send/domains/verify`, body)
  },
  "a domain of a test account": () => addDomain("demo.test", "TEST"),
  "an endpoint that receives": async () => {
    variables.ID = await newEndpoint({})
    await lookUp()
    const newest = async () => (await askJson("GET", `/v1/webhooks/${variables.ID}/deliveries`)).data[0]
    await until(async () => (await newest())?.status === "succeeded")
    variables.DELIVERY = (await newest()).id
  },
  "an endpoint with a key pair": async () => {
    variables.ID = await newEndpoint({ asymmetric: true })
  },
  "fifty emails": async () => {
    const email = { from: "ann@demo.test", to: "bob@example.com", subject: "Many", text: "Hi" }
    // One was sent before.
    const many = Array.from({ length: 49 }, () => email)
    expect((await ask("POST", "/v1/send/emails/batch", many)).status).toBe(202)
  }
}

/** The shown value with lists that may have more. */
const partOf = (value: unknown): unknown => {
  if (Array.isArray(value)) return expect.arrayContaining(value.map(partOf))
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, partOf(one)]))
}

const compare = ({ field, has, isPart = false, varying = [] }: Step, answer: unknown, shown: string): void => {
  const own = field === undefined ? answer : (answer as Readonly<Record<string, unknown>>)[field]
  const wanted = settled(JSON.parse(shown), varying)
  expect(settled(own, varying), has).toEqual(isPart ? partOf(wanted) : wanted)
}

/** Runs a step, and compares its answer with the document's. */
const take = async (step: Step): Promise<void> => {
  if (step.prepare !== undefined) await prepare[step.prepare]()
  const [block, next] = find(step)
  if (step.asks !== undefined) {
    const [method, path, body] = step.asks
    const own = path.replaceAll(/\$(\w+)/g, (_, name) => variables[name]!)
    compare(step, await askJson(method, own, body, step.key), block.text)
    return
  }
  const command = block.text.replaceAll(documented, variables[step.organization ?? "ORG"]!)
  const printed = await shell.run(command, { ...variables, KEY: variables[step.key ?? "KEY"]! })
  const shown = next !== undefined && isOutput(next) ? next : undefined
  // A refusal is an answer too, but not of an example without one beside it.
  if (shown === undefined) expect(printed, step.has).not.toMatch(/"error":/)
  else if (shown.language === "json") compare(step, JSON.parse(printed), shown.text)
  else expect(settledText(printed)).toBe(settledText(shell.here(shown.text)))
  if (step.names !== undefined) variables[step.names] = JSON.parse(printed).id
}

describe("the requests of the documents", () => {
  const pages = [...new Set(steps.map(({ document }) => document))]
  it.each(pages)("run as they stand in %s", async (page) => {
    for (const step of steps.filter(({ document }) => document === page)) await take(step)
  })

  it("run as they stand in docs/platform/talk.md", needing("espeak-ng", "lame", "opusenc"), async () => {
    for (const step of speechSteps) await take(step)
  })
})
