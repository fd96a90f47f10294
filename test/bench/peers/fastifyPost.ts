/**
 * The peer of the POST row: a Fastify server that does for each request what the platform does before and after its handler. It reads
 * and checks the body by schema, looks the key up by its SHA-256 digest, counts the request in an in-memory limiter of one minute, gives it
 * an id, and answers 202 with an id of its own and the same headers.
 */
import { hash, randomUUID } from "node:crypto"
import Fastify from "fastify"
import { RateLimiterMemory, RateLimiterRes } from "rate-limiter-flexible"
import { randomText } from "../../../src/common/identifiers.ts"

export interface PostPeerSettings {
  readonly port: number
  readonly apiKey: string
  /** The limit, which no load reaches: what counts is the counting. */
  readonly requestsPerMinute: number
}

const requestIdPattern = /^[A-Za-z0-9._:-]{1,128}$/

const text = { type: "string" }
const bodySchema = {
  type: "object",
  required: ["from", "to", "subject"],
  properties: {
    from: text,
    to: { type: "array", items: text, minItems: 1, maxItems: 50 },
    subject: { type: "string", maxLength: 500 },
    html: text,
    text,
    headers: { type: "object", additionalProperties: text },
    tags: {
      type: "array",
      items: { type: "object", required: ["name", "value"], properties: { name: text, value: text } }
    }
  }
}

const serve = async (settings: PostPeerSettings): Promise<void> => {
  const organizations = new Map([[hash("sha256", settings.apiKey, "hex"), { id: "org_demo", scopes: new Set(["*"]) }]])
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
    const { authorization } = request.headers
    const given = authorization?.startsWith("Bearer ") === true ? authorization.slice(7) : request.headers["x-api-key"]
    const organization = typeof given === "string" ? organizations.get(hash("sha256", given, "hex")) : undefined
    if (organization === undefined) return reply.code(401).send({ error: "unauthorized", message: "" })
    if (!organization.scopes.has("*")) return reply.code(403).send({ error: "forbidden", message: "" })
    try {
      const counted = await limiter.consume(organization.id)
      reply.header("x-ratelimit-limit", settings.requestsPerMinute)
      reply.header("x-ratelimit-remaining", counted.remainingPoints)
      reply.header("x-ratelimit-reset", Math.ceil((Date.now() + counted.msBeforeNext) / 1000))
    } catch (refusal) {
      if (!(refusal instanceof RateLimiterRes)) throw refusal
      reply.header("retry-after", Math.max(1, Math.ceil(refusal.msBeforeNext / 1000)))
      return reply.code(429).send({ error: "rate_limited", message: "" })
    }
    return undefined
  })
  server.post<{ Body: { readonly to: ReadonlyArray<string> } }>(
    "/v1/messages",
    {
      schema: {
        body: bodySchema,
        response: { 202: { type: "object", properties: { id: text, state: text, recipients: { type: "integer" } } } }
      }
    },
    async (request, reply) => {
      reply.code(202)
      // As a store that has to be waited for would.
      await Promise.resolve()
      return { id: `msg_${randomText()}`, state: "queued", recipients: request.body.to.length }
    }
  )
  await server.listen({ host: "127.0.0.1", port: settings.port })
  process.send?.("listening")
}

process.on("message", (settings: PostPeerSettings) => {
  serve(settings).catch((error: unknown) => {
    process.stderr.write(`${String(error)}\n`)
    process.exit(1)
  })
})
process.on("SIGTERM", () => process.exit(0))
