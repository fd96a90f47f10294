/** Every block of code in README, docs and clients/README.md runs in a test, or is one of a few with a reason. */
import { existsSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { type Block, blocksIn, blocksOf, documents } from "./blocks.ts"
import { claims, unclaimed } from "./claims.ts"
import { followed, speechSteps, steps } from "./steps.ts"

const root = new URL("../../", import.meta.url).pathname

const isExcused = (block: Block): boolean =>
  unclaimed.some(([document, text]) => document === block.document && block.text.includes(text))

const orphans = (blocks: ReadonlyArray<Block>): ReadonlyArray<string> =>
  blocks
    .filter((block) => !isExcused(block) && !claims.some(({ isOf }) => isOf(block)))
    .map(({ document, line, text }) => `${document}:${line} ${text.split("\n")[0]}`)

const all = documents.flatMap(blocksOf)

describe("the blocks of the documents", () => {
  it("run in a test each, or have a reason", () => {
    expect(all.length).toBeGreaterThan(250)
    expect(orphans(all)).toEqual([])
  })

  it("are missed if no test has them", () => {
    const text = "# New\n\n```sh\nsluice-of-others --all\n```\n\n```sql\nselect 1\n```\n"
    expect(orphans(blocksIn("new.md", text))).toEqual(["new.md:3 sluice-of-others --all", "new.md:7 select 1"])
  })

  it("are those that tests and reasons name, each one block", () => {
    for (const { test } of claims) expect(existsSync(`${root}${test}`), test).toBe(true)
    for (const [document, text] of unclaimed)
      expect(blocksOf(document).filter((block) => block.text.includes(text)).length, `${document}: ${text}`).toBe(1)
    for (const { document, has } of [...steps, ...speechSteps, ...followed])
      expect(blocksOf(document).filter(({ text }) => text.includes(has)).length, `${document}: ${has}`).toBe(1)
    for (const { isOf, test } of claims) expect(all.filter(isOf).length, test).toBeGreaterThan(0)
  })
})
