/** The operator's console (docs/platform.md, 12.2). */
import type { Route } from "playwright-core"
import { describe, expect, it } from "vitest"
import { expectView, heading, press, tabTo, typeInto, watch } from "../acting.ts"
import type { ConsolePlatform } from "../consolePlatform.ts"
import { ask } from "../fill.ts"

/** An answer from the moment between an act and the row of its fact. */
const withoutNewestFact = async (route: Route): Promise<void> => {
  const response = await route.fetch()
  const account = (await response.json()) as { readonly facts: ReadonlyArray<unknown> }
  await route.fulfill({ response, json: { ...account, facts: account.facts.slice(0, -1) } })
}

export const operatorSection = (platform: () => ConsolePlatform): void => {
  describe("the operator's", () => {
    it("shows the platform in both themes, and opens an organization's console", async () => {
      const { adminKey, adminUrl, filled, paused, url } = platform()
      const context = await platform().browser({ viewport: { width: 1280, height: 860 } })
      const seen = watch(context, [url, adminUrl])
      const page = await context.newPage()
      await page.goto(`${adminUrl}/console`)
      await typeInto(page, "Admin credential", `${adminKey}x`)
      await page.keyboard.press("Enter")
      await page.getByText("Invalid or missing admin credential").waitFor()
      await typeInto(page, "Admin credential", adminKey)
      await page.keyboard.press("Enter")
      await heading(page, "Platform")
      const partitions = await ask("GET", `${adminUrl}/admin/v1/partitions`, adminKey)
      const all = partitions.data as ReadonlyArray<{ readonly partition: number; readonly sequence: number }>
      const busiest = all.toSorted((one, other) => other.sequence - one.sequence)[0]!
      const views = [
        ["platform", "", "Platform"],
        ["partition", `/partitions/${busiest.partition}`, /Partition/],
        ["frame", `/partitions/${busiest.partition}/frames/${busiest.sequence}`, /Frame/],
        ["parked", "/parked", "Parked records"],
        ["actors", `/actors?kind=sendAccount&organization=${paused.organization}&key=test`, "Actors"],
        ["organizations", "/organizations", "Organizations"],
        ["organization", `/organizations/${paused.organization}`, "Paused Inc"]
      ] as const
      for (const [name, path, title] of views) {
        await page.goto(`${adminUrl}/console${path}`)
        await expectView(page, `operator-${name}`, title)
      }
      const requests = page.getByRole("table", { name: "Requests of the last seven days" })
      await requests.getByRole("link", { name: "POST /v1/send/emails" }).first().click()
      await expectView(page, "operator-request", "POST /v1/send/emails")
      await page.goto(`${adminUrl}/console/organizations/${paused.organization}`)
      await tabTo(page, page.getByLabel("Account", { exact: true }))
      await page.keyboard.type("test")
      await press(page, "button", "Lift the pause")
      let isWithheld = false
      const withhold = async (route: Route) => {
        await withoutNewestFact(route)
        isWithheld = true
      }
      await page.route("**/send?mode=test", withhold, { times: 1 })
      await press(page, "button", "Lift it")
      await page.getByText("The pause was lifted").waitFor()
      expect(isWithheld).toBe(true)
      await page.goto(`${adminUrl}/console/organizations/${filled.organization}`)
      await press(page, "button", "Open its console")
      await press(page, "button", "Make the link")
      const link = (await page.getByText(/\/console#link=/).textContent())!
      const other = await context.newPage()
      await other.goto(link)
      await heading(other, "Overview")
      expect(seen).toEqual([])
      // Its cookie opens nothing without the page's header.
      const cookies = await context.cookies(adminUrl)
      const session = cookies.find(({ name }) => name === "sluice_operator")!
      const answer = await fetch(`${adminUrl}/admin/v1/organizations`, {
        headers: { cookie: `sluice_operator=${session.value}` }
      })
      expect(answer.status).toBe(401)
    })
  })
}
