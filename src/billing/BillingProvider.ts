/**
 * Defines the port that takes payments: this server with pages of its own (`BuiltInCheckouts.ts`), or Stripe
 * (`StripePayments.ts`). Both turn payments into facts of the organization, which alone decide over its plans.
 */
import { Context, type Effect } from "effect"
import type { SqlError } from "effect/sql"
import type { BillingUnavailable, CheckoutRefused, NoSubscription } from "./errors.ts"
import type { BillingReply } from "./model.ts"
import type { CatalogueEntry } from "./prices.ts"

/** A checkout to which a customer is sent. */
export interface CheckoutRequest {
  readonly organizationId: string
  /** The mode of the key or session that asks. Both modes share plan and money. */
  readonly mode: "live" | "test"
  readonly entry: CatalogueEntry
  /** The customer's next addresses. Both were checked. */
  readonly successUrl: string
  readonly cancelUrl: string
}

export class BillingProvider extends Context.Service<
  BillingProvider,
  {
    /** Makes a page on which a customer pays, and answers its address. */
    readonly checkout: (
      request: CheckoutRequest
    ) => Effect.Effect<{ readonly url: string }, CheckoutRefused | BillingUnavailable | SqlError.SqlError>
    /** Ends the subscription with its period, or immediately. */
    readonly cancel: (
      organizationId: string,
      atPeriodEnd: boolean
    ) => Effect.Effect<BillingReply, NoSubscription | BillingUnavailable | SqlError.SqlError>
    /** Takes a cancellation with the period back. */
    readonly resume: (
      organizationId: string
    ) => Effect.Effect<BillingReply, NoSubscription | BillingUnavailable | SqlError.SqlError>
  }
>()("sluice/billing/BillingProvider") {}
