/**
 * Takes payments by Stripe (docs/platform.md, 11.10): checkouts on its pages, and the effects of its notices on
 * subscriptions and invoices. A notice is only a reason to read the object again. The package `stripe` is loaded only
 * if a key is configured. Needs `SqlClient`, `Subscriptions`.
 */
import { Context, Data, Effect, Layer, Redacted } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import type { Stripe } from "stripe"
import { BillingProvider } from "./BillingProvider.ts"
import { BillingUnavailable, CheckoutRefused, NoSubscription } from "./errors.ts"
import type { BillingReply, StripeInvoice, StripeSubscription, Terms } from "./model.ts"
import type { PriceCatalogue } from "./prices.ts"
import { Subscriptions } from "./Subscriptions.ts"
import { invoiceOf, subscriptionOf } from "./stripeShapes.ts"

/** How long a call to Stripe may take, each of its attempts. */
const callMillis = 8_000
/** How often an object is read again because something newer came meanwhile. */
const maximumReadings = 5
const stripeRetryMillis = 5_000

export interface StripeOptions {
  readonly key: Redacted.Redacted<string>
  readonly webhookSecret: Redacted.Redacted<string>
  /** The address of Stripe's interface, for tests against a server of one's own; undefined for Stripe itself. */
  readonly url?: string | undefined
  readonly catalogue: PriceCatalogue
  readonly terms: Terms
}

/** A key is configured and the package is not there. */
export class StripeMissing extends Data.TaggedError("StripeMissing") {
  override get message(): string {
    return "SLUICE_STRIPE_KEY is set and the package `stripe` is not installed: npm install stripe@23.1.0"
  }
}

/** The notice was not signed with this deployment's secret. */
export class NoticeForged extends Data.TaggedError("NoticeForged") {}

type Down = BillingUnavailable | SqlError.SqlError

export class StripeNotices extends Context.Service<
  StripeNotices,
  {
    /** Takes in a notice of Stripe's: its bytes as they came, and its signature. */
    readonly take: (body: Buffer, signature: string) => Effect.Effect<void, NoticeForged | Down>
  }
>()("sluice/billing/StripeNotices") {}

const load = ({ key, url }: StripeOptions) =>
  Effect.gen(function* () {
    const { default: Stripe } = yield* Effect.tryPromise({
      try: () => import("stripe"),
      catch: () => new StripeMissing()
    })
    const { hostname, port, protocol } = new URL(url ?? "https://api.stripe.com")
    return new Stripe(Redacted.value(key), {
      host: hostname,
      port: port === "" ? (protocol === "https:" ? 443 : 80) : Number(port),
      protocol: protocol === "https:" ? "https" : "http",
      timeout: callMillis,
      maxNetworkRetries: 1,
      telemetry: false
    })
  })

/** Calls Stripe; what fails is safe to repeat. */
const called = <A>(call: () => Promise<A>): Effect.Effect<A, BillingUnavailable> =>
  Effect.tryPromise({ try: call, catch: (cause) => cause }).pipe(
    Effect.tapError((cause) => Effect.logWarning("Stripe did not do what it was asked", cause)),
    Effect.mapError(
      () =>
        new BillingUnavailable({
          message: "The payment service cannot be reached right now; the request is safe to repeat",
          retryAfterMillis: stripeRetryMillis
        })
    )
  )

/** Rejections that the rules have for nobody who asks like this. */
const unexpected = { CheckoutGone: Effect.die, TooManyInvoices: Effect.die, InvoiceNotOpen: Effect.die } as const

interface Read {
  readonly subscription?: StripeSubscription | undefined
  readonly invoice?: StripeInvoice
}

/** Reads Stripe's object and reports it to the organization's billing, again if something newer came meanwhile. */
const makeSync = (subscriptions: Subscriptions["Service"], terms: Terms) =>
  Effect.fnUntraced(function* (
    organization: string,
    read: Effect.Effect<Read, BillingUnavailable>
  ): Effect.fn.Return<BillingReply, BillingUnavailable> {
    for (let reading = 0; reading <= maximumReadings; reading++) {
      const { stripeVersion: version } = yield* subscriptions
        .ask(organization, { _tag: "Look" })
        .pipe(Effect.catchTags({ ...unexpected, NoSubscription: Effect.die, StripeChanged: Effect.die }))
      const { invoice, subscription } = yield* read
      const asked = yield* subscriptions
        .ask(organization, {
          _tag: "SyncStripe",
          version,
          terms,
          ...(subscription === undefined ? {} : { subscription }),
          ...(invoice === undefined ? {} : { invoice })
        })
        .pipe(
          Effect.catchTag("StripeChanged", () => Effect.succeed(undefined)),
          Effect.catchTags({ ...unexpected, NoSubscription: Effect.die })
        )
      if (asked !== undefined) return asked
    }
    return yield* new BillingUnavailable({
      message: "Much is changing at the payment service; repeat the request",
      retryAfterMillis: stripeRetryMillis
    })
  })

const make = (options: StripeOptions) =>
  Effect.gen(function* () {
    const { catalogue, terms, webhookSecret } = options
    const stripe = yield* load(options)
    const sql = yield* SqlClient.SqlClient
    const subscriptions = yield* Subscriptions
    const sync = makeSync(subscriptions, terms)

    const syncSubscription = (organization: string, id: string) =>
      sync(
        organization,
        Effect.map(
          called(() => stripe.subscriptions.retrieve(id)),
          (found) => ({ subscription: subscriptionOf(found, catalogue) })
        )
      )

    const syncInvoice = (organization: string, id: string) =>
      sync(
        organization,
        Effect.map(
          called(() => stripe.invoices.retrieve(id)),
          (found) => ({ invoice: invoiceOf(found) })
        )
      )

    const organizationOf = Effect.fnUntraced(function* (customer: string | undefined) {
      if (customer === undefined) return undefined
      const [row] = yield* sql<{ readonly id: string }>`
        select organization_id as id from stripe_customers where customer_id = ${customer}`
      return row?.id
    })

    const secret = Redacted.value(webhookSecret)
    const notices = makeNotices(stripe, secret, { organizationOf, syncSubscription, syncInvoice })
    const provider = makeProvider({ stripe, sql, subscriptions, syncSubscription })
    return Context.make(BillingProvider, provider).pipe(Context.add(StripeNotices, notices))
  })

/** How old a signature may be: what the package itself takes. */
const toleranceSeconds = 300

/** The form of Stripe's ids. Anything else is none of ours, and must reach neither Stripe nor the database. */
const isId = (text: unknown): text is string => typeof text === "string" && /^[\w-]{1,255}$/.test(text)

/**
 * The object that a notice is about; undefined where it names none. What is signed may be of any kind, and none that is
 * not known here may be refused: Stripe would send it for days.
 */
const objectOf = (body: Buffer): { readonly object?: unknown; readonly id?: unknown } | undefined => {
  try {
    const notice = JSON.parse(body.toString("utf8")) as { readonly data?: { readonly object?: unknown } | null } | null
    const object = notice?.data?.object
    return typeof object === "object" && object !== null ? object : undefined
  } catch {
    return undefined
  }
}

/** The id in a field that has it, or the object itself; undefined for anything else. */
const idIn = (value: unknown): string | undefined => {
  const id = typeof value === "object" && value !== null ? (value as { readonly id?: unknown }).id : value
  return isId(id) ? id : undefined
}

interface Syncing {
  readonly organizationOf: (customer: string | undefined) => Effect.Effect<string | undefined, SqlError.SqlError>
  readonly syncSubscription: (organization: string, id: string) => Effect.Effect<BillingReply, BillingUnavailable>
  readonly syncInvoice: (organization: string, id: string) => Effect.Effect<BillingReply, BillingUnavailable>
}

const makeNotices = (stripe: Stripe, secret: string, syncing: Syncing) =>
  StripeNotices.of({
    take: Effect.fn("StripeNotices.take")(function* (body, signature) {
      // The package makes it with each client.
      yield* Effect.try({
        try: () => stripe.webhooks.signature!.verifyHeader(body, signature, secret, toleranceSeconds),
        catch: () => new NoticeForged()
      })
      // Only the id is used: what the object was then may be over. A notice of a kind without an object, such as those
      // of Stripe's second API, is about nothing here.
      const object = objectOf(body)
      if (object === undefined) return
      const { customer, parent, subscription } = object as {
        readonly customer?: unknown
        readonly subscription?: unknown
        readonly parent?: { readonly subscription_details?: { readonly subscription?: unknown } | null } | null
      }
      const organization = yield* syncing.organizationOf(idIn(customer))
      // Another program may use the same account.
      if (organization === undefined || !isId(object.id)) return
      if (object.object === "subscription") yield* syncing.syncSubscription(organization, object.id)
      if (object.object === "invoice") {
        yield* syncing.syncInvoice(organization, object.id)
        const of = idIn(parent?.subscription_details?.subscription)
        if (of !== undefined) yield* syncing.syncSubscription(organization, of)
      }
      const of = object.object === "checkout.session" ? idIn(subscription) : undefined
      if (of !== undefined) yield* syncing.syncSubscription(organization, of)
    })
  })

interface Means {
  readonly stripe: Stripe
  readonly sql: SqlClient.SqlClient
  readonly subscriptions: Subscriptions["Service"]
  readonly syncSubscription: Syncing["syncSubscription"]
}

const makeProvider = ({ sql, stripe, subscriptions, syncSubscription }: Means) => {
  /** The organization's customer at Stripe, made when it is first needed. */
  const customerOf = Effect.fnUntraced(function* (organization: string) {
    const known = sql<{ readonly id: string }>`
      select customer_id as id from stripe_customers where organization_id = ${organization}`
    const [before] = yield* known
    if (before !== undefined) return before.id
    const [row] = yield* sql<{ readonly name: string; readonly email: string | null }>`
      select name, email from organizations where id = ${organization}`
    const customer = yield* called(() =>
      stripe.customers.create(
        {
          ...(row === undefined ? {} : { name: row.name, ...(row.email === null ? {} : { email: row.email }) }),
          metadata: { organization }
        },
        { idempotencyKey: `sluice-customer-${organization}` }
      )
    )
    yield* sql`
      insert into stripe_customers (organization_id, customer_id) values (${organization}, ${customer.id})
      on conflict (organization_id) do nothing`
    const [now] = yield* known
    return now!.id
  })

  const current = Effect.fnUntraced(function* (organizationId: string) {
    const { subscription } = yield* subscriptions
      .ask(organizationId, { _tag: "Look" })
      .pipe(Effect.catchTags({ ...unexpected, NoSubscription: Effect.die, StripeChanged: Effect.die }))
    return subscription ?? (yield* new NoSubscription())
  })

  return BillingProvider.of({
    checkout: Effect.fn("Stripe.checkout")(function* ({ cancelUrl, entry, organizationId, successUrl }) {
      const { price, stripePrice } = entry
      if (stripePrice === undefined)
        return yield* new CheckoutRefused({ message: `The price ${JSON.stringify(price.id)} cannot be bought here.` })
      const customer = yield* customerOf(organizationId)
      const session = yield* called(() =>
        stripe.checkout.sessions.create({
          mode: "subscription",
          customer,
          client_reference_id: organizationId,
          line_items: [{ price: stripePrice, quantity: 1 }],
          success_url: successUrl,
          cancel_url: cancelUrl,
          subscription_data: { metadata: { organization: organizationId } }
        })
      )
      if (session.url === null)
        return yield* new BillingUnavailable({
          message: "The payment service has no page for this; repeat the request",
          retryAfterMillis: stripeRetryMillis
        })
      return { url: session.url }
    }),
    cancel: Effect.fn("Stripe.cancel")(function* (organizationId, atPeriodEnd) {
      const { id } = yield* current(organizationId)
      yield* called(() =>
        atPeriodEnd ? stripe.subscriptions.update(id, { cancel_at_period_end: true }) : stripe.subscriptions.cancel(id)
      )
      return yield* syncSubscription(organizationId, id)
    }),
    resume: Effect.fn("Stripe.resume")(function* (organizationId) {
      const { id } = yield* current(organizationId)
      yield* called(() => stripe.subscriptions.update(id, { cancel_at_period_end: false }))
      return yield* syncSubscription(organizationId, id)
    })
  })
}

/** Payments by Stripe. */
export const layerStripe = (
  options: StripeOptions
): Layer.Layer<BillingProvider | StripeNotices, StripeMissing, SqlClient.SqlClient | Subscriptions> =>
  Layer.effectContext(make(options))
