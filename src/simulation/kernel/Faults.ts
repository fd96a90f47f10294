/**
 * Plays the fault plan: counts the operations, hands out the planned faults, and notes which were reached. Needs no
 * service.
 */
import type { Marks } from "../engine/Marks.ts"
import type { Operation } from "../engine/Scenario.ts"

/** `O`: the operations of a simulation. See {@link engineCheckers}. */
export class Faults<O extends string = Operation> {
  /** For each operation, the planned fault by its number. */
  private readonly planned = new Map<O, Map<number, string>>()
  private readonly counts = new Map<O, number>()
  private readonly marks: Marks
  private readonly trace: (line: () => string) => void
  private healed = false
  /** Faults that happened, by `<operation>: <kind>`. */
  readonly happened = new Set<string>()

  constructor(
    plan: ReadonlyArray<{ readonly operation: O; readonly nth: number; readonly kind: string }>,
    marks: Marks,
    trace: (line: () => string) => void
  ) {
    for (const { kind, nth, operation } of plan) {
      const kinds = this.planned.get(operation)
      if (kinds === undefined) this.planned.set(operation, new Map([[nth, kind]]))
      else kinds.set(nth, kind)
    }
    this.marks = marks
    this.trace = trace
  }

  /** The fault of the operation that happens now, if one is planned. */
  take(operation: O): string | undefined {
    const planned = this.planned.get(operation)
    if (this.healed || planned === undefined) return undefined
    const nth = this.counts.get(operation) ?? 0
    this.counts.set(operation, nth + 1)
    const kind = planned.get(nth)
    if (kind === undefined) return undefined
    const name = `${operation}: ${kind}`
    this.happened.add(name)
    this.marks.reach(`fault, ${name}`)
    this.trace(() => `  fault: ${operation} ${nth}: ${kind}`)
    return kind
  }

  /** Stops all faults. */
  heal(): void {
    this.healed = true
  }
}
