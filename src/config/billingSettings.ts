/** Defines the settings of billing (docs/platform.md, 11), for the table in `settings.ts`. */
import { readFileSync } from "node:fs"
import { builtInCatalogue, type PriceCatalogue, parseCatalogue } from "../billing/index.ts"
import { integer, oneOf, secret, setting, url } from "./kinds.ts"

/** The largest catalogue, in characters. */
const maximumCatalogueLength = 262_144

const read = (value: string): PriceCatalogue | string => {
  if (value.trimStart().startsWith("{")) return parseCatalogue(value)
  try {
    const text = readFileSync(value, "utf8")
    return text.length > maximumCatalogueLength ? "the file is too long" : parseCatalogue(text)
  } catch {
    return "no such file can be read"
  }
}

const prices = setting(
  'a catalogue in JSON such as {"prices": [{"id": "team", "name": "Team", "plan": "team", "amount": 9900, "currency": "usd"}]}, or the path of a file with one',
  (value): PriceCatalogue | undefined => {
    const catalogue = read(value)
    return typeof catalogue === "string" ? undefined : catalogue
  },
  {
    explain: (value) => {
      const catalogue = read(value)
      return typeof catalogue === "string" ? catalogue : undefined
    }
  }
)

const credential = setting("a credential of printable characters without blanks", (value) =>
  /^[\x21-\x7e]+$/.test(value) ? value : undefined
)

export const billingSettings = {
  billingPrices: prices({
    env: "SLUICE_BILLING_PRICES",
    description: `Prices that can be subscribed to, as JSON or as a file of JSON; default: ${builtInCatalogue.prices.size} prices of the platform and send plans`
  }),
  billingPayments: oneOf(["automatic", "operator"])({
    env: "SLUICE_BILLING_PAYMENTS",
    description:
      "How invoices are paid: by themselves, or by an operator's word (sluice invoices pay); default: operator, automatic in development mode when both servers are embedded and the API listens on a loopback address"
  }),
  stripeKey: secret(
    credential({
      env: "SLUICE_STRIPE_KEY",
      description:
        "Secret key of Stripe, which then takes payments; needs the package stripe and SLUICE_STRIPE_WEBHOOK_SECRET"
    })
  ),
  stripeWebhookSecret: secret(
    credential({
      env: "SLUICE_STRIPE_WEBHOOK_SECRET",
      description: "Signing secret of the endpoint at Stripe that sends its events to /stripe/webhook"
    })
  ),
  stripeUrl: url(
    "https:",
    "http:"
  )({
    env: "SLUICE_STRIPE_URL",
    description: "Address of a server in Stripe's shapes to use instead of Stripe, for tests"
  }),
  billingGraceDays: integer(
    0,
    90
  )({
    env: "SLUICE_BILLING_GRACE_DAYS",
    fallback: "7",
    description: "Days that a subscription goes on after a failed payment"
  }),
  billingDueDays: integer(
    1,
    90
  )({
    env: "SLUICE_BILLING_DUE_DAYS",
    fallback: "14",
    description: "Days that an invoice may wait for its payment before that counts as failed"
  })
} as const
