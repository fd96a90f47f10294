/** `/readyz` names partitions that do not serve. */
import { expect, it } from "vitest"
import { partitionsAway } from "../../src/app/engine.ts"

it("says a cause once, whichever partitions have it, and what to do once", () => {
  const stopped = (partition: number, what: string) => ({
    partition,
    status: {
      _tag: "Stopped",
      reason: `partition ${partition}: ${what}. Nothing was changed. Restore it, or use \`sluice recover --partition ${partition}\`.`
    } as const
  })
  const starting = { partition: 6, status: { _tag: "Starting", reason: "" } } as const
  expect(partitionsAway([stopped(1, "the log is gone"), stopped(4, "the log is gone"), starting])).toBe(
    "partitions 1, 4 are stopped: the log is gone; partition 6 is starting. `sluice recover` says what can be done"
  )
  expect(partitionsAway([starting])).toBe("partition 6 is starting")
})
