/**
 * Keeps the rows of invoices, as part of the SQL reactor's batch (docs/platform.md, 11.5). The same records give the
 * same rows. Needs `SqlClient`.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as Reactor from "../engine/Reactor.ts"
import type { BillingFact } from "./model.ts"
import { BillingActor } from "./rules.ts"

const project = Effect.fnUntraced(function* ({ fact, organization }: Reactor.FactOf<BillingFact>) {
  const sql = yield* SqlClient.SqlClient
  switch (fact._tag) {
    case "InvoiceOpened": {
      const { createdAt, id, number, price } = fact.invoice
      yield* sql`
        insert into invoices (id, organization_id, number, amount, currency, status, description, customer_name,
          customer_email, created_at)
        select ${id}, ${organization}, ${number}, ${price.amount}, ${price.currency}, 'open', ${price.name},
          coalesce(o.name, ''), o.email, ${new Date(createdAt)}
        from (select 1) one left join organizations o on o.id = ${organization}
        on conflict (id) do nothing`
      return
    }
    case "InvoicePaid":
      yield* sql`
        update invoices set status = 'paid', settled_at = ${new Date(fact.at)} where id = ${fact.id} and status = 'open'`
      return
    case "InvoiceFailed":
      yield* sql`update invoices set failed_at = ${new Date(fact.at)} where id = ${fact.id}`
      return
    case "InvoiceClosed":
      yield* sql`
        update invoices set status = ${fact.status}, settled_at = ${new Date(fact.at)}
        where id = ${fact.id} and status = 'open'`
      return
    case "StripeSynced": {
      if (fact.invoice === undefined) return
      const { amount, createdAt, currency, description, failed, id, pdfUrl, status } = fact.invoice
      const at = new Date(fact.at)
      yield* sql`
        insert into invoices as i (id, organization_id, number, amount, currency, status, description, customer_name,
          customer_email, created_at, failed_at, pdf_url)
        select ${id}, ${organization}, 0, ${amount}, ${currency}, ${status}, ${description}, coalesce(o.name, ''),
          o.email, ${new Date(createdAt)}, ${failed ? at : null}::timestamptz, ${pdfUrl}
        from (select 1) one left join organizations o on o.id = ${organization}
        on conflict (id) do update set status = excluded.status, pdf_url = excluded.pdf_url,
          failed_at = coalesce(i.failed_at, excluded.failed_at)`
      return
    }
    default:
      return
  }
})

/**
 * The part of the SQL reactor that keeps the rows of invoices. A few facts a month and organization, so each is a
 * statement.
 */
export const invoicesProjection = Reactor.facts(BillingActor, (records) =>
  Effect.forEach(records, project, { discard: true })
)
