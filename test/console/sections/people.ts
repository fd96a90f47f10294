/** People of an organization (docs/platform.md, 2.13 and 12.4 to 12.6): invitations, links by mail, roles, sessions and modes, by keyboard, in both themes and on a phone. */
import { hash, randomBytes } from "node:crypto"
import type { BrowserContext, Page } from "playwright-core"
import { beforeAll, describe, expect, it } from "vitest"
import { query, until } from "../../cli/support.ts"
import { accessibilityFaults } from "../../support/browser.ts"
import { expectView, heading, picture, press, settled, tabTo, typeInto, watch } from "../acting.ts"
import { type ConsolePlatform, signIn } from "../consolePlatform.ts"
import { ask, makeOrganization } from "../fill.ts"

/** The link that a dialog shows once, since the tests' platform mails nothing. */
const handedLink = async (page: Page): Promise<string> => {
  const dialog = page.getByRole("dialog")
  await dialog.getByText("it mails no links").waitFor()
  const link = (await dialog.getByRole("region", { name: "Link" }).locator("pre").textContent())!
  await press(page, "button", "I have handed it over")
  return link
}

/** A link to sign in, as a relay would bring it. */
const signInLink = async ({ databaseUrl, url }: ConsolePlatform, email: string): Promise<string> => {
  const text = `ml_${randomBytes(11).toString("hex")}`
  const now = Date.now()
  await query(
    databaseUrl,
    `insert into member_links (digest, kind, organization_id, member_id, email, made_at, expires_at)
     select $1, 'sign_in', organization_id, id, email, $3, $4 from members where email = $2 limit 1`,
    [hash("sha256", text, "hex"), email, now, now + 900_000]
  )
  return `${url}/console#link=${text}`
}

export const peopleSection = (platform: () => ConsolePlatform): void => {
  describe("[platform 2.13] people", () => {
    let context: BrowserContext
    let page: Page
    let faults: ReadonlyArray<string>
    let other: Page
    let guest: Page
    let annsLink: string
    let bensLink: string

    /** Shows a view on a phone, for a picture, and back. */
    const onPhone = async (on: Page, name: string) => {
      await on.setViewportSize({ width: 390, height: 844 })
      const wide = await on.evaluate<number>(`document.documentElement.scrollWidth - innerWidth`)
      expect(wide, name).toBeLessThanOrEqual(0)
      await picture(on, `${name}-phone`)
      await on.setViewportSize({ width: 1280, height: 860 })
    }

    beforeAll(async () => {
      if (platform() === undefined) return
      const { url } = platform()
      const made = await makeOrganization(platform(), "Southwind", "live")
      context = await platform().browser({ viewport: { width: 1280, height: 860 } })
      faults = watch(context, [url])
      page = await context.newPage()
      await signIn(page, url, made.key)
    })

    it("invites the first owner from a session of a key, which sees its own mode and is told so", async () => {
      const navigation = page.getByRole("navigation", { name: "Console" })
      await navigation.getByText("A key sees its own mode only.").waitFor()
      expect(await navigation.getByRole("radio").count()).toBe(0)
      await press(page, "link", "People")
      await heading(page, "People")
      await page.getByText("No members yet").waitFor()
      await expectView(page, "people-empty", "People")
      await press(page, "button", "Invite")
      await typeInto(page, "Email address", "ann@southwind.test")
      await tabTo(page, page.getByLabel("Role"))
      await page.getByLabel("Role").selectOption("owner")
      await picture(page, "people-invite-dialog")
      await page.getByLabel("Email address").focus()
      await page.keyboard.press("Enter")
      annsLink = await handedLink(page)
      await page.getByRole("row", { name: /ann@southwind\.test.*owner.*Invited/ }).waitFor()
    })

    it("opens a mailed link only when its reader says so, once", async () => {
      const { url } = platform()
      const ann = await (await platform().browser({ viewport: { width: 1280, height: 860 } })).newPage()
      await ann.goto(annsLink)
      await ann.getByText("It works once.").waitFor()
      expect(ann.url()).toBe(`${url}/console`)
      expect(await accessibilityFaults(ann)).toEqual([])
      await picture(ann, "people-accept-light")
      // Another program that opens the address uses nothing up.
      await press(ann, "button", "Sign in")
      await heading(ann, "Overview")
      await ann.getByRole("navigation", { name: "Console" }).getByText("owner · ").waitFor()
      const late = await (await platform().browser()).newPage()
      await late.goto(annsLink)
      await press(late, "button", "Sign in")
      await late.getByText("This link is not good, or not any more").waitFor()
      await press(late, "button", "Ask for another link")
      await late.getByLabel("Email address").waitFor()
      other = ann
    })

    it("[platform 12.6] shows both modes to a member, with a loud mark in test mode on every view", async () => {
      const { url } = platform()
      const navigation = other.getByRole("navigation", { name: "Console" })
      expect(await other.getByRole("note").count()).toBe(0)
      await tabTo(other, navigation.getByRole("radio", { name: "Live" }))
      await other.keyboard.press("ArrowRight")
      await other.getByRole("note").getByText("Test mode").waitFor()
      await until(() => other.evaluate<boolean>(`document.title.startsWith("Test · ")`))
      for (const [name, path, title] of [
        ["people-test", "/people", "People"],
        ["sessions-test", "/sessions", "Sessions"],
        ["keys-test", "/keys", "API keys"]
      ] as const) {
        await other.goto(`${url}/console${path}`)
        await expectView(other, name, title)
        await other.getByRole("note").getByText("Test mode").waitFor()
        await onPhone(other, name)
      }
      // A phone names organization and mode while its menu is folded away.
      await other.setViewportSize({ width: 390, height: 844 })
      expect(await navigation.getByText("Southwind").first().isVisible()).toBe(true)
      expect(await navigation.getByText("Test", { exact: true }).first().isVisible()).toBe(true)
      await other.setViewportSize({ width: 1280, height: 860 })
      await tabTo(other, navigation.getByRole("radio", { name: "Test" }))
      await other.keyboard.press("ArrowLeft")
      await other.getByRole("note").waitFor({ state: "detached" })
    })

    it("changes a role, sends an invitation again and removes, by keyboard alone", async () => {
      const { url } = platform()
      await other.goto(`${url}/console/people`)
      await press(other, "button", "Invite")
      await typeInto(other, "Email address", "ben@southwind.test")
      await other.keyboard.press("Enter")
      await handedLink(other)
      await press(other, "button", "Send again the invitation of ben@southwind.test")
      await press(other, "button", "Send it")
      bensLink = await handedLink(other)
      await press(other, "button", "Change the role of ann@southwind.test")
      await other.getByRole("dialog").getByLabel("Role").selectOption("viewer")
      await press(other, "button", "Change")
      await other.getByText("This is the last owner.").waitFor()
      await other.keyboard.press("Escape")
      await press(other, "button", "Change the role of ben@southwind.test")
      await other.getByRole("dialog").getByLabel("Role").selectOption("viewer")
      await press(other, "button", "Change")
      await other.getByRole("row", { name: /ben@southwind\.test.*viewer/ }).waitFor()
      await expectView(other, "people", "People")
      await onPhone(other, "people")
    })

    it("[platform 12.4] signs in by address, with the same words for a stranger's", async () => {
      guest = await (await platform().browser({ viewport: { width: 1280, height: 860 } })).newPage()
      await guest.goto(bensLink)
      await press(guest, "button", "Sign in")
      await heading(guest, "Overview")
      await press(guest, "button", "Sign out")
      await typeInto(guest, "Email address", "ben@southwind.test")
      await guest.keyboard.press("Enter")
      await guest.getByText("This platform mails no links, because it has no relay.").waitFor()
      // One that has a relay.
      await guest.route("**/sign-in-links", (route) => route.fulfill({ status: 202, json: { accepted: true } }))
      for (const address of ["stranger@nowhere.test", "ben@southwind.test"]) {
        await typeInto(guest, "Email address", address)
        await guest.keyboard.press("Enter")
        await guest.getByText(`If ${address} is a member, a link is on its way.`).waitFor()
      }
      expect(await accessibilityFaults(guest)).toEqual([])
      await picture(guest, "sign-in-asked-light")
      await onPhone(guest, "sign-in-asked")
    })

    it("shows a viewer what there is and no act, and ends when an owner ends it", async () => {
      const { url } = platform()
      await guest.goto(await signInLink(platform(), "ben@southwind.test"))
      await press(guest, "button", "Sign in")
      await heading(guest, "Overview")
      // A viewer has no acts to press, and no view of people or keys.
      const words = await guest.getByRole("navigation", { name: "Console" }).getByRole("listitem").allTextContents()
      expect(words).not.toContain("People")
      expect(words).not.toContain("API keys")
      await guest.goto(`${url}/console/endpoints`)
      await heading(guest, "Endpoints")
      await settled(guest)
      expect(await guest.getByRole("button", { name: "New endpoint" }).count()).toBe(0)
      await guest.goto(`${url}/console/sessions`)
      await heading(guest, "Sessions")
      await guest.getByRole("row", { name: /ben@southwind\.test.*This one.*viewer/ }).waitFor()
      // An owner ends it, and the viewer signs in again.
      await other.goto(`${url}/console/sessions`)
      await expectView(other, "sessions", "Sessions")
      await onPhone(other, "sessions")
      const row = other.getByRole("row", { name: /ben@southwind\.test/ })
      await tabTo(other, row.getByRole("button"))
      await other.keyboard.press("Enter")
      await press(other, "button", "End it")
      await row.waitFor({ state: "detached" })
      await guest.getByRole("link", { name: "Overview" }).click()
      await guest.getByText("Your session has ended.").waitFor()
    })

    it("lets a member of two organizations choose one, and go on in the other", async () => {
      const { url } = platform()
      const second = await makeOrganization(platform(), "Eastwind", "live")
      await ask("POST", `${url}/v1/members`, second.key, { email: "ann@southwind.test", role: "developer" })
      const invited = await ask("GET", `${url}/v1/members`, second.key)
      expect(invited.data).toHaveLength(1)
      await query(platform().databaseUrl, "update members set joined_at = $2 where organization_id = $1", [
        second.organization,
        Date.now()
      ])
      const ann = await (await platform().browser({ viewport: { width: 1280, height: 860 } })).newPage()
      await ann.goto(await signInLink(platform(), "ann@southwind.test"))
      await press(ann, "button", "Sign in")
      await heading(ann, "Choose an organization")
      expect(await accessibilityFaults(ann)).toEqual([])
      await picture(ann, "choose-organization-light")
      await press(ann, "button", /^Southwind/)
      await heading(ann, "Overview")
      const navigation = ann.getByRole("navigation", { name: "Console" })
      await navigation.getByText("owner · ").waitFor()
      await press(ann, "button", "Change organization")
      await press(ann, "button", /^Eastwind/)
      await navigation.getByText("developer · ").waitFor()
      const { data } = await ask("GET", `${url}/v1/audit?act=member.signed_in`, second.key)
      expect(data).toHaveLength(1)
    })

    it("asked nothing of other hosts", () => {
      expect(faults).toEqual([])
    })
  })
}
