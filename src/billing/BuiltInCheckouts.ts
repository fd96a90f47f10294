/**
 * Runs checkouts on pages of this server (docs/platform.md, 11.4). The page's address is a secret of which only a
 * digest is stored; the organization's billing decides whether it is open and was paid, so nothing is paid twice. Needs
 * `SqlClient`, `Subscriptions`.
 */
import { Clock, Context, Effect, Layer, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { keyDigest, randomText } from "../common/identifiers.ts"
import { BillingProvider } from "./BillingProvider.ts"
import { type BillingUnavailable, CheckoutNotFound, NoSubscription, TooManyInvoices } from "./errors.ts"
import type { BillingCommand, BillingRejection, Checkout, Terms } from "./model.ts"
import { Price } from "./prices.ts"
import { Subscriptions } from "./Subscriptions.ts"

/** How long a checkout can be paid. */
export const checkoutMillis = 24 * 60 * 60 * 1000
/** Characters of a checkout's address behind `cs_`: 190 random bits. */
const secretLength = 32
const checkoutPattern = /^cs_[0-9A-Za-z]{32}$/

/** The pages' addresses begin with this. */
export const checkoutPath = "/checkout"

export interface BuiltInOptions {
  readonly terms: Terms
  /** The address at which customers reach this server. */
  readonly publicUrl: () => string
}

/** A checkout as its page shows it. */
export interface CheckoutPage {
  readonly price: Price
  readonly state: Checkout["state"]
  /** The name of the organization that pays. */
  readonly organization: string
  /** Whether a key or session of test mode has begun it. */
  readonly isTest: boolean
  /** Whether nobody pays money, because invoices pay themselves. */
  readonly paysItself: boolean
  readonly successUrl: string
  readonly cancelUrl: string
}

interface Row {
  readonly organization_id: string
  readonly name: string
  readonly livemode: boolean
  readonly price: unknown
  readonly success_url: string
  readonly cancel_url: string
}

type PageError = CheckoutNotFound | BillingUnavailable | SqlError.SqlError

export class BuiltInCheckouts extends Context.Service<
  BuiltInCheckouts,
  {
    readonly find: (secret: string) => Effect.Effect<CheckoutPage, PageError>
    /** The customer's word that they pay. A repeat does nothing more. */
    readonly submit: (secret: string) => Effect.Effect<CheckoutPage, PageError | TooManyInvoices>
  }
>()("sluice/billing/BuiltInCheckouts") {}

/** A checkout's name in facts, which do not reveal its address. */
const idOf = (secret: string): string => `co_${keyDigest(secret).slice(0, 32)}`

/** A rejection that the rules have for nobody who asks like this is a fault of this program. */
const unexpected = (error: BillingRejection | BillingUnavailable) =>
  error._tag === "BillingUnavailable" ? Effect.fail(error) : Effect.die(error)

const makeCheckouts = ({ terms }: BuiltInOptions) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const subscriptions = yield* Subscriptions
    const rowOf = Effect.fnUntraced(function* (secret: string) {
      if (!checkoutPattern.test(secret)) return yield* new CheckoutNotFound()
      const now = new Date(yield* Clock.currentTimeMillis)
      const [row] = yield* sql<Row>`
        select c.organization_id, o.name, c.livemode, c.price, c.success_url, c.cancel_url
        from billing_checkouts c join organizations o on o.id = c.organization_id
        where c.id = ${idOf(secret)} and c.expires_at > ${now}`
      return row ?? (yield* new CheckoutNotFound())
    })
    const page = Effect.fnUntraced(function* (row: Row, checkout: Checkout | null) {
      if (checkout === null) return yield* new CheckoutNotFound()
      const { cancel_url: cancelUrl, livemode, name: organization, success_url: successUrl } = row
      return {
        price: Schema.decodeUnknownSync(Price)(row.price),
        state: checkout.state,
        organization,
        isTest: !livemode,
        paysItself: terms.settlement === "at once",
        successUrl,
        cancelUrl
      }
    })
    return BuiltInCheckouts.of({
      find: Effect.fn("BuiltInCheckouts.find")(function* (secret) {
        const row = yield* rowOf(secret)
        const { checkout } = yield* subscriptions
          .ask(row.organization_id, { _tag: "Look", checkout: idOf(secret) })
          .pipe(Effect.catch(unexpected))
        return yield* page(row, checkout)
      }),
      submit: Effect.fn("BuiltInCheckouts.submit")(function* (secret) {
        const row = yield* rowOf(secret)
        const { checkout } = yield* subscriptions
          .ask(row.organization_id, { _tag: "SubmitCheckout", id: idOf(secret), terms })
          .pipe(
            Effect.catch((error): Effect.Effect<never, PageError | TooManyInvoices> => {
              if (error._tag === "CheckoutGone") return Effect.fail(new CheckoutNotFound())
              if (error._tag === "TooManyInvoices") return Effect.fail(new TooManyInvoices(error))
              return unexpected(error)
            })
          )
        return yield* page(row, checkout)
      })
    })
  })

const makeProvider = ({ publicUrl }: BuiltInOptions) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const subscriptions = yield* Subscriptions
    const change = (organizationId: string, command: Extract<BillingCommand, { _tag: "Cancel" | "Resume" }>) =>
      subscriptions.ask(organizationId, command).pipe(
        Effect.catchTag("NoSubscription", () => Effect.fail(new NoSubscription())),
        Effect.catchTags({
          CheckoutGone: Effect.die,
          TooManyInvoices: Effect.die,
          InvoiceNotOpen: Effect.die,
          StripeChanged: Effect.die
        })
      )
    return BillingProvider.of({
      checkout: Effect.fn("BuiltIn.checkout")(function* ({ cancelUrl, entry, mode, organizationId, successUrl }) {
        const now = yield* Clock.currentTimeMillis
        const secret = `cs_${randomText(secretLength)}`
        const id = idOf(secret)
        const expiresAt = now + checkoutMillis
        const { price } = entry
        // The page finds the row first, so a row without a fact is an address that is not good.
        yield* sql`
          insert into billing_checkouts
            (id, organization_id, livemode, price, success_url, cancel_url, created_at, expires_at)
          values (${id}, ${organizationId}, ${mode === "live"}, ${JSON.stringify(price)}::jsonb, ${successUrl}, ${cancelUrl},
            ${new Date(now)}, ${new Date(expiresAt)})`
        yield* sql`delete from billing_checkouts where expires_at <= ${new Date(now)}`
        yield* subscriptions
          .ask(organizationId, { _tag: "OpenCheckout", id, price, expiresAt })
          .pipe(Effect.catch(unexpected))
        return { url: `${publicUrl()}${checkoutPath}/${secret}` }
      }),
      cancel: (organizationId, atPeriodEnd) => change(organizationId, { _tag: "Cancel", atPeriodEnd }),
      resume: (organizationId) => change(organizationId, { _tag: "Resume" })
    })
  })

/** Payments on pages of this server. */
export const layerBuiltIn = (options: BuiltInOptions) =>
  Layer.merge(
    Layer.effect(BillingProvider, makeProvider(options)),
    Layer.effect(BuiltInCheckouts, makeCheckouts(options))
  )
