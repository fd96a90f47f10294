/**
 * The console in a real browser (docs/platform.md, 12): how soon it is there from a warm server, and over a slow connection; how it draws while 50 events a second come; and how much
 * script there is. The connection is slowed through the browser's own protocol.
 */
import { existsSync } from "node:fs"
import { setTimeout as pause } from "node:timers/promises"
import { gzipSync } from "node:zlib"
import type { BrowserContext, Page } from "playwright-core"
import { consoleAssets } from "../../../src/api/consoleBundle.ts"
import { openBrowser } from "../../support/browser.ts"
import { atMost, type Benchmark, benchmark, type Round } from "../runner/benchmark.ts"
import { demoKey, filledDataFolder, keyHeaders, startPlatform } from "../runner/platform.ts"

/** 1.6 Mbit/s, and so long from one end to the other and back, in milliseconds. */
const slowBytesPerSecond = 200_000
const slowLatencyMillis = 150

/** Events a second while frames are watched, and for how long. */
const eventsPerSecond = 50
const watchedSeconds = 10

const unavailable = async () =>
  existsSync("/usr/bin/chromium") ? undefined : "there is no /usr/bin/chromium (Debian's package chromium)"

/** Signs in, and leaves the browser with its cookie and without anything that it has loaded. */
const signedIn = async (context: BrowserContext, url: string): Promise<Page> => {
  const page = await context.newPage()
  await page.goto(`${url}/console`)
  await page.getByLabel("API key").fill(demoKey)
  await page.keyboard.press("Enter")
  await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor()
  return page
}

/** Runs with a platform and a browser that is signed in. */
const withConsole = async <A>({ workbench }: Round, use: (page: Page, url: string) => Promise<A>): Promise<A> => {
  const platform = await startPlatform(workbench, { dataFolder: await filledDataFolder(workbench) })
  const { close, context } = await openBrowser()
  try {
    return await use(await signedIn(context, platform.url), platform.url)
  } finally {
    await close()
    await platform.stop()
  }
}

/** Milliseconds until something was painted, and until the first view shows what it has loaded. */
const openOverview = async (page: Page, url: string) => {
  const began = performance.now()
  await page.goto(`${url}/console`)
  await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor()
  // The page's policy allows no code that is made of a text, so the page is asked from outside.
  const loading = page.locator(".loading")
  while ((await loading.count()) > 0) await loading.first().waitFor({ state: "detached" })
  const viewMillis = performance.now() - began
  const paintMillis = await page.evaluate<number>(
    `performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? NaN`
  )
  return { paintMillis, viewMillis }
}

/** Opens the overview with an empty cache. */
const first = (slow: boolean) => async (round: Round) =>
  withConsole(round, async (page, url) => {
    const session = await page.context().newCDPSession(page)
    await session.send("Network.enable")
    await session.send("Network.setCacheDisabled", { cacheDisabled: true })
    if (slow) {
      await session.send("Network.emulateNetworkConditions", {
        offline: false,
        latency: slowLatencyMillis,
        downloadThroughput: slowBytesPerSecond,
        uploadThroughput: slowBytesPerSecond
      })
    }
    return round.watched(() => openOverview(page, url))
  })

/** Lets events happen at a steady pace for so long. */
const makeEvents = async (url: string): Promise<void> => {
  const began = performance.now()
  const asked: Array<Promise<unknown>> = []
  for (let made = 0; made < eventsPerSecond * watchedSeconds; made++) {
    const dueMillis = (made * 1_000) / eventsPerSecond
    await pause(Math.max(0, dueMillis - (performance.now() - began)))
    asked.push(fetch(`${url}/v1/telco/lookup/2125560123`, { headers: keyHeaders }).then((answer) => answer.text()))
  }
  await Promise.all(asked)
}

/** The times between frames of the page, in milliseconds, while events come. */
const framesUnderEvents = async (round: Round) =>
  withConsole(round, async (page, url) => {
    await page.goto(`${url}/console/events`)
    await page.getByText("Listening").waitFor()
    await page.evaluate(`
      globalThis.frames_ = []; let last = performance.now()
      const step = (now) => { globalThis.frames_.push(now - last); last = now; requestAnimationFrame(step) }
      requestAnimationFrame(step)`)
    await round.watched(() => makeEvents(url))
    const frames = (await page.evaluate<ReadonlyArray<number>>("globalThis.frames_")).toSorted((a, b) => a - b)
    const shown = await page.locator(".live-list li").count()
    return { p99Millis: frames[Math.floor(frames.length * 0.99)]!, longestMillis: frames.at(-1)!, shown }
  })

/** Bytes of script, compressed, that a browser of an organization's member loads at most. */
const bundle = async () => {
  const { files, pages } = await consoleAssets()
  const others = [pages.mailbox.script, pages.docs.script]
  // Operators' views are a part that members' browsers do not load, and other pages have scripts of their own.
  const scripts = files.filter(
    ({ name, text }) => name.endsWith(".js") && !others.includes(name) && !text.includes("/admin/v1/partitions")
  )
  return { gzipBytes: scripts.reduce((sum, { text }) => sum + gzipSync(text).length, 0) }
}

export const consoleBenchmarks: ReadonlyArray<Benchmark> = [
  benchmark({
    name: "console/first",
    unavailable,
    sides: { console: first(false) },
    rows: [
      { name: "paint", unit: "ms", figure: ({ console }) => console.paintMillis, goal: atMost(1_000), over: "worst" },
      { name: "view", unit: "ms", figure: ({ console }) => console.viewMillis, note: "nothing in the browser's cache" }
    ]
  }),
  benchmark({
    name: "console/slow",
    unavailable,
    sides: { console: first(true) },
    rows: [
      {
        name: "view",
        unit: "ms",
        figure: ({ console }) => console.viewMillis,
        goal: atMost(3_000),
        over: "worst",
        note: "1.6 Mbit/s and 150 ms, nothing in the browser's cache"
      }
    ]
  }),
  benchmark({
    name: "console/frames",
    unavailable,
    sides: { console: framesUnderEvents },
    rows: [
      {
        name: "p99",
        unit: "ms",
        figure: ({ console }) => console.p99Millis,
        goal: atMost(50),
        note: `live events under ${eventsPerSecond} events a second`
      },
      { name: "longest", unit: "ms", figure: ({ console }) => console.longestMillis, goal: atMost(200) }
    ]
  }),
  benchmark({
    name: "console/bundle",
    sides: { console: bundle },
    rounds: 1,
    rows: [
      {
        name: "script",
        unit: "kB",
        figure: ({ console }) => console.gzipBytes / 1_024,
        goal: atMost(60),
        note: "every script of a member, gzip"
      }
    ]
  })
]
