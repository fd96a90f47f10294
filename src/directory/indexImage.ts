import { deserialize, serialize } from "node:v8"
import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { type DirectoryIndex, emptyIndex } from "./DirectoryIndex.ts"

/**
 * The index as bytes in the database, beside the records that it is made of: a start reads them in a tenth of the time
 * that the database takes to group a quarter of a million records. A node that has built an index of a generation
 * stores it; the image of another generation, or of a program that builds other indexes, counts as none. Needs
 * `SqlClient`.
 */

/** Raised when an index of the same shape is built by other rules (`derivation.ts`, `IndexBuilder.ts`). */
const derivation = 1

/** Records from which on an image is worth its place. */
export const minimumImageRecords = 10_000

/** Names and kinds of everything in an index, so that an index of another shape is recognized. */
const shapeOf = (value: unknown): string => {
  if (ArrayBuffer.isView(value) || Array.isArray(value) || value === null) return value?.constructor.name ?? "null"
  if (typeof value !== "object") return typeof value
  return `{${Object.entries(value)
    .map(([name, part]) => `${name}:${shapeOf(part)}`)
    .sort()
    .join(",")}}`
}

/** Names the rules and the shape of this program's indexes. Only images of the same form are read. */
export const imageForm = `${derivation} ${shapeOf(emptyIndex)}`

/** An index as bytes. */
export const imageOf = (index: DirectoryIndex): Uint8Array => serialize(index)

/** The index of an image; undefined where the bytes are none. */
export const indexOfImage = (bytes: Uint8Array): DirectoryIndex | undefined => {
  try {
    // Columns become views of these bytes, and must not keep the answer of the database alive.
    const index = deserialize(Buffer.from(bytes)) as DirectoryIndex
    return `${derivation} ${shapeOf(index)}` === imageForm ? index : undefined
  } catch {
    return undefined
  }
}

/** Creates the table of the image. */
export const createDirectoryImage = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table directory_image (
      singleton boolean primary key default true check (singleton),
      generation bigint not null,
      form text not null,
      bytes bytea not null
    )`
  // The bytes are read as a whole, and compressing them takes longer than reading them.
  yield* sql`alter table directory_image alter column bytes set storage external`
})

/** Programs that embed the directory may have made its tables without this one. */
const hasPlace = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ readonly found: boolean }>`select to_regclass('directory_image') is not null as found`
  return row?.found === true
})

/** The index of the stored records, where there is an image of their generation. */
export const loadImage: Effect.Effect<DirectoryIndex | undefined, SqlError.SqlError, SqlClient.SqlClient> = Effect.gen(
  function* () {
    const sql = yield* SqlClient.SqlClient
    if (!(yield* hasPlace)) return undefined
    const [found] = yield* sql<{ readonly bytes: Uint8Array }>`
      select bytes from directory_image join directory_generation using (generation) where form = ${imageForm}`
    return found && indexOfImage(found.bytes)
  }
)

/** Stores the image of an index, unless there is a newer one, or this one already. */
export const storeImage = Effect.fnUntraced(function* (index: DirectoryIndex, generation: number) {
  const sql = yield* SqlClient.SqlClient
  if (!(yield* hasPlace)) return
  const isKnown = sql`select 1 from directory_image
    where generation > ${generation} or (generation = ${generation} and form = ${imageForm})`
  if ((yield* isKnown).length > 0) return
  yield* sql`
    insert into directory_image (generation, form, bytes) values (${generation}, ${imageForm}, ${imageOf(index)})
    on conflict (singleton) do update
      set generation = excluded.generation, form = excluded.form, bytes = excluded.bytes
      where directory_image.generation <= excluded.generation`
})
