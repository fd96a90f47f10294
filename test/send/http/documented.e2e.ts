/** The examples of emails, senders, suppressions and accounts in docs/platform/send.md: each command runs, and its answer has the fields of the one beside it. */
import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { promisify } from "node:util"
import { describe, expect, it } from "vitest"
import { patienceMillis } from "../../support/patience.ts"
import { useSendPlatform } from "./sendersPlatform.ts"

const platform = useSendPlatform()

const text = readFileSync(new URL("../../../docs/platform/send.md", import.meta.url), "utf8")

/** Commands and the answers beside them, in order. */
const examples = [...text.matchAll(/^### 9\.(?:1[01]|1[3456]|20) [\s\S]*?(?=^### |^## |$(?![\s\S]))/gm)].flatMap(
  ([section]) =>
    [...section.matchAll(/```sh\n(curl [\s\S]*?)```\n\n```json\n([\s\S]*?)```/g)].map(
      ([, command, answer]) => [command!, answer!] as const
    )
)

/** A value's shape: its fields' names, and of a list the shape of its first item. */
const shapeOf = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.length === 0 ? [] : [shapeOf(value[0])]
  if (typeof value !== "object" || value === null) return "value"
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, shapeOf(field)]))
}

describe("the documented examples", () => {
  it("run as they stand", async () => {
    expect(examples.length).toBe(7)
    const { keys, test } = await platform().tenant()
    await test("POST", "/v1/send/domains", { name: "demo.test" })
    const environment = { PATH: process.env.PATH, KEY: keys.test, API: platform().url }
    for (const [command, answer] of examples) {
      // The list of emails may have the newest a moment late.
      if (command.includes("/v1/send/emails?"))
        await expect
          .poll(async () => (await test("GET", "/v1/send/emails")).body.data, { timeout: patienceMillis })
          .toHaveLength(1)
      const { stdout } = await promisify(execFile)("bash", ["-c", command], { env: environment })
      expect(shapeOf(JSON.parse(stdout)), command).toEqual(shapeOf(JSON.parse(answer)))
    }
  })
})
