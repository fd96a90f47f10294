/**
 * The peer of the HTTP rows: a Fastify server that does for each request what the platform does. It checks parameters by
 * schema, looks the key up by its SHA-256 digest, counts the request in an in-memory limiter of one minute, gives it an
 * id, and answers with the same headers and the same bytes, out of a Map. What it answers comes as a message from its
 * parent, which asked the platform once.
 */
import { hash, randomUUID } from "node:crypto"
import Fastify, { type FastifyReply } from "fastify"
import { RateLimiterMemory, RateLimiterRes } from "rate-limiter-flexible"

/** One answer of the platform, to be given again. */
export interface RecordedAnswer {
  /** `carriers`, `carrier` or `npa`, and the parameters that choose the answer. */
  readonly key: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface PeerSettings {
  readonly port: number
  readonly apiKey: string
  readonly answers: ReadonlyArray<RecordedAnswer>
  /** The platform's limit, which no load reaches: what counts is the counting. */
  readonly requestsPerMinute: number
  /** Whether the platform's answers told of it, so that this server tells of it too. */
  readonly showsLimit: boolean
}

const requestIdPattern = /^[A-Za-z0-9._:-]{1,128}$/

const page = { limit: { type: "integer", minimum: 1, maximum: 100 }, offset: { type: "integer", minimum: 0 } }
const text = (pattern: string) => ({ type: "string", pattern })

const serve = async (settings: PeerSettings): Promise<void> => {
  const organizations = new Map([
    [hash("sha256", settings.apiKey, "hex"), { id: "org_demo", services: new Set(["directory"]) }]
  ])
  const answers = new Map(
    settings.answers.map(({ key, headers, body }) => [key, { headers, body: Buffer.from(body, "utf8") }])
  )
  const limiter = new RateLimiterMemory({ points: settings.requestsPerMinute, duration: 60 })

  const server = Fastify({
    logger: false,
    genReqId: (request) => {
      const given = request.headers["x-request-id"]
      return typeof given === "string" && requestIdPattern.test(given) ? given : `req_${randomUUID()}`
    }
  })

  server.addHook("onRequest", async (request, reply) => {
    reply.header("x-request-id", request.id)
    const authorization = request.headers.authorization
    const given = authorization?.startsWith("Bearer ") === true ? authorization.slice(7) : request.headers["x-api-key"]
    const organization = typeof given === "string" ? organizations.get(hash("sha256", given, "hex")) : undefined
    if (organization === undefined) {
      return reply.code(401).send({ error: "unauthorized", message: "Invalid or missing API key" })
    }
    if (!organization.services.has("directory")) return reply.code(403).send({ error: "forbidden", message: "" })
    try {
      const counted = await limiter.consume(organization.id)
      if (settings.showsLimit) {
        reply.header("x-ratelimit-limit", settings.requestsPerMinute)
        reply.header("x-ratelimit-remaining", counted.remainingPoints)
        reply.header("x-ratelimit-reset", Math.ceil((Date.now() + counted.msBeforeNext) / 1000))
      }
    } catch (refusal) {
      if (!(refusal instanceof RateLimiterRes)) throw refusal
      reply.header("retry-after", Math.max(1, Math.ceil(refusal.msBeforeNext / 1000)))
      return reply.code(429).send({ error: "rate_limited", message: "" })
    }
    return undefined
  })

  const answer = (reply: Pick<FastifyReply, "code" | "headers">, key: string) => {
    const found = answers.get(key)
    if (found === undefined) return reply.code(404).send({ error: "not_found", message: key })
    return reply.headers(found.headers).send(found.body)
  }

  server.get<{ Params: { npa: string }; Querystring: { nxx?: string; limit?: number; offset?: number } }>(
    "/v1/npa/:npa",
    {
      schema: {
        params: { type: "object", properties: { npa: text("^[0-9]{3}$") } },
        querystring: { type: "object", properties: { nxx: text("^[0-9]{3}$"), ...page } }
      }
    },
    ({ params, query }, reply) => answer(reply, `npa ${params.npa} ${query.nxx} ${query.limit} ${query.offset}`)
  )
  server.get<{ Params: { ocn: string } }>(
    "/v1/carrier/:ocn",
    { schema: { params: { type: "object", properties: { ocn: text("^[A-Za-z0-9]{4}$") } } } },
    ({ params }, reply) => answer(reply, `carrier ${params.ocn}`)
  )
  server.get<{ Querystring: { country?: string; state?: string; type?: string; limit?: number; offset?: number } }>(
    "/v1/carriers",
    {
      schema: {
        querystring: {
          type: "object",
          properties: {
            country: { type: "string", enum: ["US", "CA", "us", "ca"] },
            state: text("^[A-Za-z]{2}$"),
            type: { type: "string" },
            ...page
          }
        }
      }
    },
    ({ query }, reply) =>
      answer(reply, `carriers ${query.country} ${query.state} ${query.type} ${query.limit} ${query.offset}`)
  )

  await server.listen({ host: "127.0.0.1", port: settings.port })
  process.send?.("listening")
}

process.on("message", (settings: PeerSettings) => {
  serve(settings).catch((error: unknown) => {
    process.stderr.write(`${String(error)}\n`)
    process.exit(1)
  })
})
// Loaded into another server's process, it ends with that one.
if (import.meta.main) process.on("SIGTERM", () => process.exit(0))
