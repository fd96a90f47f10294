import { describe, expect, it } from "vitest"
import { Heap, type HeapEntry } from "../../src/common/Heap.ts"
import { Prng } from "../../src/simulation/kernel/Prng.ts"

class Item implements HeapEntry {
  index = 0
  at: number
  constructor(at: number) {
    this.at = at
  }
}

const byTime = (left: Item, right: Item): number => left.at - right.at

describe("a heap", () => {
  it("gives its entries in order, whatever was moved and taken out meanwhile", () => {
    const prng = new Prng(20, "heap")
    const heap = new Heap<Item>(byTime)
    const model = new Set<Item>()
    const any = (): Item => [...model][prng.int(0, model.size - 1)]!
    for (let step = 0; step < 3_000; step++) {
      const deed = model.size === 0 ? 0 : prng.int(0, 4)
      if (deed <= 1) {
        const item = new Item(prng.int(0, 50))
        heap.push(item)
        model.add(item)
      } else if (deed === 2) {
        const item = any()
        heap.remove(item)
        model.delete(item)
        expect(heap.has(item)).toBe(false)
      } else if (deed === 3) {
        const item = any()
        item.at = prng.int(0, 50)
        heap.moved(item)
      } else {
        const { first } = heap
        heap.remove(first!)
        model.delete(first!)
      }
      expect(heap.size).toBe(model.size)
      expect(heap.first?.at).toBe(model.size === 0 ? undefined : Math.min(...[...model].map(({ at }) => at)))
      if (step % 100 === 0) for (const item of model) expect(heap.has(item)).toBe(true)
    }
  })
})
