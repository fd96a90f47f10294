/**
 * The peer of the rows of sending: what one writes by hand, a Fastify server that puts emails into PostgreSQL. It checks the body by schema, the key by its digest and a limiter in
 * memory; the sender, the suppression list, a pause and the month in the database; and stores an email with its content and a job, and an Idempotency-Key with its digest, in one
 * statement, which is on disk when it answers.
 */
import { hash, randomUUID } from "node:crypto"
import Fastify from "fastify"
import pg from "pg"
import { RateLimiterMemory, RateLimiterRes } from "rate-limiter-flexible"
import { randomText } from "../../../src/common/identifiers.ts"
import type { SendsAccount } from "../workloads/sends.ts"

export interface SendPeerSettings {
  readonly port: number
  readonly databaseUrl: string
  readonly accounts: ReadonlyArray<SendsAccount>
}

/** As many as the platform has. */
const connections = 20
const requestsPerMinute = 999_999_999

const tables = `
  create table accounts (id text primary key, is_paused bool not null, used int8 not null, per_month int8 not null);
  create table senders (account text, domain text, primary key (account, domain));
  create table suppressions (account text, address text, primary key (account, address));
  create table emails (id text primary key, account text not null, state text not null, content text not null, accepted_at timestamptz not null default now());
  create index emails_newest on emails (account, accepted_at desc, id desc);
  create table jobs (id text primary key, due_at timestamptz not null default now());
  create table keys (account text, key text, digest text not null, answer text not null, primary key (account, key))`

/** One round trip and one commit. Nothing is stored where a check fails or the key was used. */
const insert = {
  name: "insert",
  text: `
    with account as materialized (
      update accounts a set used = used + cardinality($2::text[])
      where a.id = $1 and not a.is_paused and a.used + cardinality($2::text[]) <= a.per_month
        and exists (select 1 from senders s where s.account = $1 and s.domain = $4)
        and not exists (select 1 from suppressions s where s.account = $1 and s.address = any($5::text[]))
        and not exists (select 1 from keys k where k.account = $1 and k.key = $6)
      returning a.id
    ), keyed as (
      insert into keys (account, key, digest, answer) select id, $6, $7, $8 from account where $6::text is not null
    ), stored as (
      insert into emails (id, account, state, content)
      select e.id, account.id, 'queued', e.content from account, unnest($2::text[], $3::text[]) as e (id, content)
    ), queued as (
      insert into jobs (id) select unnest($2::text[]) from account
    )
    select id from account`
}

const find = { name: "find", text: "select digest, answer from keys where account = $1 and key = $2" }

const text = { type: "string" }
const email = {
  type: "object",
  required: ["from", "to", "subject"],
  properties: {
    from: text,
    to: { type: "array", items: { type: "string", pattern: "^[^\\s@]+@[^\\s@]+$" }, minItems: 1, maxItems: 50 },
    subject: { type: "string", maxLength: 500 },
    html: text,
    text,
    tags: {
      type: "array",
      items: { type: "object", required: ["name", "value"], properties: { name: text, value: text } }
    }
  }
}

interface Email {
  readonly from: string
  readonly to: ReadonlyArray<string>
}

const serve = async ({ accounts, databaseUrl, port }: SendPeerSettings): Promise<void> => {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: connections })
  await pool.query(tables)
  for (const { from, key } of accounts) {
    const id = hash("sha256", key, "hex")
    await pool.query("insert into accounts values ($1, false, 0, 1000000000)", [id])
    await pool.query("insert into senders values ($1, $2)", [
      id,
      from.slice(from.lastIndexOf("@") + 1).replace(">", "")
    ])
  }
  const known = new Set(accounts.map(({ key }) => hash("sha256", key, "hex")))
  const limiter = new RateLimiterMemory({ points: requestsPerMinute, duration: 60 })
  const server = Fastify({ logger: false, genReqId: () => `req_${randomUUID()}` })
  server.decorateRequest("account", "")
  server.addHook("onRequest", async (request, reply) => {
    reply.header("x-request-id", request.id)
    const account = hash("sha256", request.headers.authorization?.slice(7) ?? "", "hex")
    if (!known.has(account)) return reply.code(401).send({ error: { code: "unauthorized" } })
    try {
      const counted = await limiter.consume(account)
      reply.header("x-ratelimit-limit", requestsPerMinute)
      reply.header("x-ratelimit-remaining", counted.remainingPoints)
    } catch (refusal) {
      if (!(refusal instanceof RateLimiterRes)) throw refusal
      return reply.code(429).send({ error: { code: "rate_limited" } })
    }
    request.setDecorator("account", account)
    return undefined
  })
  const accept = async (
    account: string,
    emails: ReadonlyArray<Email>,
    key: string | undefined,
    answerOf: (ids: ReadonlyArray<string>) => unknown
  ): Promise<readonly [status: number, body: unknown]> => {
    const ids = emails.map(() => `em_${randomText()}`)
    const answer = JSON.stringify(answerOf(ids))
    const contents = emails.map((one) => JSON.stringify(one))
    const digest = key === undefined ? null : hash("sha256", contents.join(), "hex")
    if (key !== undefined) {
      const { rows } = await pool.query(find, [account, key])
      if (rows.length > 0) return rows[0].digest === digest ? [202, JSON.parse(rows[0].answer)] : [409, {}]
    }
    const domain = emails[0]!.from.slice(emails[0]!.from.lastIndexOf("@") + 1).replace(">", "")
    const recipients = emails.flatMap(({ to }) => to.map((one) => one.toLowerCase()))
    const values = [account, ids, contents, domain, recipients, key ?? null, digest, answer]
    const { rows } = await pool.query(insert, values)
    return rows.length === 0 ? [403, { error: { code: "refused" } }] : [202, JSON.parse(answer)]
  }
  const keyOf = (given: string | ReadonlyArray<string> | undefined) => (typeof given === "string" ? given : undefined)
  server.post<{ Body: Email }>("/v1/send/emails", { schema: { body: email } }, async (request, reply) => {
    const account = request.getDecorator<string>("account")
    const [status, body] = await accept(account, [request.body], keyOf(request.headers["idempotency-key"]), ([id]) => ({
      id,
      state: "queued"
    }))
    return reply.code(status).send(body)
  })
  server.post<{ Body: ReadonlyArray<Email> }>(
    "/v1/send/emails/batch",
    { schema: { body: { type: "array", items: email, minItems: 1, maxItems: 100 } } },
    async (request, reply) => {
      const account = request.getDecorator<string>("account")
      const [status, body] = await accept(account, request.body, keyOf(request.headers["idempotency-key"]), (ids) => ({
        data: ids.map((id) => ({ id, state: "queued" }))
      }))
      return reply.code(status).send(body)
    }
  )
  await server.listen({ host: "127.0.0.1", port })
  process.send?.("listening")
}

process.on("message", (settings: SendPeerSettings) => {
  serve(settings).catch((error: unknown) => {
    process.stderr.write(`${String(error)}\n`)
    process.exit(1)
  })
})
process.on("SIGTERM", () => process.exit(0))
