/** The page on which a customer pays, in a real browser (docs/platform.md, 11.4): each of its states, without scripts, by the keyboard alone. */
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import type { BrowserContext, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { CheckoutNotFound, TooManyInvoices } from "../../src/billing/errors.ts"
import { checkoutPage } from "../../src/billing/http/checkoutPage.ts"
import { BillingUnavailable, BuiltInCheckouts, builtInCatalogue } from "../../src/billing/index.ts"
import { accessibilityFaults, openBrowser } from "../support/browser.ts"
import { needing } from "../support/needs.ts"
import { useBillingPlatform } from "./billingPlatform.ts"

const terms = { settlement: "at once", graceMillis: 0, dueMillis: 0 } as const
const platform = useBillingPlatform({ catalogue: builtInCatalogue, terms })

const shop = "https://shop.example"
const urls = { successUrl: `${shop}/thanks?order=1&of=2`, cancelUrl: `${shop}/plans` }
const price = builtInCatalogue.prices.get("team_pro")!.price

/** Each state under an address of its own, as the page shows it whoever brings it about. */
const checkouts = BuiltInCheckouts.of({
  find: (secret) => {
    switch (secret) {
      case "open":
      case "submitted":
      case "paid":
        return Effect.succeed({
          price,
          state: secret,
          organization: "Tom & <b>Sons",
          isTest: true,
          paysItself: true,
          ...urls
        })
      case "unavailable":
        return Effect.fail(new BillingUnavailable({ message: "away", retryAfterMillis: 1_000 }))
      default:
        return Effect.fail(new CheckoutNotFound())
    }
  },
  submit: () => Effect.fail(new TooManyInvoices({ maximum: 20 }))
})

/** Serves the page to a browser without a server: `http://pay.test/checkout/<state>`. Where a customer is sent to cannot be reached. */
const servePage = async (context: BrowserContext): Promise<void> => {
  const { layer } = await Effect.runPromise(Effect.provideService(checkoutPage, BuiltInCheckouts, checkouts))
  const { handler } = HttpRouter.toWebHandler(layer.pipe(Layer.provideMerge(HttpServer.layerServices)), {
    disableLogger: true
  })
  await context.route(`${shop}/**`, (route) => route.abort("aborted"))
  await context.route("http://pay.test/**", async (route) => {
    const answer = await handler(new Request(route.request().url(), { method: route.request().method() }))
    await route.fulfill({
      status: answer.status,
      headers: Object.fromEntries(answer.headers),
      body: await answer.text()
    })
  })
}

describe("the checkout page in a browser", needing("chromium"), () => {
  for (const colorScheme of ["light", "dark"] as const) {
    it(`has nothing in any state that axe holds against it, in ${colorScheme}`, async () => {
      const { close, context } = await openBrowser({ colorScheme })
      try {
        await servePage(context)
        const page = await context.newPage()
        const titles: Array<string> = []
        for (const state of ["open", "submitted", "paid", "gone", "unavailable", "full"]) {
          await page.goto(`http://pay.test/checkout/${state === "full" ? "open" : state}`)
          // Too many invoices are found when the button is pressed.
          if (state === "full") await page.getByRole("button").click()
          titles.push(await page.getByRole("heading", { level: 1 }).innerText())
          expect(await accessibilityFaults(page), state).toEqual([])
        }
        expect(titles).toEqual([
          "Checkout",
          "Thank you for your order",
          "Paid",
          "This checkout is not open any more",
          "This cannot be done right now",
          "This cannot be ordered now"
        ])
      } finally {
        await close()
      }
    })
  }

  describe("without scripts, by the keyboard", () => {
    let browser: Awaited<ReturnType<typeof openBrowser>>
    const went: Array<string> = []
    beforeAll(async () => {
      browser = await openBrowser({ javaScriptEnabled: false })
      await browser.context.route(`${shop}/**`, (route) => {
        went.push(route.request().url())
        return route.fulfill({ contentType: "text/html", body: "<!doctype html><title>Shop</title>" })
      })
    })
    afterAll(() => browser.close())

    const open = async (): Promise<Page> => {
      const tenant = await platform().tenant()
      const { body } = await tenant.ask("POST", "/v1/billing/checkout", { priceId: "team_pro", ...urls })
      const page = await browser.context.newPage()
      await page.goto(body.url)
      return page
    }

    it("[platform 11.4] pays, and goes on to the shop", async () => {
      const page = await open()
      await page.keyboard.press("Tab")
      await page.keyboard.press("Enter")
      await page.waitForURL(urls.successUrl)
      expect(went.at(-1)).toBe(urls.successUrl)
      // Going back shows what was paid and pays nothing more.
      await page.goBack()
      expect(await page.getByRole("button").count()).toBe(0)
    })

    it("leaves without paying", async () => {
      const page = await open()
      const paying = page.url()
      await page.keyboard.press("Tab")
      await page.keyboard.press("Tab")
      await page.keyboard.press("Enter")
      await page.waitForURL(urls.cancelUrl)
      await page.goto(paying)
      expect(await page.getByRole("button").innerText()).toBe("Pay 119.00 USD")
    })
  })
})
