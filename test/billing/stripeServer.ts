/**
 * A server that answers in Stripe's shapes, as far as the platform asks. Its objects are checked against the types of the package `stripe`: when those change, this file fails the type check.
 */
import { createServer, type IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"
import type { Stripe } from "stripe"

/** Part of an object, whose fields have the names and types of the whole. */
type Part<T> =
  T extends ReadonlyArray<infer Item>
    ? ReadonlyArray<Part<Item>>
    : T extends object
      ? { readonly [Key in keyof T]?: Part<T[Key]> | undefined }
      : T

export interface SubscriptionGiven {
  readonly id: string
  readonly customer: string
  readonly price: string
  readonly status: Stripe.Subscription.Status
  readonly created: number
  readonly start: number
  readonly end: number
  readonly cancels?: boolean
}

export interface InvoiceGiven {
  readonly id: string
  readonly customer: string
  readonly subscription: string
  readonly status: Stripe.Invoice.Status
  readonly attempted?: boolean
  readonly total: number
}

const subscriptionObject = (given: SubscriptionGiven) =>
  ({
    id: given.id,
    object: "subscription",
    customer: given.customer,
    status: given.status,
    created: given.created,
    cancel_at_period_end: given.cancels ?? false,
    items: {
      object: "list",
      data: [
        {
          id: `si_${given.id}`,
          object: "subscription_item",
          // A subscription has no period of its own any more: its items have.
          current_period_start: given.start,
          current_period_end: given.end,
          price: { id: given.price, object: "price" }
        }
      ]
    }
  }) satisfies Part<Stripe.Subscription>

const invoiceObject = (given: InvoiceGiven) =>
  ({
    id: given.id,
    object: "invoice",
    customer: given.customer,
    currency: "usd",
    total: given.total,
    status: given.status,
    attempted: given.attempted ?? false,
    created: 1_790_000_000,
    invoice_pdf: `https://files.example/${given.id}.pdf`,
    lines: { object: "list", data: [{ description: "1 × Team with Pro" }] },
    parent: { type: "subscription_details", subscription_details: { subscription: given.subscription } }
  }) satisfies Part<Stripe.Invoice>

const customerObject = (id: string) => ({ id, object: "customer" }) satisfies Part<Stripe.Customer>

const sessionObject = (id: string, url: string) =>
  ({ id, object: "checkout.session", url, mode: "subscription" }) satisfies Part<Stripe.Checkout.Session>

const bodyOf = async (request: IncomingMessage): Promise<URLSearchParams> => {
  let text = ""
  for await (const chunk of request) text += String(chunk)
  return new URLSearchParams(text)
}

export class StripeServer {
  readonly subscriptions = new Map<string, SubscriptionGiven>()
  readonly invoices = new Map<string, InvoiceGiven>()
  /** What was asked: method, path and body. */
  readonly asked: Array<readonly [string, string, Record<string, string>]> = []
  /** Called before a subscription is answered. */
  onRead: (id: string) => Promise<void> = async () => {}
  isAway = false
  url = ""
  private customers = 0
  private readonly byKey = new Map<string, object>()
  private readonly server = createServer((request, response) => {
    void this.answer(request).then(([status, body]) => {
      response.writeHead(status, { "content-type": "application/json" })
      response.end(JSON.stringify(body))
    })
  })

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.server.listen(0, "127.0.0.1", resolve))
    this.url = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }

  stop(): void {
    this.server.closeAllConnections()
    this.server.close()
  }

  /** The object that a notice carries, as it was then. */
  noticeOf(type: Stripe.Event["type"], id: string): string {
    const subscription = this.subscriptions.get(id)
    const object = subscription === undefined ? invoiceObject(this.invoices.get(id)!) : subscriptionObject(subscription)
    return JSON.stringify({ id: `evt_${id}`, object: "event", type, data: { object } })
  }

  private async answer(request: IncomingMessage): Promise<readonly [number, object]> {
    const { method = "", url = "" } = request
    const body = await bodyOf(request)
    this.asked.push([method, url, Object.fromEntries(body)])
    if (this.isAway) return [500, { error: { type: "api_error", message: "away" } }]
    const [, id = ""] = /^\/v1\/(?:subscriptions|invoices)\/([^/?]+)/.exec(url) ?? []
    if (url === "/v1/customers") {
      const key = String(request.headers["idempotency-key"])
      const known = this.byKey.get(key) ?? customerObject(`cus_${++this.customers}`)
      this.byKey.set(key, known)
      return [200, known]
    }
    if (url === "/v1/checkout/sessions") return [200, sessionObject("cs_test_1", "https://checkout.example/cs_test_1")]
    const invoice = this.invoices.get(id)
    if (url.startsWith("/v1/invoices/") && invoice !== undefined) return [200, invoiceObject(invoice)]
    const subscription = this.subscriptions.get(id)
    if (subscription === undefined) return [404, { error: { type: "invalid_request_error", message: "none" } }]
    if (method === "DELETE") this.subscriptions.set(id, { ...subscription, status: "canceled" })
    if (method === "POST")
      this.subscriptions.set(id, { ...subscription, cancels: body.get("cancel_at_period_end") === "true" })
    const read = subscriptionObject(this.subscriptions.get(id)!)
    await this.onRead(id)
    return [200, read]
  }
}
