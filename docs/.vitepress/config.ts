/** Describes the guides' site: navigation by task from README.md, search in the browser, nothing from other hosts. */
import { posix } from "node:path"
import { defineConfig } from "vitepress"
import { documentsFolder, guideGroups } from "../../src/api/guides/guideContents.ts"

const pageOf = (file: string): string => `/${file.replace(/\.md$/, "")}`

/** The parts of a document that are in files of their own, below it. */
const parts: Readonly<Record<string, ReadonlyArray<string>>> = {
  "platform.md": ["telco", "events", "webhooks", "send", "talk", "billing", "console", "operating"]
}

const sidebar = guideGroups(documentsFolder).map(({ guides, title }) => ({
  text: title,
  collapsed: false,
  items: guides.map(({ file, title }) => ({
    text: title,
    link: pageOf(file),
    ...(parts[file] === undefined
      ? {}
      : {
          collapsed: true,
          items: parts[file].map((part) => ({
            text: part[0]!.toUpperCase() + part.slice(1),
            link: `/platform/${part}`
          }))
        })
  }))
}))

/** The console's sign; without one browsers ask for /favicon.ico. */
const icon =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Crect width='16' height='16' rx='4' fill='%23275df0'/%3E%3Cpath d='M4 5h8M4 8h5M4 11h8' stroke='white' stroke-width='1.6' stroke-linecap='round'/%3E%3C/svg%3E"

export default defineConfig({
  title: "Sluice",
  description: "Guides to Sluice, an actor-based stream processing engine and the platform on it",
  lang: "en",
  base: "/guides/",
  head: [["link", { rel: "icon", href: icon }]],
  cleanUrls: true,
  rewrites: { "README.md": "index.md" },
  // Programs to copy are served beside the pages, and some addresses are examples of addresses.
  ignoreDeadLinks: [/^\.?\/?examples/, /^https?:\/\/localhost/],
  // The scripts in a page are few and the same for all pages, so that its policy can name them.
  metaChunk: true,
  vite: { logLevel: "warn", esbuild: { tsconfigRaw: {} }, build: { chunkSizeWarningLimit: 2_000 } },
  transformHead: ({ page }) => [
    ["link", { rel: "alternate", type: "text/markdown", href: `/guides/${page === "index.md" ? "README.md" : page}` }]
  ],
  markdown: {
    config: (md) => {
      // Tabs are fences between two comments, which other readers of Markdown do not show.
      md.core.ruler.before("normalize", "tabs", (state) => {
        state.src = state.src.replaceAll("<!-- tabs -->", "::: code-group").replaceAll("<!-- /tabs -->", ":::")
      })
      // Links to files outside of the documents lead nowhere on the site; their words stay.
      md.core.ruler.push("outside", (state) => {
        for (const { children } of state.tokens) {
          let isOutside = false
          for (const token of children ?? []) {
            if (token.type === "link_open") {
              const href = token.attrGet("href") ?? ""
              const path = posix.join(posix.dirname(state.env.relativePath ?? ""), href)
              isOutside = !/^(?:\w+:|#|\/)/.test(href) && path.startsWith("..")
            }
            if (!isOutside || !token.type.startsWith("link_")) continue
            token.tag = "span"
            token.attrs = null
            if (token.type === "link_close") isOutside = false
          }
        }
      })
    }
  },
  themeConfig: {
    search: { provider: "local" },
    sidebar,
    outline: [2, 3],
    nav: [
      { text: "Quick start", link: "/quickstart" },
      { text: "API", link: "/docs", target: "_self" },
      { text: "Console", link: "/console", target: "_self" }
    ]
  }
})
