/** The files that a browser loads (docs/platform.md, 12.3). */
import { describe, expect, it } from "vitest"
import type { ConsolePlatform } from "../consolePlatform.ts"

export const servedSection = (platform: () => ConsolePlatform): void => {
  describe("what is served", () => {
    it("[platform 12.3] has a strict policy, and is kept by browsers for ever under a name of its own", async () => {
      const { url } = platform()
      const page = await fetch(`${url}/console/whatever/place`)
      const policy = page.headers.get("content-security-policy")!
      expect(policy).toMatch(/default-src 'none'; script-src 'self';/)
      expect(policy).toContain("frame-ancestors 'none'")
      expect(policy).not.toMatch(/script-src[^;]*unsafe/)
      const text = await page.text()
      expect(text).not.toMatch(/<script>|\son\w+=/)
      const script = /src="(\/console\/assets\/[\w.-]+\.js)"/.exec(text)![1]!
      const asset = await fetch(`${url}${script}`, { headers: { "accept-encoding": "br" } })
      expect(asset.headers.get("cache-control")).toContain("immutable")
      expect(asset.headers.get("content-encoding")).toBe("br")
      expect((await fetch(`${url}/console/assets/none.js`)).status).toBe(404)
      for (const path of ["/console", "/console/events", script]) {
        const refused = await fetch(`${url}${path}`, { method: "POST" })
        expect({ status: refused.status, allow: refused.headers.get("allow") }, path).toEqual({
          status: 405,
          allow: "GET, HEAD"
        })
      }
    })
  })
}
