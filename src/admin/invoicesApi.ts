/** Describes the part of the admin API for invoices that an operator settles (docs/platform.md, 11.6). */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import {
  EnvelopeInvalidRequest,
  EnvelopeNotFound,
  EnvelopeStateConflict,
  EnvelopeUnavailable
} from "../http/wireErrors.ts"
import { AdminAccess } from "./access.ts"
import { cursorPage, pagination } from "./forms.ts"
import { organizationId } from "./organizationId.ts"

const invoiceId = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9_]{1,255}$/, { message: "Expected an id of letters, digits and underscores" })
)

const time = Schema.Int.annotate({ description: "Milliseconds since the Unix epoch" })

const statuses = ["draft", "open", "paid", "void", "uncollectible"] as const

const InvoiceShown = Schema.Struct({
  id: Schema.String,
  organizationId: Schema.String,
  number: Schema.Int.annotate({ description: "Counted per organization" }),
  amount: Schema.Int.annotate({ description: "In the currency's minor unit" }),
  currency: Schema.String,
  status: Schema.Literals(statuses),
  description: Schema.String,
  customerName: Schema.String,
  customerEmail: Schema.NullOr(Schema.String),
  createdAt: time,
  failedAt: Schema.NullOr(time),
  pdfUrl: Schema.NullOr(Schema.String).annotate({
    description: "The document's address at the service that takes payments; null where this platform makes it"
  })
}).annotate({ identifier: "InvoiceShown" })
export type InvoiceShown = typeof InvoiceShown.Type

const InvoicePage = Schema.Struct({ data: Schema.Array(InvoiceShown), pagination })

const Settled = Schema.Struct({ id: Schema.String, outcome: Schema.Literals(["paid", "failed"]) }).pipe(
  HttpApiSchema.status(200)
)

const settle = <const Name extends "pay" | "fail">(name: Name, description: string) =>
  HttpApiEndpoint.post(name, `/admin/v1/invoices/:id/${name}`, {
    params: { id: invoiceId },
    success: Settled,
    error: [EnvelopeInvalidRequest, EnvelopeNotFound, EnvelopeStateConflict, EnvelopeUnavailable]
  }).annotateMerge(OpenApi.annotations({ summary: description }))

export const invoicesGroup = HttpApiGroup.make("invoices")
  .add(
    HttpApiEndpoint.get("all", "/admin/v1/invoices", {
      query: {
        ...cursorPage,
        status: Schema.optional(Schema.Literals([...statuses, "any"])).annotate({
          description: "Invoices in this state alone; without it those that wait for payment, `any` for all"
        }),
        month: Schema.optional(
          Schema.String.check(
            Schema.isPattern(/^20\d\d-(?:0[1-9]|1[0-2])$/, { message: "Expected a month such as 2026-11" })
          )
        ).annotate({ description: "Invoices of this month of UTC alone, such as 2026-11" })
      },
      success: InvoicePage,
      error: [EnvelopeInvalidRequest, EnvelopeUnavailable]
    }).annotateMerge(OpenApi.annotations({ summary: "List the invoices of all organizations, newest first" })),
    HttpApiEndpoint.get("get", "/admin/v1/invoices/:id", {
      params: { id: invoiceId },
      success: InvoiceShown,
      error: [EnvelopeInvalidRequest, EnvelopeNotFound, EnvelopeUnavailable]
    }).annotateMerge(OpenApi.annotations({ summary: "Show an invoice" })),
    HttpApiEndpoint.get("document", "/admin/v1/invoices/:id/document", {
      params: { id: invoiceId },
      success: HttpApiSchema.StreamUint8Array({ contentType: "application/pdf" }),
      error: [EnvelopeInvalidRequest, EnvelopeNotFound, EnvelopeUnavailable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Get an invoice as PDF",
        description: "404 for one whose document another service makes: `pdfUrl` is its address."
      })
    ),
    HttpApiEndpoint.get("list", "/admin/v1/organizations/:id/invoices", {
      params: { id: organizationId },
      query: cursorPage,
      success: InvoicePage,
      error: [EnvelopeInvalidRequest, EnvelopeNotFound, EnvelopeUnavailable]
    }).annotateMerge(OpenApi.annotations({ summary: "List an organization's invoices" })),
    settle("pay", "Say that an invoice was paid"),
    settle("fail", "Say that the payment of an invoice has failed")
  )
  .middleware(AdminAccess)
  .annotateMerge(OpenApi.annotations({ title: "Invoices" }))
