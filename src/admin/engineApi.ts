/** Describes the admin API of the engine: its partitions, their nodes, and the parked records of reactors. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { integerParameter, maximumPageSize } from "../http/parameters.ts"
import { EnvelopeInvalidRequest, EnvelopeNotFound, EnvelopeUnavailable } from "../http/wireErrors.ts"
import { AdminAccess } from "./access.ts"
import { ShownCluster } from "./ClusterView.ts"
import { organizationId as id } from "./organizationId.ts"

export const engineGroup = HttpApiGroup.make("engine")
  .add(
    HttpApiEndpoint.get("inspectPartition", "/admin/v1/partitions/:partition", {
      params: { partition: integerParameter(0) },
      success: Schema.Unknown,
      error: [EnvelopeInvalidRequest, EnvelopeNotFound]
    }).annotateMerge(OpenApi.annotations({ summary: "Look into a partition" })),
    HttpApiEndpoint.post("recoverPartition", "/admin/v1/partitions/:partition/recover", {
      params: { partition: integerParameter(0) },
      payload: Schema.Struct({
        acceptLoss: Schema.Boolean.annotate({ description: "Give up what the log no longer holds" }),
        acceptClock: Schema.Boolean.annotate({ description: "Go on with the clock as it is" })
      }),
      success: Schema.Struct({
        partition: Schema.Int,
        fits: Schema.Boolean,
        changeable: Schema.Boolean,
        lines: Schema.Array(Schema.String)
      }),
      error: [EnvelopeInvalidRequest, EnvelopeNotFound, EnvelopeUnavailable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Say why a partition does not serve, and let it go on",
        description: "Its owner does it, whichever node is asked, and only while the partition has stopped."
      })
    ),
    HttpApiEndpoint.get("inspectActor", "/admin/v1/actors/:kind", {
      params: { kind: Schema.String },
      query: { organization: id, key: Schema.optional(Schema.String) },
      success: Schema.Unknown,
      error: [EnvelopeInvalidRequest, EnvelopeNotFound]
    }).annotateMerge(OpenApi.annotations({ summary: "Look into an actor" }))
  )
  .middleware(AdminAccess)
  .annotateMerge(OpenApi.annotations({ title: "Engine" }))

export const clusterGroup = HttpApiGroup.make("cluster")
  .add(
    HttpApiEndpoint.get("show", "/admin/v1/cluster", {
      success: ShownCluster,
      error: [EnvelopeInvalidRequest, EnvelopeUnavailable]
    }).annotateMerge(OpenApi.annotations({ summary: "Show the nodes and the partitions" })),
    HttpApiEndpoint.post("drain", "/admin/v1/cluster/nodes/:name/drain", {
      params: { name: Schema.String },
      success: Schema.Struct({ name: Schema.String }),
      error: [EnvelopeInvalidRequest, EnvelopeNotFound, EnvelopeUnavailable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Have a node hand its partitions over",
        description: "The node goes on to answer requests, and takes partitions again when it is started anew."
      })
    )
  )
  .middleware(AdminAccess)
  .annotateMerge(OpenApi.annotations({ title: "Cluster" }))

const reactor = Schema.String.check(
  Schema.isPattern(/^[^\p{Cc}\p{Cs}]{1,100}$/u, { message: "Expected the name of a reactor" })
)

const place = {
  sequence: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
  index: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }))
}

const parkedErrors = [EnvelopeInvalidRequest, EnvelopeNotFound, EnvelopeUnavailable] as const

export const parkedGroup = HttpApiGroup.make("parked")
  .add(
    HttpApiEndpoint.get("list", "/admin/v1/parked", {
      query: {
        reactor: Schema.optional(reactor),
        limit: Schema.optional(integerParameter(1, maximumPageSize)),
        after: Schema.optional(id)
      },
      success: Schema.Struct({
        reactor: Schema.String,
        records: Schema.Int.annotate({ description: "All records that are parked at the reactor" }),
        organizations: Schema.Array(
          Schema.Struct({
            partition: Schema.Int,
            reactor: Schema.String,
            organization: Schema.String,
            records: Schema.Int
          })
        ),
        hasMore: Schema.Boolean
      }),
      error: parkedErrors
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List organizations with parked records",
        description: "`after` takes the last organization listed and continues from there."
      })
    ),
    HttpApiEndpoint.get("show", "/admin/v1/organizations/:id/parked", {
      params: { id },
      query: { reactor: Schema.optional(reactor), limit: Schema.optional(integerParameter(1, maximumPageSize)) },
      success: Schema.Struct({
        reactor: Schema.String,
        records: Schema.Array(Schema.Struct({ ...place, error: Schema.String, record: Schema.String }))
      }),
      error: parkedErrors
    }).annotateMerge(OpenApi.annotations({ summary: "Show an organization's first parked records" })),
    HttpApiEndpoint.post("retry", "/admin/v1/organizations/:id/parked/retry", {
      params: { id },
      payload: Schema.Struct({ reactor: Schema.optional(reactor) }),
      success: Schema.Struct({
        reactor: Schema.String,
        retried: Schema.Int,
        left: Schema.Int,
        error: Schema.optional(Schema.String).annotate({ description: "Why the first that is left failed again" })
      }),
      error: parkedErrors
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Try an organization's parked records again",
        description: "In order, some hundred at a time, until one fails; safe to repeat while some are left."
      })
    ),
    HttpApiEndpoint.post("dismiss", "/admin/v1/organizations/:id/parked/dismiss", {
      params: { id },
      payload: Schema.Struct({ reactor: Schema.optional(reactor), ...place }),
      success: Schema.Struct({ reactor: Schema.String, left: Schema.Int }),
      error: parkedErrors
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Dismiss an organization's first parked record",
        description:
          "Its effects never happen; the later ones wait for a retry. Only the record that is named, and only while it is the first."
      })
    )
  )
  .middleware(AdminAccess)
  .annotateMerge(
    OpenApi.annotations({
      title: "Parked records",
      description: "Records that a reactor could not process, and those of the same organization behind them."
    })
  )
