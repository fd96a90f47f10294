/** The TypeScript client against a running platform. Prints a line for each check that holds; a failure ends it. */
import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import {
  createSluice,
  directoryGetAreaCode,
  directoryGetCarrier,
  emailsCreate,
  eventsList,
  everyItem,
  LimitReached,
  NotFound,
  SignatureInvalid,
  telcoLookup,
  verifyWebhook
} from "./index.ts"

interface Vector {
  readonly name: string
  readonly secrets: ReadonlyArray<string>
  readonly now: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly valid: boolean
}

const { API = "", FROM = "", KEY = "" } = process.env

const client = createSluice({ baseUrl: API, apiKey: KEY })

const checks: Readonly<Record<string, () => Promise<void>>> = {
  "sends an email, repeated under one key": async () => {
    const body = { from: FROM, to: "bob@example.com", subject: "Hello", text: "Hi Bob" }
    const { data } = await emailsCreate({ client, throwOnError: true, body })
    assert.equal(data.state, "queued")
  },
  "reads an area code": async () => {
    const { data } = await directoryGetAreaCode({
      client,
      throwOnError: true,
      path: { npa: "212" },
      query: { limit: 1 }
    })
    assert.equal(data.exchanges.length, 1)
  },
  "throws an error with a type": async () => {
    const asked = directoryGetCarrier({ client, throwOnError: true, path: { ocn: "ZZZ9" } })
    await assert.rejects(asked, (error: unknown) => {
      assert(error instanceof NotFound)
      assert.equal(error.code, "not_found")
      assert.match(error.requestId ?? "", /^\S+$/)
      return true
    })
  },
  "goes through every page of a list": async () => {
    for (const tn of ["2125550100", "2125550101", "2125550102"])
      await telcoLookup({ client, throwOnError: true, path: { tn } })
    const found = new Set<string>()
    for (let tries = 0; found.size < 3 && tries < 50; tries++) {
      const query = { type: "telco.*", limit: 1 }
      const all = everyItem((page) => eventsList({ client, throwOnError: true, query: { ...query, ...page } }))
      for await (const { eventId } of all) found.add(eventId)
    }
    assert(found.size >= 3)
  },
  "waits no longer than it may": async () => {
    const answer = () => Promise.resolve(new Response("{}", { status: 429, headers: { "retry-after": "3600" } }))
    const limited = createSluice({ baseUrl: API, apiKey: KEY, fetch: answer as typeof fetch })
    const asked = directoryGetCarrier({ client: limited, throwOnError: true, path: { ocn: "9104" } })
    await assert.rejects(asked, (error: unknown) => error instanceof LimitReached && error.retryAfterSeconds === 3600)
  },
  "verifies every vector": async () => {
    const text = readFileSync(new URL("../vectors.json", import.meta.url), "utf8")
    for (const { body, headers, name, now, secrets, valid } of JSON.parse(text) as ReadonlyArray<Vector>) {
      const checked = verifyWebhook(headers, body, { secrets, now })
      if (valid) assert.equal((await checked).eventId, "evt_00040000-0001-8000-8000-0000d0000000", name)
      else await assert.rejects(checked, SignatureInvalid, name)
    }
  }
}

for (const [name, check] of Object.entries(checks)) {
  await check()
  console.log(name)
}
