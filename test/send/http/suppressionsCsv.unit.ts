/** Suppression lists as CSV (docs/platform.md, 9.15): every row once, in pages as they are taken, and few at once. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Scope, Stream } from "effect"
import type { SuppressionList } from "../../../src/send/account/suppressions/SuppressionList.ts"
import type { Suppression } from "../../../src/send/account/suppressions/suppression.ts"
import { makeSuppressionsCsv } from "../../../src/send/http/suppressionsCsv.ts"

const account = (organizationId: string) => ({ organizationId, mode: "live" as const })

/** A list of so many addresses, and the pages that were read of it. */
const listOf = (count: number) => {
  const rows = Array.from({ length: count }, (_, index): Suppression => {
    const id = `sup_${String(index).padStart(6, "0")}`
    return { id, email: `a${index}@example.com`, origin: "bounce", createdAt: Math.floor(index / 700) }
  })
  let pages = 0
  const page: SuppressionList["Service"]["page"] = (_, __, beyond, limit) =>
    Effect.sync(() => {
      pages++
      const isBeyond = ({ createdAt, id }: Suppression) =>
        beyond === undefined || createdAt > beyond.at || (createdAt === beyond.at && id > beyond.id)
      return rows.filter(isBeyond).slice(0, limit)
    })
  const unused = () => Effect.die("only pages are read")
  return { list: { page, add: unused, remove: unused, get: unused }, read: () => pages }
}

describe("[platform 9.15] an export", () => {
  it.effect.each([0, 1, 999, 1_000, 1_001, 2_000, 3_500])("of %d addresses has each of them once, in order", (count) =>
    Effect.gen(function* () {
      const csv = makeSuppressionsCsv(listOf(count).list)
      const text = yield* Stream.mkString(Stream.decodeText(yield* csv(account("a"), undefined)))
      const lines = text.split("\r\n")
      assert.deepStrictEqual([lines[0], lines.at(-1)], ["email,origin,created_at", ""])
      const expected = Array.from({ length: count }, (_, at) => `a${at}@example.com`)
      assert.deepStrictEqual(
        lines.slice(1, -1).map((line) => line.split(",")[0]),
        expected
      )
    }).pipe(Effect.scoped)
  )

  it.effect("reads no further than its caller", () =>
    Effect.gen(function* () {
      const { list, read } = listOf(10_000)
      const bytes = yield* makeSuppressionsCsv(list)(account("a"), undefined)
      yield* Stream.runDrain(Stream.take(bytes, 1))
      assert.isAtMost(read(), 2)
    }).pipe(Effect.scoped)
  )

  it.effect("is one of two of its organization, and of eight in all, until it ends", () =>
    Effect.gen(function* () {
      const csv = makeSuppressionsCsv(listOf(1).list)
      const scope = yield* Scope.make()
      const begin = (organization: string) =>
        Effect.result(csv(account(organization), undefined).pipe(Scope.provide(scope)))
      const begun = yield* Effect.forEach(["a", "a", "b", "b", "c", "c", "d", "d"], begin)
      assert.isTrue(begun.every(({ _tag }) => _tag === "Success"))
      assert.deepInclude(yield* Effect.flip(Effect.fromResult(yield* begin("a"))), { of: "organization" })
      assert.deepInclude(yield* Effect.flip(Effect.fromResult(yield* begin("e"))), { of: "all" })
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual((yield* Effect.result(Effect.scoped(csv(account("a"), undefined))))._tag, "Success")
    })
  )
})
