/** Defines the refusals of billing, and the errors of an absent service. */
import { Data } from "effect"

/** The catalogue has no such price, or an address is none that the customer may be sent to. */
export class CheckoutRefused extends Data.TaggedError("CheckoutRefused")<{ readonly message: string }> {}

/** No such checkout is open: it has expired, or never was. */
export class CheckoutNotFound extends Data.TaggedError("CheckoutNotFound") {}

/** There is nothing that could be canceled. */
export class NoSubscription extends Data.TaggedError("NoSubscription") {
  override get message(): string {
    return "The organization has no subscription."
  }
}

/** No invoice has this id. */
export class InvoiceNotFound extends Data.TaggedError("InvoiceNotFound")<{ readonly id: string }> {
  override get message(): string {
    return `No invoice has the id ${JSON.stringify(this.id)}.`
  }
}

/** The invoice does not wait for payment. */
export class InvoiceSettled extends Data.TaggedError("InvoiceSettled")<{ readonly id: string }> {
  override get message(): string {
    return `The invoice ${JSON.stringify(this.id)} does not wait for payment.`
  }
}

/** More invoices wait for payment than may. */
export class TooManyInvoices extends Data.TaggedError("TooManyInvoices")<{ readonly maximum: number }> {
  override get message(): string {
    return `${this.maximum} invoices wait for payment already.`
  }
}

/**
 * The engine, or the service that takes payments, is away now. Safe to repeat; without a time to wait only an operator
 * can help.
 */
export class BillingUnavailable extends Data.TaggedError("BillingUnavailable")<{
  readonly message: string
  readonly retryAfterMillis: number | undefined
}> {}
