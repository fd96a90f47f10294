/** `sluice numbers` for those who run the numbers: files of them, and what a lookup then knows. */
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { beforeAll, describe, expect, it } from "vitest"
import { sluice } from "../support/commands.ts"
import { type Platform, start } from "../support/platform.ts"
import { useSharedPlatform } from "../support/sharedPlatform.ts"
import { askAdmin, makeKey, makeOrganization, ok, okJson, query, refusal, useFolders } from "./support.ts"

const newFolder = useFolders()
const shared = useSharedPlatform()

let databaseUrl = ""
let folder = ""
let platform: Platform
let environment: Record<string, string> = {}

beforeAll(async () => {
  ;({ databaseUrl, process: platform } = shared())
  folder = await newFolder()
  environment = { SLUICE_DATA_DIR: platform.dataDir }
})

describe("sluice numbers", () => {
  const file = async (name: string, lines: ReadonlyArray<string>): Promise<string> => {
    const path = join(folder, name)
    await writeFile(path, lines.join("\r\n"))
    return path
  }
  const owner = () => makeOrganization(platform, { name: "numbers" })
  const numbersIn = (data: unknown) => (data as ReadonlyArray<{ readonly tn: string }>).map(({ tn }) => tn)
  const listed = async (org: string): Promise<ReadonlyArray<string>> =>
    numbersIn(await okJson(["numbers", "list", "--org", org], environment))
  /** The same of an inventory of one page, without the command. */
  const held = async (org: string): Promise<ReadonlyArray<string>> =>
    numbersIn((await askAdmin(platform, "GET", `/organizations/${org}/numbers`)).data)
  const tn = (index: number): string => String(2_125_550_000 + index)

  it("[platform 4.4] import takes a number at the beginning of each line, however it is written, and ignores further columns", async () => {
    const org = await owner()
    const path = await file("forms.csv", [
      "\ufefftn,label",
      "+1 (212) 555-0003,office",
      '"1-212-555-0001","Desk, second floor"',
      "",
      "212.555.0002",
      "2125550001,twice"
    ])
    expect(await okJson(["numbers", "import", path, "--org", org], environment)).toEqual({
      read: 4,
      added: 3,
      malformed: { total: 0, listed: [] }
    })
    expect(await listed(org)).toEqual([tn(1), tn(2), tn(3)])
  })

  it("import is idempotent", async () => {
    const org = await owner()
    const path = await file("again.csv", [tn(1), tn(2)])
    expect(await ok(["numbers", "import", path, "--org", org], environment)).toBe(
      `${path}\n  read 2, added 2, malformed 0\n`
    )
    expect(await ok(["numbers", "import", path, "--org", org], environment)).toBe(
      `${path}\n  read 2, added 0, malformed 0\n`
    )
    expect(await held(org)).toEqual([tn(1), tn(2)])
  })

  it("[platform 4.4] import names malformed lines by their place and takes the others, unless more than 1 % are malformed", async () => {
    const org = await owner()
    const lines = Array.from({ length: 200 }, (_, index) => tn(index))
    lines[49] = "212555,short"
    lines[99] = '"2125550099'
    const path = await file("some.csv", lines)
    expect(await ok(["numbers", "import", path, "--org", org], environment)).toBe(
      [
        path,
        "  read 198, added 198, malformed 2",
        "  line 50 does not begin with a number of 10 digits, with or without +1 or 1",
        "  line 100 has a quote that is not closed",
        ""
      ].join("\n")
    )
    expect(await listed(org)).toHaveLength(198)

    const other = await owner()
    lines[149] = "nothing"
    const refused = await file("many.csv", lines)
    const sentence = refusal(await sluice(["numbers", "import", refused, "--org", other], environment))
    expect(sentence).toContain(
      `${refused} was not taken: 3 of 200 lines are malformed, more than 1 %. The inventory is as it was.`
    )
    expect(sentence).toContain("line 150 does not begin with a number")
    expect(await held(other)).toEqual([])
  })

  it("import says what is wrong with a file that is none, and with an organization that there is not", async () => {
    const org = await owner()
    const run = async (path: string, id = org) =>
      refusal(await sluice(["numbers", "import", path, "--org", id], environment))
    const absent = join(folder, "absent.csv")
    expect(await run(absent)).toBe(`sluice: ${absent} cannot be read: there is no such file`)
    expect(await run(folder)).toContain(`${folder} cannot be read: `)
    const empty = await file("empty.csv", ["tn,label", ""])
    expect(await run(empty)).toContain(`${empty} was not taken: it holds no number.`)
    expect(await run(await file("one.csv", [tn(1)]), "org_none")).toContain("org_none")
  })

  it("import takes a large file in batches, list shows all, and a lookup knows them", async () => {
    const org = await owner()
    const count = 12_345
    const numbers = Array.from({ length: count }, (_, index) => String(2_042_000_000 + index * 7))
    const path = await file("large.csv", numbers)
    expect(await okJson(["numbers", "import", path, "--org", org], environment)).toMatchObject({
      read: count,
      added: count
    })
    expect(
      await query(databaseUrl, "select count(*)::int as count from telco_numbers where organization_id = $1", [org])
    ).toEqual([{ count }])
    const key = await makeKey(platform, org, { services: ["telco"] })
    const response = await fetch(`${platform.url}/v1/telco/lookup/${numbers[4_321]}`, {
      headers: { authorization: `Bearer ${key}` }
    })
    expect(await response.json()).toMatchObject({ tn: numbers[4_321], inInventory: true })
  })

  it("[platform 4.5] lookup answers a line for each number of its input, in their order", async () => {
    const line = (index: number) => `${tn(index)},${tn(index)},212,555,US,NY,`
    const input = [
      "tn,label",
      "+1 (212) 555-0003,office",
      "",
      '"1-212-555-0001","Desk, second floor"',
      "nothing,",
      '"2125550099',
      "9995550123",
      ...Array.from({ length: 2_500 }, (_, index) => tn(index))
    ]
    const { code, stderr, stdout } = await start(["lookup"], environment, { input: input.join("\r\n") }).finished
    expect(code, stderr).toBe(0)
    const lines = stdout.trimEnd().split("\n")
    expect(lines.slice(0, 6)).toEqual([
      "number,tn,npa,nxx,country,state,rateCenter,status,ocn,companyName,commonName,carrierType,pooled,carrierBasis,timeZones,error",
      expect.stringContaining(`+1 (212) 555-0003,${line(3).split(",").slice(1).join(",")}`),
      expect.stringContaining("1-212-555-0001,2125550001,212,555,US,NY,"),
      expect.stringMatching(/^nothing,{15}"?Expected 10 digits/),
      // A line that cannot be split is one number, whose punctuation is ignored.
      expect.stringContaining(`"""2125550099",${line(99).split(",").slice(1).join(",")}`),
      expect.stringMatching(/^9995550123,{15}No record of the code 999-555/)
    ])
    expect(lines.slice(6).map((text) => text.split(",")[1])).toEqual(input.slice(7))
  })

  it("remove takes a number out, in any form, and says when it is not there", async () => {
    const org = await owner()
    await askAdmin(platform, "POST", `/organizations/${org}/numbers`, { numbers: [tn(1), tn(2)] })
    expect(await ok(["numbers", "remove", "(212) 555-0001", "--org", org], environment)).toBe(`Removed ${tn(1)}.\n`)
    expect(await held(org)).toEqual([tn(2)])
    expect(refusal(await sluice(["numbers", "remove", tn(1), "--org", org], environment))).toContain(tn(1))
    expect(refusal(await sluice(["numbers", "remove", "x", "--org", org], environment))).toContain("Expected 10 digits")
    expect(
      await query(
        databaseUrl,
        "select act, detail from admin_acts where subject = $1 and act like 'numbers.%' order by id",
        [org]
      )
    ).toEqual([
      { act: "numbers.added", detail: { added: 2 } },
      { act: "numbers.removed", detail: { tn: tn(1) } }
    ])
  })

  it("list of an empty inventory says how to fill it", async () => {
    expect(await ok(["numbers", "list", "--org", await owner()], environment)).toContain("sluice numbers import")
  })
})
