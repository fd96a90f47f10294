/**
 * Lists invoices (docs/platform.md, 11.5), with temporary addresses of their documents. Rows follow the decisions,
 * normally within a second. Needs `SqlClient` and `PageCursors`.
 */
import { createHmac, timingSafeEqual } from "node:crypto"
import { Clock, Context, Effect, Layer, Option } from "effect"
import { SqlClient, type SqlError, type Statement } from "effect/sql"
import { type InvalidCursor, PageCursors, pageOf } from "../http/PageCursors.ts"
import type { Page } from "../platform/Organizations.ts"
import { InvoiceNotFound } from "./errors.ts"
import type { InvoiceStatus } from "./model.ts"

/** How long the address of a document is good. */
export const documentMillis = 60 * 60 * 1000
/** Addresses begin with this; the invoice's id and `.pdf` follow. */
export const documentsPath = "/invoices"

export interface Invoice {
  readonly id: string
  readonly organizationId: string
  /** Counted per organization. */
  readonly number: number
  readonly amount: number
  readonly currency: string
  readonly status: InvoiceStatus
  readonly description: string
  readonly customerName: string
  readonly customerEmail: string | null
  readonly createdAt: number
  readonly failedAt: number | null
  /** The address of the document at another service; null if this one makes it. */
  readonly pdfUrl: string | null
}

interface Row {
  readonly id: string
  readonly organization_id: string
  readonly number: number
  readonly amount: string | number
  readonly currency: string
  readonly status: InvoiceStatus
  readonly description: string
  readonly customer_name: string
  readonly customer_email: string | null
  readonly created_at: Date
  readonly failed_at: Date | null
  readonly pdf_url: string | null
}

const fromRow = (row: Row): Invoice => ({
  id: row.id,
  organizationId: row.organization_id,
  number: row.number,
  amount: Number(row.amount),
  currency: row.currency,
  status: row.status,
  description: row.description,
  customerName: row.customer_name,
  customerEmail: row.customer_email,
  createdAt: row.created_at.getTime(),
  failedAt: row.failed_at?.getTime() ?? null,
  pdfUrl: row.pdf_url
})

interface PageOptions {
  readonly limit: number
  readonly cursor: string | undefined
}

/** The invoices of all organizations that are listed. Times are Unix milliseconds: from `since` on, before `until`. */
export interface InvoiceFilter extends PageOptions {
  readonly status?: InvoiceStatus | undefined
  readonly since?: number | undefined
  readonly until?: number | undefined
}

export class Invoices extends Context.Service<
  Invoices,
  {
    /** Lists an organization's invoices, newest first. */
    readonly list: (
      organizationId: string,
      options: PageOptions
    ) => Effect.Effect<Page<Invoice>, InvalidCursor | SqlError.SqlError>
    /** Lists the invoices of all organizations, newest first. */
    readonly all: (filter: InvoiceFilter) => Effect.Effect<Page<Invoice>, InvalidCursor | SqlError.SqlError>
    readonly get: (id: string) => Effect.Effect<Invoice, InvoiceNotFound | SqlError.SqlError>
    /** The address of an invoice's document, good for an hour, on a server at this address. */
    readonly documentUrl: (invoice: Invoice, publicUrl: string) => Effect.Effect<string>
    /**
     * The invoice that an address is for; undefined where the address is forged or over. `query` is the part after the
     * `?`.
     */
    readonly documented: (id: string, query: URLSearchParams) => Effect.Effect<Invoice | undefined, SqlError.SqlError>
  }
>()("sluice/billing/Invoices") {
  static readonly layer = Layer.effect(
    Invoices,
    Effect.suspend(() => make)
  )
}

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const cursors = yield* PageCursors
  const [secret] = yield* sql<{ readonly value: string }>`select value from platform_secrets where name = 'invoices'`
  const sign = (id: string, expires: string) =>
    createHmac("sha256", secret!.value).update(`${id}\n${expires}`).digest("base64url")

  const page = Effect.fnUntraced(function* (name: string, where: Statement.Fragment, { cursor, limit }: PageOptions) {
    const position = Option.getOrUndefined(yield* cursors.decode(name, cursor))
    const beyond =
      position === undefined
        ? sql.literal("true")
        : sql`(created_at, id) < (${new Date(position.atMillis)}, ${position.id})`
    const rows = yield* sql<Row>`
      select * from invoices where ${where} and ${beyond} order by created_at desc, id desc limit ${limit + 1}`
    return pageOf(rows.map(fromRow), limit, (last) => cursors.encode(name, { atMillis: last.createdAt, id: last.id }))
  })

  const get: Invoices["Service"]["get"] = Effect.fn("Invoices.get")(function* (id) {
    const [row] = yield* sql<Row>`select * from invoices where id = ${id}`
    return row === undefined ? yield* new InvoiceNotFound({ id }) : fromRow(row)
  })

  return Invoices.of({
    list: (organizationId, options) =>
      page(`invoices ${organizationId}`, sql`organization_id = ${organizationId}`, options),
    all: ({ since, status, until, ...options }) =>
      page(
        JSON.stringify(["invoices of all", status, since, until]),
        sql.and([
          sql`true`,
          ...(status === undefined ? [] : [sql`status = ${status}`]),
          ...(since === undefined ? [] : [sql`created_at >= ${new Date(since)}`]),
          ...(until === undefined ? [] : [sql`created_at < ${new Date(until)}`])
        ]),
        options
      ),
    get,
    documentUrl: ({ id, pdfUrl }, publicUrl) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        if (pdfUrl !== null) return pdfUrl
        const expires = String(now + documentMillis)
        return `${publicUrl}${documentsPath}/${id}.pdf?expires=${expires}&signature=${sign(id, expires)}`
      }),
    documented: Effect.fn("Invoices.documented")(function* (id, query) {
      const expires = query.get("expires") ?? ""
      const given = Buffer.from(query.get("signature") ?? "")
      const expected = Buffer.from(sign(id, expires))
      if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined
      if (Number(expires) <= (yield* Clock.currentTimeMillis)) return undefined
      return yield* Effect.catchTag(get(id), "InvoiceNotFound", () => Effect.succeed(undefined))
    })
  })
})
