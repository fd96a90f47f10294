/**
 * Databases and a data folder that many files begin with, made once a run by whoever asks first, with the command that an operator would use; the others wait for it
 * and copy it, which takes a tenth of the time and hardly any of this machine's. No platform has started on them.
 */
import { execFile } from "node:child_process"
import { existsSync } from "node:fs"
import { mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { Effect } from "effect"
import pg from "pg"
import { inject } from "vitest"
import { bundledSources } from "../../src/directory/files/bundledSources.ts"
import { seedFiles } from "../cli/files.ts"
import { type MakeDatabase, makeDatabaseFrom, urlOf } from "./database.ts"
import { sluice } from "./platform.ts"

/** The files that each of them holds: two area codes and what belongs to them, or all that is bundled. */
const sources = {
  seeded: seedFiles,
  bundled: async () => bundledSources.map(({ path }) => path)
} as const

export type Template = keyof typeof sources

/** Of PostgreSQL's advisory locks those that nothing of the platform takes. */
const lockClass = 0x7e57

/** Ingests into the database at the URL, or into that of a data folder; `use` gets the folder. */
const ingest = async (template: Template, url?: string, use = async (_data: string): Promise<void> => {}) => {
  const folder = await mkdtemp(join(tmpdir(), "sluice-template-"))
  const data = join(folder, "data")
  try {
    const { code, stderr } = await sluice(["ingest", ...(await sources[template](folder))], {
      ...(url === undefined ? {} : { DATABASE_URL: url }),
      SLUICE_DATA_DIR: data
    })
    if (code !== 0) throw new Error(`the template ${template} cannot be made: ${stderr}`)
    await use(data)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const made = new Map<Template, Promise<string>>()

/** The name of the database to copy. */
export const templateDatabase = (template: Template): Promise<string> => {
  let name = made.get(template)
  if (name === undefined) {
    name = make(template)
    made.set(template, name)
  }
  return name
}

/** Makes a copy of it and drops that with the scope. */
export const makeCopy = (template: Template): MakeDatabase =>
  Effect.flatMap(
    Effect.promise(() => templateDatabase(template)),
    makeDatabaseFrom
  )

/** Works while nobody else of the run makes the same. */
const inTurn = async (name: string, work: (admin: pg.Client) => Promise<void>): Promise<void> => {
  const admin = new pg.Client({ connectionString: inject("postgresUrl") })
  await admin.connect()
  try {
    // Held while it is made, and given back with the session.
    await admin.query("select pg_advisory_lock($1, hashtext($2))", [lockClass, name])
    await work(admin)
  } finally {
    await admin.end()
  }
}

const make = async (template: Template): Promise<string> => {
  const name = `template_${template}`
  await inTurn(name, async (admin) => {
    const { rowCount } = await admin.query("select from pg_database where datname = $1", [name])
    if (rowCount !== 0) return
    // Under its name only when it is whole.
    await admin.query(`drop database if exists "${name}_unfinished" with (force)`)
    await admin.query(`create database "${name}_unfinished" template template0`)
    await ingest(template, urlOf(`${name}_unfinished`))
    await admin.query(`alter database "${name}_unfinished" rename to "${name}"`)
  })
  return name
}

/** A data folder with the seeded database in its own PostgreSQL, copied to a place of the test, to start platforms with servers of their own on. */
export const copyDataFolder = async (to: string): Promise<string> => {
  const folder = join(inject("runFolder"), "seeded")
  await inTurn("folder_seeded", async () => {
    if (existsSync(folder)) return
    await ingest("seeded", undefined, async (data) => {
      // Each copy looks for free ports of its own.
      for (const name of await readdir(data)) if (name.endsWith(".port")) await rm(join(data, name))
      await rename(data, folder)
    })
  })
  await mkdir(to, { recursive: true, mode: 0o700 })
  await promisify(execFile)("cp", ["-Rp", `${folder}/.`, to])
  return to
}
