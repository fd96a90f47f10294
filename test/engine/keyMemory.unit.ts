/** The idempotency keys in memory against a naive model: what a drain drafts, what is stored, what a checkpoint takes, and what it sees meanwhile. */
import { describe, expect, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import type { Remembrance } from "../../src/engine/core/keys/KeyGuard.ts"
import type { KeyMemory } from "../../src/engine/core/keys/KeyMemory.ts"
import { makeBounds, makeMemory } from "./support/memory.ts"

const Steps = Schema.Array(
  Schema.Struct({
    act: Schema.Literals(["draft", "draft", "draft", "draft", "commit", "commit", "discard", "save", "look"]),
    organization: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1 })),
    key: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 7 })),
    length: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 40 }))
  })
).check(Schema.isMaxLength(200))

interface Known {
  readonly text: string
  readonly until: number
  readonly sequence: number
}

/** The same in plain maps, by organization and key. */
class Model {
  stored = new Map<string, Array<Known>>()
  drafts = new Map<string, Known>()

  get count(): number {
    return [...this.stored.values()].reduce((sum, list) => sum + list.length, this.drafts.size)
  }

  commit(sequence: number): void {
    for (const [name, draft] of this.drafts)
      this.stored.set(name, [...(this.stored.get(name) ?? []), { ...draft, sequence }])
    this.drafts.clear()
  }

  save(sequence: number): void {
    for (const [name, list] of this.stored) {
      const kept = list.filter((known) => known.sequence > sequence)
      if (kept.length === 0) this.stored.delete(name)
      else this.stored.set(name, kept)
    }
  }

  newest(): ReadonlyArray<readonly [string, Known]> {
    return [...this.stored].map(([name, list]) => [name, list.at(-1)!] as const).sort()
  }
}

const remembranceOf = (text: string, until: number): Remembrance => ({ text, bytes: Buffer.byteLength(text), until })

const listed = (rows: ReturnType<KeyMemory["all"]>) =>
  [...rows]
    .map(
      ({ key, organization, sequence, text, until }) =>
        [`${organization.name} ${key}`, { text, until, sequence }] as const
    )
    .sort()

describe("idempotency keys in memory", () => {
  it.prop(
    "are what was drafted and stored, until a checkpoint has them; a view of them stays as it was",
    [Arbitrary.schema(Steps)],
    ([steps]) => {
      const bounds = makeBounds()
      const memory = makeMemory(bounds)
      const { keys } = memory
      const model = new Model()
      const views: Array<readonly [ReturnType<KeyMemory["all"]>, ReturnType<Model["newest"]>]> = []
      let sequence = 0
      for (const [index, { act, key: of, length, organization: by }] of steps.entries()) {
        const organization = memory.organization(`org_${by}`)!
        const key = `key_${of}`
        const name = `org_${by} ${key}`
        if (act === "draft" && !model.drafts.has(name)) {
          const remembrance = remembranceOf("ü".repeat(length) + index, index)
          keys.draft(organization, key, remembrance)
          model.drafts.set(name, { text: remembrance.text, until: index, sequence: 0 })
        } else if (act === "commit") {
          keys.commit(++sequence)
          model.commit(sequence)
        } else if (act === "discard") {
          keys.discard()
          model.drafts.clear()
        } else if (act === "save") {
          // The newest frame may be younger than the checkpoint that is written.
          const through = sequence - (of % 3)
          memory.saved(through)
          model.save(through)
        } else if (act === "look") views.push([keys.all(), model.newest()])

        const known = model.stored.get(name)?.at(-1)
        expect(keys.find(organization, key)).toBe((model.drafts.get(name) ?? known)?.text)
        expect(keys.durable(organization, key)?.text).toBe(known?.text)
        expect([memory.cellCount, bounds.actors]).toEqual([model.count, model.count])
        expect(memory.changedCount).toBe(model.count - model.drafts.size)
        expect(keys.all().count).toBe(model.stored.size)
      }
      for (const [view, was] of views) expect(listed(view)).toEqual(was)
      expect(listed(keys.all())).toEqual(model.newest())
    }
  )

  it("are found among thousands, in whichever organization, and again when a checkpoint has taken the first half", () => {
    const memory = makeMemory()
    const organizations = Array.from({ length: 50 }, (_, index) => memory.organization(`org_${index}`)!)
    const textOf = (number: number) => `["${"x".repeat(number % 200)}",${number}]`
    const all = Array.from({ length: 5_000 }, (_, number) => number)
    for (const number of all) {
      memory.keys.draft(organizations[number % 50]!, `key_${number}`, remembranceOf(textOf(number), number))
      memory.keys.commit(number + 1)
    }
    const found = () => all.filter((number) => memory.keys.find(organizations[number % 50]!, `key_${number}`))
    expect(found()).toEqual(all)
    expect(memory.keys.find(organizations[1]!, "key_0")).toBeUndefined()
    memory.saved(2_500)
    expect(found()).toEqual(all.slice(2_500))
    expect(memory.keys.find(organizations[49]!, "key_4999")).toBe(textOf(4_999))
    expect(memory.cellCount).toBe(2_500)
    memory.saved(5_000)
    memory.releaseEmptied()
    expect([memory.cellCount, memory.organizations.size]).toEqual([0, 0])
  })
})
