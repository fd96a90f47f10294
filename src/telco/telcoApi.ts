/**
 * Describes telco's endpoints as an HttpApi group (docs/platform.md, 4): paths, parameters, answers and errors.
 * Definitions only; `http.ts` implements them and the typed client shares them.
 */
import { Schema, SchemaGetter } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { carrierBases, carrierTypes, countries, exchangeStatuses, Pagination } from "../directory/index.ts"
import { limitParameter, offsetParameter } from "../http/parameters.ts"
import { InvalidRequest, NotFound, Unavailable } from "../http/wireErrors.ts"
import { TelcoAccess } from "../platform/access.ts"
import { maximumLookups } from "./numberResult.ts"
import { expectedNumber, normalizeNumber } from "./numbers.ts"

const Tn = Schema.String.check(
  Schema.makeFilter((text: string) => normalizeNumber(text) !== undefined || expectedNumber, {
    message: expectedNumber
  })
)
  .annotate({ description: expectedNumber.replace("Expected ", "The number: "), examples: ["2125560123"] })
  .pipe(
    Schema.decodeTo(Schema.String, {
      decode: SchemaGetter.transform((text: string) => normalizeNumber(text) ?? text),
      encode: SchemaGetter.transform((tn: string) => tn)
    })
  )

const capitals = (pattern: RegExp, message: string, description: string, example: string) =>
  Schema.String.check(Schema.isPattern(pattern, { message }))
    .annotate({ description, examples: [example] })
    .pipe(
      Schema.decodeTo(Schema.String, {
        decode: SchemaGetter.transform((text: string) => text.toUpperCase()),
        encode: SchemaGetter.transform((text: string) => text)
      })
    )

export const TelcoCarrier = Schema.Struct({
  ocn: Schema.String.annotate({ description: "Operating Company Number", examples: ["9104"] }),
  companyName: Schema.NullOr(Schema.String).annotate({ description: "Full legal company name" }),
  commonName: Schema.NullOr(Schema.String).annotate({ description: "Common or trade name" }),
  carrierType: Schema.NullOr(Schema.Literals(carrierTypes))
}).annotate({ identifier: "TelcoCarrier" })

const npa = Schema.String.annotate({ description: "Area code: digits 1 to 3", examples: ["212"] })
const nxx = Schema.String.annotate({ description: "Exchange code: digits 4 to 6", examples: ["556"] })
const tn = Schema.String.annotate({ description: "The number, 10 digits", examples: ["2125560123"] })
const state = Schema.NullOr(Schema.String).annotate({ description: "State or province", examples: ["NY"] })
const rateCenter = Schema.NullOr(Schema.String).annotate({ examples: ["NWYRCYZN01"] })
const carrier = Schema.NullOr(TelcoCarrier).annotate({
  description:
    "The carrier that the block of the number is assigned to, else the carrier of its code; null where that is none, or several",
  examples: [{ ocn: "9104", companyName: "VERIZON NEW YORK, INC.", commonName: null, carrierType: "ILEC" } as const]
})
const pooled = Schema.NullOr(Schema.Boolean).annotate({
  description:
    "Whether the code's numbers are handed out in blocks of a thousand, so that the carrier of the number may be another one; null where the published file does not say",
  examples: [true]
})
const CarrierBasis = Schema.Literals(carrierBases).annotate({
  description: "Basis of `carrier`: `code` the central office code, `block` the block of a thousand numbers",
  examples: ["code"]
})

export const TelcoLookup = Schema.Struct({
  tn,
  npa,
  nxx,
  country: Schema.Literals(countries),
  state,
  rateCenter,
  status: Schema.Literals(exchangeStatuses),
  carrier,
  pooled,
  carrierBasis: CarrierBasis,
  timeZones: Schema.Array(Schema.String).annotate({
    description:
      "IANA names of the time zones that the area code spans, of which the number has one; empty where the directory does not know",
    examples: [["America/New_York"]]
  }),
  localTimes: Schema.Array(Schema.String).annotate({
    description: "The time of the answer in each of these zones, ISO 8601 with the offset",
    examples: [["2026-07-06T08:30:00-04:00"]]
  }),
  inInventory: Schema.Boolean.annotate({ description: "Whether the caller's inventory holds the number" })
}).annotate({ identifier: "TelcoLookup" })

/** The numbers of a request of many. */
export const TelcoLookupsRequest = Schema.Struct({
  numbers: Schema.Array(Schema.String)
    .check(Schema.isMinLength(1), Schema.isMaxLength(maximumLookups))
    .annotate({
      description: "1 to 1,000 numbers, written as for the look-up of one",
      examples: [["2125560123", "+1 416 555 0199"]]
    })
}).annotate({ identifier: "TelcoLookupsRequest" })

/** Why a number of a request of many has no result. */
export const TelcoFault = Schema.Struct({
  error: Schema.Literals(["invalid_request", "not_found"]).annotate({
    description: "`invalid_request` for a text that is no number, `not_found` without a record of its code"
  }),
  message: Schema.String
}).annotate({ identifier: "TelcoFault" })

export const TelcoLookups = Schema.Struct({
  data: Schema.Array(Schema.Union([TelcoLookup, TelcoFault])).annotate({
    description: "One result for each number, in the order of the request"
  })
}).annotate({ identifier: "TelcoLookups" })

export const TelcoCode = Schema.Struct({
  npa,
  nxx,
  country: Schema.Literals(countries),
  state,
  rateCenter,
  status: Schema.Literals(exchangeStatuses),
  carrier,
  pooled,
  carrierBasis: CarrierBasis
}).annotate({ identifier: "TelcoCode" })

export const TelcoNumber = Schema.Struct({
  tn,
  npa,
  nxx,
  country: Schema.NullOr(Schema.Literals(countries)),
  state,
  rateCenter,
  status: Schema.NullOr(Schema.Literals(exchangeStatuses)),
  carrier,
  pooled,
  carrierBasis: Schema.NullOr(CarrierBasis)
}).annotate({ identifier: "TelcoNumber", description: "Null throughout where the directory has no record of the code" })

export const TelcoSearchPage = Schema.Struct({
  data: Schema.Array(Schema.Union([TelcoNumber, TelcoCode])).annotate({
    description: "With `source=npanxx` codes, with `source=inventory` the organization's numbers"
  }),
  pagination: Pagination
}).annotate({ identifier: "TelcoSearchPage" })

const lookup = HttpApiEndpoint.get("lookup", "/v1/telco/lookup/:tn", {
  params: { tn: Tn },
  success: TelcoLookup,
  error: [InvalidRequest, NotFound, Unavailable]
}).annotateMerge(
  OpenApi.annotations({
    summary: "Look up a number",
    description: "Answers once its event `telco.lookup.completed` is stored; 503 while that cannot be done."
  })
)

const lookups = HttpApiEndpoint.post("lookups", "/v1/telco/lookups", {
  payload: TelcoLookupsRequest,
  success: TelcoLookups,
  error: [InvalidRequest, Unavailable]
}).annotateMerge(
  OpenApi.annotations({
    summary: "Look up many numbers",
    description:
      "A number that has no result gets its error in its place. Answers once its one event `telco.lookups.completed` is stored; 503 while that cannot be done."
  })
)

const search = HttpApiEndpoint.get("search", "/v1/telco/search", {
  query: {
    source: Schema.optional(
      Schema.Literals(["npanxx", "inventory"]).annotate({ message: "Expected npanxx or inventory" })
    ).annotate({ description: "Where to search: the directory's codes (the default), or the organization's numbers" }),
    state: Schema.optional(capitals(/^[A-Za-z]{2}$/, "Expected two letters", "State or province code", "NY")),
    npa: Schema.optional(
      Schema.String.check(Schema.isPattern(/^[0-9]{3}$/, { message: "Expected exactly 3 digits" })).annotate({
        description: "Area code",
        examples: ["212"]
      })
    ),
    rateCenter: Schema.optional(
      Schema.String.check(
        Schema.isPattern(/^[^\p{Cc}\p{Cs}]{1,64}$/u, { message: "Expected 1 to 64 characters" })
      ).annotate({ description: "Name of the rate center, whole; case is ignored", examples: ["NWYRCYZN01"] })
    ),
    ocn: Schema.optional(
      capitals(
        /^[A-Za-z0-9]{4}$/,
        "Expected exactly 4 alphanumeric characters",
        "Operating Company Number of the carrier",
        "9104"
      )
    ),
    limit: Schema.optional(limitParameter),
    offset: Schema.optional(offsetParameter)
  },
  success: TelcoSearchPage,
  error: [InvalidRequest, Unavailable]
}).annotateMerge(
  OpenApi.annotations({
    summary: "Search codes or the inventory",
    description:
      "The filters combine and ignore case. Answers once its event `telco.search.completed` is stored; 503 while that cannot be done."
  })
)

/** All endpoints of telco. */
export class TelcoApi extends HttpApiGroup.make("telco")
  .add(lookup, lookups, search)
  .middleware(TelcoAccess)
  .annotateMerge(
    OpenApi.annotations({
      title: "Telco",
      description: "Number lookup and search over the number directory and the organization's own numbers."
    })
  ) {}
