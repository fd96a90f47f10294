/**
 * Headers and rates of endpoints on the running platform with a real receiver (docs/platform.md, 6.10 and 7.4): every
 * attempt carries the headers, and their values are nowhere else.
 */
import { jetstreamManager } from "@nats-io/jetstream"
import { connect } from "@nats-io/transport-node"
import { describe, expect, inject, it } from "vitest"
import { query } from "../../cli/support.ts"
import { answering } from "../receiver.ts"
import { bodyOf, eventually, type Whole } from "../whole.ts"

/** The newest messages of each stream that are looked at. */
const newestMessages = 300

/** What streams hold, as text, where it tells of the endpoint. */
const logOf = async (endpointId: string): Promise<string> => {
  const { host, password: pass, username: user } = new URL(inject("natsUrl"))
  const client = await connect({ servers: host, user, pass })
  try {
    const manager = await jetstreamManager(client)
    const found: Array<string> = []
    for await (const { config, state } of manager.streams.list()) {
      const first = Math.max(state.first_seq, state.last_seq - newestMessages)
      for (let seq = first; seq <= state.last_seq && state.messages > 0; seq++) {
        const message = await manager.streams.getMessage(config.name, { seq }).catch(() => null)
        const text = message === null ? "" : new TextDecoder("latin1").decode(message.data)
        if (text.includes(endpointId)) found.push(text)
      }
    }
    return found.join("\n")
  } finally {
    await client.close()
  }
}

const wholeDatabase = async (url: string): Promise<string> => {
  const tables = await query<{ readonly name: string }>(
    url,
    "select tablename as name from pg_tables where schemaname = 'public' and tablename like any (array['webhook%', 'event%', 'engine%', 'actor%'])"
  )
  const rows = await Promise.all(
    tables.map(({ name }) => query<{ readonly text: string }>(url, `select t::text as text from "${name}" t`))
  )
  return JSON.stringify(rows)
}

export const headersSection = (whole: () => Whole): void => {
  describe("an endpoint with headers of its own", () => {
    it("[platform 6.10] gets them with first attempts, retries and tests, as they are by then, and they are nowhere else", async () => {
      const { databaseUrl, output, receiver } = whole()
      const tenant = await whole().tenant()
      const hook = await tenant.hook()
      const [first, later] = ["hidden-of-the-first-kind", "hidden-of-the-second-kind"]
      const change = (fields: object) => bodyOf(tenant.ask("PATCH", hook.path, fields))
      expect(await change({ headers: { Authorization: `Bearer ${first}`, "X-Sur": "é" } })).toMatchObject({
        header_names: ["Authorization", "X-Sur"]
      })
      receiver.answer(hook.to, (response, received, count) =>
        answering(count === 0 ? 500 : 200)(response, received, count)
      )
      await tenant.happens("telco.lookup.completed")
      for (const { headers } of await hook.receives(2)) {
        expect(headers).toMatchObject({ authorization: `Bearer ${first}`, "content-type": "application/json" })
        expect(headers["x-sur"]).toBe("é")
      }
      await change({ headers: { authorization: `Bearer ${later}`, "x-sur": null } })
      await bodyOf(tenant.ask("POST", `${hook.path}/test`))
      const tested = (await hook.receives(3)).at(-1)!
      expect(tested.headers.authorization).toBe(`Bearer ${later}`)
      expect(tested.headers).not.toHaveProperty("x-sur")
      await change({ headers: null })
      await tenant.happens("telco.lookup.completed")
      expect((await hook.receives(4)).at(-1)!.headers).not.toHaveProperty("authorization")
      const shown = [await hook.deliveries(3), await hook.shown(), await tenant.events(3)]
      const log = await logOf(hook.id)
      expect(log).toContain("X-Sur")
      for (const text of [JSON.stringify(shown), log, await wholeDatabase(databaseUrl), output()])
        for (const value of [first, later]) expect(text).not.toContain(value)
    })
  })

  describe("an endpoint with a rate", () => {
    it("[platform 7.4] gets everything, and another one of its organization does not wait for it", async () => {
      const tenant = await whole().tenant()
      const [rated, free] = [await tenant.hook(), await tenant.hook()]
      expect(await bodyOf(tenant.ask("PATCH", rated.path, { rate_limit: 1 }))).toMatchObject({ rate_limit: 1 })
      await tenant.happens("telco.lookup.completed", 3)
      await free.receives(3)
      expect(await rated.deliveries(3, "succeeded")).toHaveLength(3)
      expect(rated.received()).toHaveLength(3)
      expect(await rated.shown()).toMatchObject({ consecutive_failures: 0, pending: 0 })
    })

    it("[platform 7.4] goes on at once when the rate is taken away", async () => {
      const tenant = await whole().tenant()
      const hook = await tenant.hook()
      await bodyOf(tenant.ask("PATCH", hook.path, { rate_limit: 1 }))
      await tenant.happens("telco.lookup.completed", 40)
      await eventually(() => expect(hook.received().length).toBeGreaterThan(0))
      await bodyOf(tenant.ask("PATCH", hook.path, { rate_limit: null }))
      await hook.receives(40)
    })
  })
}
