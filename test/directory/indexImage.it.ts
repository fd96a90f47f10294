/** The image of the index in the database: what a start reads instead of the records, and when it does not. */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { findCode } from "../../src/directory/codes.ts"
import type { DirectoryIndex } from "../../src/directory/DirectoryIndex.ts"
import { createDirectoryImage, imageForm, imageOf, indexOfImage, storeImage } from "../../src/directory/indexImage.ts"
import { loadIndex } from "../../src/directory/load.ts"
import { addDirectoryDetails } from "../../src/directory/migrations.ts"
import {
  canadianLines,
  differenceOf,
  directoryDatabase,
  firstDirectoryDatabase,
  ingest,
  temporaryFolder,
  usLines,
  writeLines
} from "./support.ts"

const imagePlace = Layer.effectDiscard(createDirectoryImage)

const database = imagePlace.pipe(Layer.provideMerge(directoryDatabase))

layer(database, { excludeTestServices: true })("the image of the index", (it) => {
  it.effect("is what the records give, and is read in their place", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      yield* ingest([writeLines(folder, usLines("212")), writeLines(folder, canadianLines("416"))])
      const built = yield* loadIndex
      assert.isTrue(built.isBuilt)
      yield* storeImage(built.index, built.state.generation)
      const read = yield* loadIndex
      assert.isFalse(read.isBuilt)
      assert.deepStrictEqual(read.index, built.index)
      assert.deepStrictEqual(read.state, built.state)
    })
  )

  it.effect("of an earlier generation is not read, and does not replace a later one", () =>
    Effect.gen(function* () {
      const before = yield* loadIndex
      const folder = yield* temporaryFolder
      yield* ingest([writeLines(folder, usLines("213"))])
      const after = yield* loadIndex
      assert.isTrue(after.isBuilt)
      assert.isAbove(after.index.counts.total, before.index.counts.total)
      yield* storeImage(after.index, after.state.generation)
      yield* storeImage(before.index, before.state.generation)
      const read = yield* loadIndex
      assert.isFalse(read.isBuilt)
      assert.deepStrictEqual(read.index, after.index)
    })
  )

  it.effect("of a program that builds other indexes is not read, and is replaced", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`update directory_image set form = 'another'`
      const built = yield* loadIndex
      assert.isTrue(built.isBuilt)
      yield* storeImage(built.index, built.state.generation)
      assert.isFalse((yield* loadIndex).isBuilt)
    })
  )

  it.effect("that is damaged is not read", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { index } = yield* loadIndex
      yield* sql`update directory_image set bytes = ${Buffer.from("no image")}`
      const read = yield* loadIndex
      assert.isTrue(read.isBuilt)
      assert.deepStrictEqual(read.index, index)
      assert.isUndefined(indexOfImage(imageOf({ ...index, carriers: undefined! })))
    })
  )
})

layer(directoryDatabase, { excludeTestServices: true })("without a place for the image", (it) => {
  it.effect("the records are read, and nothing is stored", () =>
    Effect.gen(function* () {
      const { index, isBuilt, state } = yield* loadIndex
      assert.isTrue(isBuilt)
      yield* storeImage(index, state.generation)
      assert.isTrue((yield* loadIndex).isBuilt)
    })
  )
})

/** How many codes of an index are pooled, are not, and do not say. */
const pooledOf = (index: DirectoryIndex, npa: string) => {
  const counts = { yes: 0, no: 0, unknown: 0 }
  for (let nxx = 200; nxx < 1000; nxx++) {
    const code = findCode(index, npa, `${nxx}`)
    if (code !== undefined) counts[code.pooled === null ? "unknown" : code.pooled ? "yes" : "no"]++
  }
  return counts
}

const firstVersion = Layer.provideMerge(imagePlace, firstDirectoryDatabase)

layer(firstVersion, { excludeTestServices: true })("[directory 1.2] records and image of an earlier version", (it) => {
  it.effect("are read as they are, and a repeat of their file adds what is new in it", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const folder = yield* temporaryFolder
      const file = writeLines(folder, usLines("212"))
      yield* ingest([file])
      const { index, state } = yield* loadIndex
      assert.deepStrictEqual(pooledOf(index, "212"), { yes: 0, no: 0, unknown: 800 })

      // The image as the earlier version stored it.
      const { pooled: _, ...codes } = index.codes
      const form = imageForm.replace("pooled:Uint8Array,", "")
      assert.notStrictEqual(form, imageForm)
      yield* sql`insert into directory_image (generation, form, bytes)
        values (${state.generation}, ${form}, ${imageOf({ ...index, codes } as DirectoryIndex)})`
      yield* addDirectoryDetails
      const upgraded = yield* loadIndex
      assert.isTrue(upgraded.isBuilt)
      assert.deepStrictEqual(upgraded.index, index)
      yield* storeImage(upgraded.index, upgraded.state.generation)
      assert.isFalse((yield* loadIndex).isBuilt)

      assert.deepStrictEqual(differenceOf(yield* ingest([file])), { added: 0, changed: 784, removed: 0 })
      const repeated = yield* loadIndex
      assert.isTrue(repeated.isBuilt)
      assert.deepStrictEqual(pooledOf(repeated.index, "212"), { yes: 141, no: 643, unknown: 16 })
      assert.deepStrictEqual(differenceOf(yield* ingest([file])), { added: 0, changed: 0, removed: 0 })
    })
  )
})
