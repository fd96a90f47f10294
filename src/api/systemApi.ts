/**
 * Describes endpoints for orchestrators and monitoring: liveness, readiness and metrics (docs/platform.md, 8.1 and
 * 8.2). They need no key and reveal no secret.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { EnvelopeUnauthorized } from "../http/wireErrors.ts"

const Check = Schema.Struct({
  ok: Schema.Boolean,
  detail: Schema.optional(Schema.String)
})

/** Which parts are ready. The platform is ready when all the parts are that it cannot serve without. */
export const Readiness = Schema.Struct({
  status: Schema.Literals(["ready", "not_ready"]),
  checks: Schema.Record(Schema.String, Check)
}).annotate({ identifier: "Readiness" })
export type Readiness = typeof Readiness.Type

const livez = HttpApiEndpoint.get("livez", "/livez", {
  success: Schema.Struct({ status: Schema.Literal("alive") })
}).annotateMerge(OpenApi.annotations({ summary: "Liveness", description: "200 while the process answers at all." }))

const readyz = HttpApiEndpoint.get("readyz", "/readyz", {
  success: Readiness,
  error: Readiness.pipe(HttpApiSchema.status(503))
}).annotateMerge(
  OpenApi.annotations({
    summary: "Readiness",
    description: "200 when requests can be served, else 503 and the reasons."
  })
)

const metrics = HttpApiEndpoint.get("metrics", "/metrics", {
  success: Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/plain; version=0.0.4; charset=utf-8" })),
  error: EnvelopeUnauthorized
}).annotateMerge(
  OpenApi.annotations({
    summary: "Metrics",
    description:
      "In the Prometheus text format. Where the API listens on more than this machine, the admin API's credential is needed (`SLUICE_METRICS`)."
  })
)

export class SystemApi extends HttpApiGroup.make("system")
  .add(livez, readyz, metrics)
  .annotateMerge(OpenApi.annotations({ title: "System", description: "Probes and metrics." })) {}
