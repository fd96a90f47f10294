/** `sluice suppressions`: lists of addresses as files, from one account to another (docs/platform.md, 9.15). */
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { sluice } from "../support/commands.ts"
import { useSharedPlatform } from "../support/sharedPlatform.ts"
import { makeTenant, ok, okJson, query, refusal, useFolders } from "./support.ts"

const newFolder = useFolders()
const shared = useSharedPlatform()

/** An account, and the environment of its commands. */
const account = async () => {
  const { databaseUrl, process: platform } = shared()
  const { id, key } = await makeTenant(platform, { name: "lists", plan: "team" }, "send")
  const folder = await newFolder()
  const file = async (name: string, text: string) => {
    await writeFile(join(folder, name), text)
    return join(folder, name)
  }
  return {
    databaseUrl,
    file,
    id,
    key,
    url: platform.url,
    environment: { SLUICE_API_URL: platform.url, SLUICE_API_KEY: key }
  }
}

describe("[platform 9.15] sluice suppressions", () => {
  it("imports a file, whose export is the same list in another account", async () => {
    const [one, other] = [await account(), await account()]
    const lines = ["Email,Added", "bob@example.com,1", "Cara@Example.com,2", "bob@example.com,3", "nobody,4"]
    const imported = await okJson(
      ["suppressions", "import", await one.file("a.csv", lines.join("\n"))],
      one.environment
    )
    expect(imported).toEqual({
      addresses: 2,
      repeated: 1,
      malformed: { total: 1, listed: [{ line: 5, reason: "has no address in column 1" }] }
    })
    const listOf = async ({ environment }: typeof one, ...more: ReadonlyArray<string>) =>
      (await ok(["suppressions", "export", ...more], environment)).trimEnd().split("\r\n")
    const [heading, ...exported] = await listOf(one)
    expect(heading).toBe("email,origin,created_at")
    const addresses = (all: ReadonlyArray<string>) => all.map((line) => line.split(",")[0]).sort()
    expect(addresses(exported)).toEqual(["bob@example.com", "cara@example.com"])
    expect(exported[0]).toMatch(/,manual,\d{4}-\d\d-\d\dT[\d:.]+Z$/)
    expect(await listOf(one, "--origin", "bounce")).toEqual([heading])
    expect(await listOf(other)).toEqual([heading])
    await ok(
      ["suppressions", "import", await other.file("b.csv", [heading, ...exported].join("\r\n"))],
      other.environment
    )
    expect(addresses((await listOf(other)).slice(1))).toEqual(addresses(exported))
  })

  it("exports a long list in pages, whole and in order", async () => {
    const { databaseUrl, environment, id, key, url } = await account()
    // 3 pages, in which many addresses have one time.
    await query(
      databaseUrl,
      `insert into send_suppressions (organization_id, mode, id, email, origin, created_at)
      select $1, 'live', 'sup_' || md5(n::text), 'a' || n || '@example.com', 'bounce', n / 700 from generate_series(1, 2500) n`,
      [id]
    )
    const lines = (await ok(["suppressions", "export"], environment)).trimEnd().split("\r\n").slice(1)
    expect(new Set(lines).size).toBe(2_500)
    const times = lines.map((line) => line.split(",")[2]!)
    expect(times).toEqual(times.toSorted())
    const answer = await fetch(`${url}/v1/send/suppressions/export`, { headers: { authorization: `Bearer ${key}` } })
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "text/csv; charset=utf-8"])
    expect((await answer.text()).split("\r\n")).toHaveLength(2_502)
  })

  it("adds nothing of a file that is something else, and needs a key", async () => {
    const { environment, file } = await account()
    const wrong = await file("wrong.csv", "name;address\nBob;bob@example.com\nCara;x")
    expect(refusal(await sluice(["suppressions", "import", wrong], environment))).toContain(
      "was not imported: 3 of its lines are malformed, more than have an address. The list is as it was."
    )
    expect(refusal(await sluice(["suppressions", "import", `${wrong}.none`], environment))).toContain("cannot be read")
    const { SLUICE_API_URL } = environment
    expect(refusal(await sluice(["suppressions", "export"], { SLUICE_API_URL }))).toContain("set SLUICE_API_KEY")
    const bad = { ...environment, SLUICE_API_KEY: `sk_live_${"a".repeat(22)}` }
    expect(refusal(await sluice(["suppressions", "export"], bad))).toContain("Invalid or missing API key")
  })
})
