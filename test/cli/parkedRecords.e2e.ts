/** Records that the platform's projections cannot process: parked, seen by operators, tried again and dismissed, and every act recorded. */
import { randomUUID } from "node:crypto"
import { afterAll, beforeAll, expect, inject, it } from "vitest"
import { sluice } from "../support/commands.ts"
import { type Platform, startPlatform } from "../support/platform.ts"
import { askAdmin, makeOrganization, ok, okJson, query, refusal, until, useDatabases } from "./support.ts"

const database = useDatabases()
let databaseUrl = ""
let platform: Platform
let at: Readonly<Record<string, string>>

beforeAll(async () => {
  databaseUrl = await database("seeded")
  platform = await startPlatform({
    DATABASE_URL: databaseUrl,
    NATS_URL: inject("natsUrl"),
    SLUICE_ADMIN_KEY: `adm_${"Ab1".repeat(10)}`,
    SLUICE_DEMO: "off"
  })
  at = { SLUICE_DATA_DIR: platform.dataDir }
})

afterAll(() => platform?.stop())

const makeAcme = () => makeOrganization(platform, { name: `Acme ${randomUUID()}` })

const setPlan = (id: string, plan: string) => askAdmin(platform, "PUT", `/organizations/${id}/plans`, { plan })

const planOf = async (id: string) =>
  (await query<{ readonly plan: string }>(databaseUrl, "select plan from organizations where id = $1", [id]))[0]?.plan

/** A plan that the database does not take; the log does. */
const refuseTeam = () =>
  query(databaseUrl, "alter table organizations add constraint no_team check (plan <> 'team') not valid")
const takeTeam = () => query(databaseUrl, "alter table organizations drop constraint no_team")

const parkedOf = async (id: string) => (await okJson(["parked", "show", id], at)).records

const parkedNow = async (id: string) =>
  (await query(databaseUrl, "select 1 from engine_parked where organization = $1", [id])).length

const actsOf = (id: string) =>
  query<{ readonly act: string; readonly detail: object }>(
    databaseUrl,
    "select act, detail from admin_acts where subject = $1 and act like 'parked.%' order by id",
    [id]
  )

it("what a projection cannot process is listed, retried and dismissed, and others go on", async () => {
  const [first, second, other] = [await makeAcme(), await makeAcme(), await makeAcme()]
  expect(await ok(["parked", "list"], at)).toBe("Nothing is parked at projections.\n")
  await refuseTeam()
  for (const id of [first, second]) {
    await setPlan(id, "team")
    await until(async () => (await parkedNow(id)) === 1)
    await setPlan(id, "early_adopter")
    await until(async () => (await parkedNow(id)) === 2)
  }
  await setPlan(other, "early_adopter")
  await until(async () => (await planOf(other)) === "early_adopter")
  expect(await planOf(first)).toBe("free")

  const list = await okJson(["parked", "list"], at)
  expect(list).toMatchObject({ reactor: "projections", records: 4 })
  expect(
    new Map(list.organizations.map((one: { organization: string; records: number }) => [one.organization, one.records]))
  ).toEqual(
    new Map([
      [first, 2],
      [second, 2]
    ])
  )
  const [broken, behind] = await parkedOf(first)
  expect(broken.error).toContain("no_team")
  expect(behind.error).toContain("behind a parked record")
  const place = `${broken.sequence}/${broken.index}`
  expect(await ok(["parked", "show", first], at)).toContain(place)

  // Still broken.
  expect(await okJson(["parked", "retry", first], at)).toMatchObject({
    retried: 0,
    left: 2,
    error: expect.stringContaining("no_team")
  })
  expect(await actsOf(first)).toEqual([])

  const wrong = await sluice(["parked", "dismiss", first, `${behind.sequence}/${behind.index}`], at)
  expect(refusal(wrong)).toContain("is not the first of")
  expect(await okJson(["parked", "dismiss", first, place], at)).toEqual({ reactor: "projections", left: 1 })
  expect(await planOf(first)).toBe("free")
  expect(refusal(await sluice(["parked", "dismiss", first, place], at))).toContain("is not the first of")
  expect(await ok(["parked", "retry", first], at)).toBe("Retried 1; 0 left.\n")
  expect(await planOf(first)).toBe("early_adopter")
  expect(await actsOf(first)).toMatchObject([
    { act: "parked.dismissed", detail: { reactor: "projections", record: place } },
    { act: "parked.retried", detail: { reactor: "projections", records: 1 } }
  ])

  await takeTeam()
  expect(await okJson(["parked", "retry", second], at)).toEqual({ reactor: "projections", retried: 2, left: 0 })
  expect(await planOf(second)).toBe("early_adopter")
  expect(await ok(["parked", "list"], at)).toBe("Nothing is parked at projections.\n")
  // The reactor knows that they are free again.
  await setPlan(first, "team")
  await until(async () => (await planOf(first)) === "team")
})

it("mistakes are told in a sentence", async () => {
  const id = await makeAcme()
  expect(refusal(await sluice(["parked", "dismiss", id, "first"], at))).toContain('not "first"')
  expect(refusal(await sluice(["parked", "list", "--reactor", "mailer"], at))).toContain(
    "no reactor is named mailer; known: projections"
  )
  expect(await ok(["parked", "show", id], at)).toBe(`Nothing of ${id} is parked at projections.\n`)
})
