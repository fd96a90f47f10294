/** The settings of billing (docs/platform.md, 11), for the table in `settings.ts`. */
import { readFileSync } from "node:fs"
import { builtInCatalogue, type PriceCatalogue, parseCatalogue } from "../billing/index.ts"
import { integer, oneOf, setting } from "./kinds.ts"

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

export const billingSettings = {
  billingPrices: prices({
    env: "SLUICE_BILLING_PRICES",
    description: `What can be subscribed to, as JSON or as a file of JSON; default: ${builtInCatalogue.prices.size} prices of the platform and send plans`
  }),
  billingPayments: oneOf(["automatic", "operator"])({
    env: "SLUICE_BILLING_PAYMENTS",
    description:
      "How invoices are paid: by themselves, or by an operator's word (sluice invoices pay); default: operator, automatic when both servers are embedded, the API listens on a loopback address and NODE_ENV is not production"
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
