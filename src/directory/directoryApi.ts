/**
 * Describes the number directory's endpoints as an HttpApi group (docs/directory.md, 3): paths, parameters, answers and
 * errors. Definitions only; `http.ts` implements them and the typed client shares them.
 */
import { Schema, SchemaGetter } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import {
  asciiUpperCase,
  integerParameter,
  limitParameter,
  maximumPageSize,
  offsetParameter
} from "../http/parameters.ts"
import { InvalidRequest, NotFound, Unavailable } from "../http/wireErrors.ts"
import { DirectoryAccess } from "../platform/access.ts"
import { carrierTypes, countries } from "./model.ts"
import { AreaCode, CarrierDetail, CarrierPage, DirectoryChangePage, Health, Statistics } from "./schema.ts"

/** One of the given values, in any case. */
const anyCase = <const Values extends ReadonlyArray<string>>(description: string, values: Values) => {
  const expected = `Expected ${values.slice(0, -1).join(", ")} or ${values.at(-1)}`
  return Schema.String.check(
    Schema.makeFilter((text: string) => values.includes(asciiUpperCase(text)) || expected, { message: expected })
  )
    .annotate({ description: `${description}: ${values.join(", ")}; case is ignored`, examples: [values[0]!] })
    .pipe(
      Schema.decodeTo(Schema.Literals(values), {
        decode: SchemaGetter.transform((text: string) => asciiUpperCase(text) as Values[number]),
        encode: SchemaGetter.transform((value: Values[number]) => value)
      })
    )
}

const Ocn = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9]{4}$/, { message: "Expected exactly 4 alphanumeric characters" })
).annotate({ description: "Operating Company Number, 4 alphanumeric characters", examples: ["9104"] })

const digits = (description: string, example: string) =>
  Schema.String.check(Schema.isPattern(/^[0-9]{3}$/, { message: "Expected exactly 3 digits" })).annotate({
    description,
    examples: [example]
  })

const Npa = digits("Area code, 3 digits", "212")
const Nxx = digits("Exchange code, 3 digits", "555")

const State = Schema.String.check(Schema.isPattern(/^[A-Za-z]{2}$/, { message: "Expected two letters" })).annotate({
  description: "State or province code",
  examples: ["NY"]
})

const include = Schema.optional(Schema.Literals(["details"]).annotate({ message: "Expected details" })).annotate({
  description: "Adds `details` of the area code: `details`"
})

const blocks = Schema.optional(
  Schema.Literals(["true", "false"])
    .annotate({ message: "Expected true or false" })
    .pipe(
      Schema.decodeTo(Schema.Boolean, {
        decode: SchemaGetter.transform((text: "true" | "false") => text === "true"),
        encode: SchemaGetter.transform((value: boolean): "true" | "false" => (value ? "true" : "false"))
      })
    )
).annotate({ description: "Adds `blocks` of each exchange: `true`" })

const page = {
  limit: Schema.optional(limitParameter),
  offset: Schema.optional(offsetParameter)
}

const listCarriers = HttpApiEndpoint.get("listCarriers", "/v1/carriers", {
  query: {
    country: Schema.optional(anyCase("Country", countries)),
    state: Schema.optional(State),
    type: Schema.optional(anyCase("Carrier type", carrierTypes)),
    ...page
  },
  success: CarrierPage,
  error: [InvalidRequest, Unavailable]
})
  .middleware(DirectoryAccess)
  .annotateMerge(
    OpenApi.annotations({
      summary: "List carriers",
      description: "Carriers by OCN. The filters combine and ignore case."
    })
  )

const getCarrier = HttpApiEndpoint.get("getCarrier", "/v1/carrier/:ocn", {
  params: { ocn: Ocn },
  success: CarrierDetail,
  error: [InvalidRequest, NotFound, Unavailable]
})
  .middleware(DirectoryAccess)
  .annotateMerge(
    OpenApi.annotations({ summary: "Get a carrier", description: "One carrier with its exchanges counted." })
  )

const getCarrierByQuery = HttpApiEndpoint.get("getCarrierByQuery", "/v1/carrier", {
  query: {
    ocn: Ocn.pipe(Schema.annotateKey({ messageMissingKey: "Usage: /v1/carrier/{ocn} or /v1/carrier?ocn={ocn}" }))
  },
  success: CarrierDetail,
  error: [InvalidRequest, NotFound, Unavailable]
})
  .middleware(DirectoryAccess)
  .annotateMerge(
    OpenApi.annotations({
      summary: "Get a carrier, OCN in the query",
      description: "The same as `GET /v1/carrier/{ocn}`, with the number in `ocn`."
    })
  )

const getAreaCode = HttpApiEndpoint.get("getAreaCode", "/v1/npa/:npa", {
  params: { npa: Npa },
  query: { nxx: Schema.optional(Nxx), include, blocks, ...page },
  success: AreaCode,
  error: [InvalidRequest, NotFound, Unavailable]
})
  .middleware(DirectoryAccess)
  .annotateMerge(
    OpenApi.annotations({
      summary: "Get an area code",
      description: "The area code with a page of its exchanges, by NXX."
    })
  )

const getExchange = HttpApiEndpoint.get("getExchange", "/v1/npa/:npa/nxx/:nxx", {
  params: { npa: Npa, nxx: Nxx },
  query: { include, blocks, ...page },
  success: AreaCode,
  error: [InvalidRequest, NotFound, Unavailable]
})
  .middleware(DirectoryAccess)
  .annotateMerge(
    OpenApi.annotations({
      summary: "Get one exchange of an area code",
      description: "The carrier of an exchange (NXX) within an area code (NPA), and where it is."
    })
  )

const getAreaCodeByQuery = HttpApiEndpoint.get("getAreaCodeByQuery", "/v1/npa", {
  query: {
    npa: Npa.pipe(Schema.annotateKey({ messageMissingKey: "Usage: /v1/npa/{npa} or /v1/npa?npa={npa}" })),
    nxx: Schema.optional(Nxx),
    include,
    blocks,
    ...page
  },
  success: AreaCode,
  error: [InvalidRequest, NotFound, Unavailable]
})
  .middleware(DirectoryAccess)
  .annotateMerge(
    OpenApi.annotations({
      summary: "Get an area code, NPA in the query",
      description: "The same as `GET /v1/npa/{npa}`, with the area code in `npa`."
    })
  )

const listChanges = HttpApiEndpoint.get("listChanges", "/v1/directory/changes", {
  query: {
    since: Schema.optional(integerParameter(0, 253_402_300_799_999)).annotate({
      description: "Changes of ingestions from this time on, milliseconds since the Unix epoch"
    }),
    limit: Schema.optional(integerParameter(1, maximumPageSize)),
    cursor: Schema.optional(Schema.String).annotate({ description: "`nextCursor` of the page before" })
  },
  success: DirectoryChangePage,
  error: [InvalidRequest, Unavailable]
})
  .middleware(DirectoryAccess)
  .annotateMerge(
    OpenApi.annotations({
      summary: "List changes",
      description:
        "Records that ingestions added, changed and removed in the last 400 days, oldest ingestion first, by key."
    })
  )

const health = (name: "health" | "healthUnversioned", path: "/v1/health" | "/health") =>
  HttpApiEndpoint.get(name, path, { success: Health }).annotateMerge(
    OpenApi.annotations({
      summary: "Service health",
      description: "Always 200; the status is in the body. Probes use /livez and /readyz. No API key needed."
    })
  )

const stats = (name: "stats" | "statsUnversioned", path: "/v1/stats" | "/stats") =>
  HttpApiEndpoint.get(name, path, { success: Statistics, error: Unavailable }).annotateMerge(
    OpenApi.annotations({ summary: "Database statistics", description: "No API key needed." })
  )

/** All endpoints of the number directory. */
export class DirectoryApi extends HttpApiGroup.make("directory")
  .add(
    listCarriers,
    getCarrier,
    getCarrierByQuery,
    getAreaCode,
    getExchange,
    getAreaCodeByQuery,
    listChanges,
    health("health", "/v1/health"),
    health("healthUnversioned", "/health"),
    stats("stats", "/v1/stats"),
    stats("statsUnversioned", "/stats")
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Number directory",
      description: "Telephone carriers, area codes and exchanges of the United States and Canada."
    })
  ) {}
