/** The rules of backups: what is copied, whether two halves fit, and what stays; by examples and against naive models. */
import { describe, expect, it } from "vitest"
import type { BackupSegment, BackupStream, BackupWitness } from "../../../src/app/backup/backupManifest.ts"
import {
  type CopyPlan,
  filledInOrder,
  followCopy,
  type KeptBackup,
  lacksOf,
  neededFrom,
  pairLacks,
  planCopy,
  retired
} from "../../../src/app/backup/backupRules.ts"
import { Prng } from "../../../src/simulation/kernel/Prng.ts"
import { often } from "../../support/often.ts"

const segment = (first: number, last: number): BackupSegment => ({
  file: `backup/streams/log-0.${first}`,
  bytes: 1,
  sha256: "",
  first,
  last,
  messages: last - first + 1
})

const earlier = (...segments: ReadonlyArray<BackupSegment>): BackupStream => ({
  name: "log-0",
  created: "made once",
  config: {},
  first: segments[0]!.first,
  last: segments.at(-1)!.last,
  isWhole: true,
  segments
})

const found = (first: number, last: number, changes: object = {}) => ({
  created: "made once",
  messages: last - first + 1,
  first,
  last,
  ...changes
})

const checkpoint = (sequence: number): BackupWitness => ({
  partition: 0,
  who: "the newest checkpoint",
  sequence,
  hash: "",
  needsTail: true
})
const cursor = (sequence: number): BackupWitness => ({
  partition: 0,
  who: "the cursor of projections",
  sequence,
  hash: "",
  needsTail: true
})
const older = (sequence: number): BackupWitness => ({
  partition: 0,
  who: "an older checkpoint",
  sequence,
  hash: "",
  needsTail: false
})

describe("the copy of a stream", () => {
  it("is all of it where there is no earlier one", () => {
    expect(planCopy(found(5, 9), undefined, undefined)).toEqual({ kept: [], from: 5, isWhole: true })
  })

  it("goes on where an earlier one ended, and keeps what that had", () => {
    const before = earlier(segment(1, 6), segment(7, 9))
    expect(planCopy(found(8, 12), before, undefined)).toEqual({ kept: [segment(7, 9)], from: 10, isWhole: true })
  })

  it("keeps frames that the log has dropped and the database still needs", () => {
    const before = earlier(segment(1, 6), segment(7, 9))
    expect(planCopy(found(8, 12), before, 4).kept).toEqual([segment(1, 6), segment(7, 9)])
  })

  it("copies nothing twice where nothing has come", () => {
    expect(planCopy(found(1, 6), earlier(segment(1, 6)), 1)).toEqual({ kept: [segment(1, 6)], from: 7, isWhole: true })
  })

  it.each([
    ["that was made again", found(1, 9, { created: "made again" })],
    ["that ends before the earlier copy", found(1, 5)],
    ["of which frames between were dropped", found(9, 12)],
    ["from which single messages were removed", found(1, 9, { messages: 7 })]
  ])("is all of a stream %s", (_, stream) => {
    expect(planCopy(stream, earlier(segment(1, 7)), undefined)).toMatchObject({ kept: [], from: stream.first })
  })

  it("is nothing of a stream that is empty", () => {
    expect(planCopy({ created: "", messages: 0, first: 0, last: 0 }, undefined, undefined).from).toBe(1)
    expect(planCopy(found(10, 9), undefined, undefined).from).toBe(10)
  })

  it("gives each backup exactly what the stream held, over any history", () => {
    for (let seed = 0; seed < often(2_000); seed++) {
      const random = new Prng(seed, "history")
      const draw = (below: number) => Math.floor(random.next() * below)
      // The naive model: every message of the stream, and of each file.
      let held: Array<number> = []
      let last = 0
      let made = 0
      let before: BackupStream | undefined
      for (let step = 0; step < 12; step++) {
        for (let count = draw(5); count > 0; count--) held.push(++last)
        if (draw(2) === 0) held = held.filter((sequence) => sequence > last - draw(8))
        if (draw(6) === 0) held = held.filter(() => draw(4) > 0)
        if (draw(12) === 0) {
          made++
          last = draw(3)
          held = Array.from({ length: last }, (_, index) => index + 1)
        }
        const stream = { created: `${made}`, messages: held.length, first: held[0] ?? last + 1, last }
        const plan = planCopy(stream, before, undefined)
        const copied = held.filter((sequence) => sequence >= plan.from)
        const kept = plan.kept.flatMap(({ first, last: end }) =>
          Array.from({ length: end - first + 1 }, (_, index) => first + index)
        )
        // A restore passes over what lies before the stream's beginning.
        expect([...kept, ...copied].filter((sequence) => sequence >= stream.first)).toEqual(held)
        expect(new Set([...kept, ...copied]).size).toBe(kept.length + copied.length)
        expect(plan.kept.every((one) => one.last >= stream.first)).toBe(true)
        const all =
          copied.length === 0
            ? plan.kept
            : [...plan.kept, { ...segment(copied[0]!, copied.at(-1)!), messages: copied.length }]
        before = {
          ...earlier(segment(1, 1)),
          created: `${made}`,
          isWhole: plan.isWhole,
          first: all[0]?.first ?? last + 1,
          last,
          segments: all
        }
      }
    }
  })
})

describe("messages that are removed while a stream is copied", () => {
  const firstMissing = (plan: CopyPlan, sequences: ReadonlyArray<number>) => {
    const follow = followCopy(plan)
    return sequences.map((sequence) => follow(sequence)).find((missing) => missing !== undefined)
  }

  it("are no harm at the beginning", () => {
    expect(firstMissing({ kept: [], from: 5, isWhole: true }, [8, 9, 10])).toBeUndefined()
  })

  it("are a hole behind segments that are kept, and between others", () => {
    expect(firstMissing({ kept: [segment(1, 4)], from: 5, isWhole: true }, [5, 6, 7])).toBeUndefined()
    expect(firstMissing({ kept: [segment(1, 4)], from: 5, isWhole: true }, [8, 9])).toBe(5)
    expect(firstMissing({ kept: [], from: 5, isWhole: true }, [5, 6, 9])).toBe(7)
  })

  it("may be more of those that were removed before", () => {
    expect(firstMissing({ kept: [], from: 5, isWhole: false }, [5, 9, 12])).toBeUndefined()
  })
})

describe("a log beside a database", () => {
  it("fits where it reaches from what is needed to what was seen", () => {
    expect(lacksOf(0, [checkpoint(7), older(3), cursor(9)], { first: 8, last: 9 })).toEqual([])
    expect(lacksOf(0, [], { first: 1, last: 0 })).toEqual([])
    expect(lacksOf(0, [], undefined)).toEqual([])
    expect(neededFrom([checkpoint(7), older(3), cursor(9)])).toBe(8)
  })

  it("lacks its end where the database has seen more", () => {
    expect(lacksOf(3, [checkpoint(7), cursor(9)], { first: 1, last: 8 })).toEqual([
      "partition 3: the cursor of projections has seen frame 9, and the log ends at 8: frames 9 to 9 are missing"
    ])
  })

  it("lacks its beginning where the database stands before it", () => {
    expect(lacksOf(0, [checkpoint(7), cursor(5)], { first: 8, last: 9 })).toEqual([
      "partition 0: the cursor of projections stands at frame 5, and the log begins at 8: frames 6 to 7 are missing"
    ])
    expect(lacksOf(0, [], { first: 4, last: 9 })).toEqual([
      "partition 0: the database knows no checkpoint, and the log begins at 4: frames 1 to 3 are missing"
    ])
  })

  it("lacks all of it where it is not there", () => {
    expect(lacksOf(0, [checkpoint(7)], undefined)).toEqual([
      "partition 0: its log is missing, and the database has seen frames 1 to 7"
    ])
  })

  it("is the stream of its partition, under the namespace", () => {
    const stream = { ...earlier(segment(1, 9)), name: "mine-log-0" }
    const pair = { partitions: 1, witnesses: [checkpoint(9)], streams: [stream] }
    expect(pairLacks({ ...pair, namespace: "mine" })).toEqual([])
    expect(pairLacks({ ...pair, namespace: null })).toHaveLength(1)
  })
})

describe("backups that stay", () => {
  it("are the newest ones, with the files of earlier ones that they need", () => {
    const backups = [
      { id: "1", files: ["1/a", "1/b"] },
      { id: "2", files: ["1/b", "2/a"] },
      { id: "3", files: ["1/b", "3/a"] }
    ]
    expect(retired(backups, 2)).toEqual({ ids: ["1"], needed: new Set(["1/b", "2/a", "3/a"]) })
    expect(retired(backups, 1)).toEqual({ ids: ["2", "1"], needed: new Set(["1/b", "3/a"]) })
    expect(retired(backups, 0)).toEqual(retired(backups, 1))
    expect(retired(backups, 3).ids).toEqual([])
  })

  it("have every file that they need, and no other one stays", () => {
    for (let seed = 0; seed < often(500); seed++) {
      const random = new Prng(seed, "kept")
      const draw = (below: number) => Math.floor(random.next() * below)
      const backups: Array<KeptBackup> = Array.from({ length: draw(8) }, (_, id) => ({
        id: `${id}`,
        files: Array.from({ length: draw(6) }, () => `${draw(id + 1)}/${draw(3)}`)
      }))
      const keep = 1 + draw(4)
      const kept = backups.slice(-keep)
      const { ids, needed } = retired(backups, keep)
      expect(needed).toEqual(new Set(kept.flatMap((backup) => backup.files)))
      expect([...ids, ...kept.map(({ id }) => id)].toSorted()).toEqual(backups.map(({ id }) => id))
    }
  })
})

describe("tables", () => {
  it("are filled after those that they refer to", () => {
    const references = [
      ["keys", "organizations"],
      ["uses", "keys"],
      ["keys", "elsewhere"]
    ] as const
    expect(filledInOrder(["uses", "keys", "organizations"], references)).toEqual(["organizations", "keys", "uses"])
  })

  it("in a circle come last", () => {
    const circle = [
      ["a", "b"],
      ["b", "a"]
    ] as const
    expect(filledInOrder(["a", "b", "c"], circle)).toEqual(["c", "a", "b"])
  })
})
