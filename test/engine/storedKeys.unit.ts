/** A partition's knowledge of the idempotency keys in the checkpoints: a key that it does not know is surely not there, and its memory is bounded. */
import { describe, expect, it } from "@effect/vitest"
import { KeyFilter } from "../../src/engine/core/keys/KeyFilter.ts"
import { KeyHash } from "../../src/engine/core/keys/KeyHash.ts"
import { StoredKeys } from "../../src/engine/core/keys/StoredKeys.ts"
import { keysPerGeneration, maximumGenerations, maximumKeyPage, pageHoldMillis } from "../../src/engine/limits.ts"
import { Once } from "../../src/engine/once.ts"
import type { ExpiryRow } from "../../src/engine/ports/Checkpoints.ts"
import { makeMemory } from "./support/memory.ts"

const hash = new KeyHash()
const hashOf = (number: number) => hash.of(7, `key_${number}`)
const numbers = (from: number, count: number) => Array.from({ length: count }, (_, index) => from + index)
const known = (filter: KeyFilter, from: number, count: number) =>
  numbers(from, count).filter((number) => filter.mayHave(hashOf(number))).length

describe("the filter of stored keys", () => {
  it("knows every key that it was given, and hardly another one", () => {
    const filter = new KeyFilter()
    for (const number of numbers(0, keysPerGeneration)) filter.add(hashOf(number), 1)
    expect(known(filter, 0, keysPerGeneration)).toBe(keysPerGeneration)
    expect(known(filter, keysPerGeneration, 100_000)).toBeLessThan(1_000)
  })

  it("tells the same key of two organizations apart", () => {
    const filter = new KeyFilter()
    for (const number of numbers(0, 1_000)) filter.add(hash.of(7, `key_${number}`), 1)
    expect(numbers(0, 1_000).filter((number) => filter.mayHave(hash.of(8, `key_${number}`))).length).toBeLessThan(10)
  })

  it("forgets keys when the last one of their generation is over, not before", () => {
    const filter = new KeyFilter()
    for (const number of numbers(0, keysPerGeneration)) filter.add(hashOf(number), number === 0 ? 200 : 100)
    for (const number of numbers(keysPerGeneration, 10)) filter.add(hashOf(number), 300)
    filter.forget(199)
    expect(known(filter, 0, 1_000)).toBe(1_000)
    filter.forget(200)
    expect(known(filter, 0, 1_000)).toBeLessThan(10)
    expect(known(filter, keysPerGeneration, 10)).toBe(10)
    filter.forget(300)
    expect(known(filter, keysPerGeneration, 10)).toBe(0)
  })

  it("takes on more than it has room for, without forgetting any", () => {
    const filter = new KeyFilter()
    const many = keysPerGeneration * maximumGenerations
    for (let number = 0; number < many; number++) filter.add(hash.set(Math.imul(number, 0x9e3779b1), number << 9), 1)
    expect(filter.isFull).toBe(true)
    for (const number of numbers(many, 1_000)) filter.add(hashOf(number), 1)
    expect(known(filter, many, 1_000)).toBe(1_000)
  })
})

const { kind } = Once
const rowOf = (key: string, expiresAt: number): ExpiryRow => ({ organization: "org", kind, key, expiresAt })

/** A life that begins at 1,000 upon a checkpoint. */
const begun = (hasBase = true) => {
  const organization = makeMemory().organization("org")!
  const stored = new StoredKeys(kind, hasBase ? 1_000 : undefined)
  return { stored, lacks: (key: string) => stored.lacks(organization, key), organization }
}

describe("what a life knows of stored keys", () => {
  it("given no checkpoint, then that there are none", () => {
    const { lacks, stored } = begun(false)
    expect([lacks("a"), stored.isWanted(0)]).toEqual([true, false])
  })

  it("given a checkpoint, then nothing for sure before all pages have come", () => {
    const { lacks, stored } = begun()
    expect([lacks("a"), stored.isWanted(0)]).toEqual([false, true])
    const first = stored.ask()
    expect(first).toMatchObject({ after: { expiresAt: 1_000 }, limit: maximumKeyPage })
    expect(stored.isWanted(0)).toBe(false)
    const rows = numbers(0, maximumKeyPage).map((number) => rowOf(`k${number}`, 1_000 + number))
    stored.took(first, rows, 0)
    expect([lacks("a"), lacks("k1"), stored.isWanted(0)]).toEqual([false, false, true])
    const second = stored.ask()
    expect(second.after).toEqual(rows.at(-1))
    stored.took(second, [rowOf("last", 9_000)], 0)
    expect([lacks("a"), lacks("k1"), lacks("last"), stored.isWanted(0)]).toEqual([true, false, false, false])
  })

  it("given a page that cannot be read, then it is asked for again later", () => {
    const { lacks, stored } = begun()
    stored.took(stored.ask(), undefined, 50)
    expect([lacks("a"), stored.isWanted(50), stored.isWanted(50 + pageHoldMillis)]).toEqual([false, false, true])
    stored.took(stored.ask(), [rowOf("b", 2_000)], 50 + pageHoldMillis)
    expect([lacks("a"), lacks("b")]).toEqual([true, false])
  })

  it("given a page of a life before, then it does not count", () => {
    const page = begun().stored.ask()
    const { lacks, stored } = begun()
    stored.took(page, [], 0)
    expect([lacks("a"), stored.isWanted(0)]).toEqual([false, true])
  })

  it("given rows of other kinds, then they are passed over", () => {
    const { lacks, stored } = begun()
    stored.took(stored.ask(), [{ ...rowOf("a", 2_000), kind: "other" }], 0)
    expect(lacks("a")).toBe(true)
  })

  it("given keys that its own checkpoints store, then it knows them until they are over", () => {
    const { lacks, organization, stored } = begun(false)
    stored.add(hash.of(organization.hash, "a"), 5_000)
    stored.forget(4_999)
    expect(lacks("a")).toBe(false)
    stored.forget(5_000)
    expect(lacks("a")).toBe(true)
  })

  it("given more keys than it takes, then it reads no further, and every key is looked for", () => {
    const { lacks, stored } = begun()
    let pages = 0
    while (stored.isWanted(0)) {
      const from = pages++ * maximumKeyPage
      stored.took(
        stored.ask(),
        numbers(from, maximumKeyPage).map((number) => rowOf(`k${number}`, 2_000)),
        0
      )
    }
    expect(pages * maximumKeyPage).toBe(keysPerGeneration * maximumGenerations)
    expect(lacks("a")).toBe(false)
  })
})
