/** The image of the index in the database: what a start reads instead of the records, and when it does not. */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { createDirectoryImage, imageOf, indexOfImage, storeImage } from "../../src/directory/indexImage.ts"
import { loadIndex } from "../../src/directory/load.ts"
import { canadianLines, directoryDatabase, ingest, temporaryFolder, usLines, writeLines } from "./support.ts"

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
