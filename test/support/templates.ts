/**
 * Databases that many files begin with, made once a run by whoever asks first, with the command that an operator would use; the others wait for it and
 * copy it, which takes a tenth of the time and hardly any of this machine's. No platform has started on them.
 */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import pg from "pg"
import { inject } from "vitest"
import { bundledSources } from "../../src/directory/files/bundledSources.ts"
import { seedFiles } from "../cli/files.ts"
import { type MakeDatabase, makeDatabaseFrom } from "./database.ts"
import { sluice } from "./platform.ts"

/** The files that each of them holds: two area codes and what belongs to them, or all that is bundled. */
const sources = {
  seeded: seedFiles,
  bundled: async () => bundledSources.map(({ path }) => path)
} as const

export type Template = keyof typeof sources

/** Of PostgreSQL's advisory locks those that nothing of the platform takes. */
const lockClass = 0x7e57

const fill = async (database: string, template: Template): Promise<void> => {
  const folder = await mkdtemp(join(tmpdir(), "sluice-template-"))
  try {
    const url = new URL(inject("postgresUrl"))
    url.pathname = `/${database}`
    const { code, stderr } = await sluice(["ingest", ...(await sources[template](folder))], {
      DATABASE_URL: url.href,
      SLUICE_DATA_DIR: folder
    })
    if (code !== 0) throw new Error(`the database ${template} cannot be made: ${stderr}`)
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

const make = async (template: Template): Promise<string> => {
  const name = `template_${template}`
  const admin = new pg.Client({ connectionString: inject("postgresUrl") })
  await admin.connect()
  try {
    // Held while it is made, and given back with the session.
    await admin.query("select pg_advisory_lock($1, hashtext($2))", [lockClass, name])
    const { rowCount } = await admin.query("select from pg_database where datname = $1", [name])
    if (rowCount === 0) {
      // Under its name only when it is whole.
      await admin.query(`drop database if exists "${name}_unfinished" with (force)`)
      await admin.query(`create database "${name}_unfinished" template template0`)
      await fill(`${name}_unfinished`, template)
      await admin.query(`alter database "${name}_unfinished" rename to "${name}"`)
    }
  } finally {
    await admin.end()
  }
  return name
}
