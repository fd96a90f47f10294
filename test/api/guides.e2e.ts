/**
 * The guides at `/guides`, as readers, browsers and language models get them. The first request in a checkout whose
 * documents have changed builds the site.
 */
import { readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { guideGroups } from "../../src/api/guides/guideContents.ts"
import { launchBrowser } from "../support/browser.ts"
import { needing } from "../support/needs.ts"
import { patienceMillis } from "../support/patience.ts"
import { useSharedPlatform } from "../support/sharedPlatform.ts"

const platform = useSharedPlatform()
const read = (file: string): string => readFileSync(new URL(`../../docs/${file}`, import.meta.url), "utf8")

/** A page, once the site is built; until then the answer says when to ask again. */
const page = async (path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> => {
  for (;;) {
    const answer = await fetch(`${platform().url}${path}`, { headers })
    if (answer.status !== 503) return answer
    expect(await answer.text()).toContain("The guides are being built")
    const seconds = Number(answer.headers.get("retry-after"))
    await new Promise((resolve) => setTimeout(resolve, seconds * 1_000))
  }
}

describe("the guides", () => {
  it(
    "have a page for every document of the contents, each with its text beside it",
    async () => {
      const files = guideGroups().flatMap(({ guides }) => guides.map(({ file }) => file))
      expect(files.length).toBeGreaterThan(30)
      for (const file of files) {
        const answer = await page(`/guides/${file.slice(0, -".md".length)}`)
        const text = await answer.text()
        expect({ status: answer.status, type: answer.headers.get("content-type") }, file).toEqual({
          status: 200,
          type: "text/html; charset=utf-8"
        })
        expect(text, file).toContain(`href="/guides/${file}"`)
        const twin = await page(`/guides/${file}`)
        expect(twin.headers.get("content-type")).toBe("text/markdown; charset=utf-8")
        expect(await twin.text(), file).toBe(read(file))
      }
    },
    patienceMillis
  )

  it("have one address for the first page, and no page where there is none", async () => {
    const moved = await fetch(`${platform().url}/guides`, { redirect: "manual" })
    expect({ status: moved.status, to: moved.headers.get("location") }).toEqual({ status: 302, to: "/guides/" })
    expect(await (await page("/guides/")).text()).toContain("Documents")
    for (const path of ["nothing", "nothing.md", "../package.json", "%2e%2e/package.json", ".vitepress/config.ts"])
      expect((await page(`/guides/${path}`)).status, path).toBe(404)
    expect((await fetch(`${platform().url}/guides/`, { method: "POST" })).status).toBe(405)
  })

  it("have a strict policy that names the scripts in the page, and are compressed and tagged", async () => {
    const answer = await page("/guides/quickstart", { "accept-encoding": "br" })
    const directives = answer.headers.get("content-security-policy")!
    expect(directives).toMatch(/default-src 'none'; script-src 'self' 'sha256-/)
    expect(directives).not.toMatch(/script-src[^;]*unsafe/)
    expect(answer.headers.get("x-content-type-options")).toBe("nosniff")
    expect(answer.headers.get("content-encoding")).toBe("br")
    const again = await page("/guides/quickstart", { "if-none-match": answer.headers.get("etag")! })
    expect(again.status).toBe(304)
    const script = /src="(\/guides\/assets\/[\w.-]+\.js)"/.exec(await answer.text())![1]!
    expect((await page(script)).headers.get("cache-control")).toContain("immutable")
  })

  it("list all pages for language models, and give them in one text", async () => {
    const index = await (await page("/guides/llms.txt")).text()
    const whole = await (await page("/guides/llms-full.txt")).text()
    for (const { file, title } of guideGroups().flatMap(({ guides }) => guides)) {
      expect(index).toContain(`- [${title}](/guides/${file}): `)
      expect(whole).toContain(read(file).trim())
    }
  })

  it("are linked from the console and from the page of the API", async () => {
    const description = (await (await fetch(`${platform().url}/openapi.json`)).json()) as {
      readonly info: { readonly description: string }
    }
    expect(description.info.description).toContain("](/guides/)")
    expect(await (await fetch(`${platform().url}/console`)).text()).toContain('href="/guides/"')
  })

  it("show tabs, search and a dark theme in a browser, and load nothing from elsewhere", {
    ...needing("chromium"),
    timeout: patienceMillis
  }, async () => {
    await page("/guides/quickstart")
    const browser = await launchBrowser()
    try {
      const context = await browser.newContext({ colorScheme: "dark" })
      context.setDefaultTimeout(patienceMillis)
      const window = await context.newPage()
      const refused: Array<string> = []
      const hosts = new Set<string>()
      window.on("console", (line) => line.type() === "error" && refused.push(line.text()))
      window.on("request", (request) => hosts.add(new URL(request.url()).host))
      await window.goto(`${platform().url}/guides/quickstart`)
      await window.locator("html.dark").waitFor()
      await window.getByText("Go", { exact: true }).first().click()
      await window.getByText("first_email.go").first().waitFor({ state: "visible" })
      await window.getByRole("button", { name: "Search" }).first().click()
      await window.getByRole("searchbox").fill("bounces")
      await window.locator(".results a").first().waitFor()
      expect(refused).toEqual([])
      expect([...hosts]).toEqual([new URL(platform().url).host])
    } finally {
      await browser.close()
    }
  })
})
