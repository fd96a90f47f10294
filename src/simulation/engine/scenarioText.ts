/** Defines the common parts of scenarios of every kind, and shrinks and describes those that fail. Needs no service. */
import { Schema } from "effect"
import { leaveOut } from "./shrink.ts"

/** `sluice simulate` takes every one. */
export const Seed = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }))

export const Count = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000_000 }))

/** One planned fault: the `nth` operation of its kind goes wrong like this. `operations` lists the kinds of each. */
export const faultOf = <Operation extends string>(operations: Readonly<Record<Operation, ReadonlyArray<string>>>) =>
  Schema.Struct({
    operation: Schema.Literals(Object.keys(operations) as [Operation, ...Array<Operation>]),
    nth: Count,
    kind: Schema.String
  })

/** Encodes scenarios of a kind as text. `fromJson` throws on any other text. */
export const textOf = <S extends Schema.Codec<unknown, unknown>>(scenario: S) => {
  const json = Schema.fromJsonString(scenario)
  return {
    toJson: Schema.encodeSync(json) as (scenario: S["Type"]) => string,
    fromJson: Schema.decodeSync(json) as (text: string) => S["Type"]
  }
}

interface Small<Fault, Step, Topology> {
  readonly seed: number
  readonly topology: Topology
  readonly faults: ReadonlyArray<Fault>
  readonly steps: ReadonlyArray<Step>
}

interface Played {
  readonly violation: { readonly checker: string; readonly message: string } | undefined
  readonly trace: ReadonlyArray<string>
}

/** Lines of a trace in a description. */
const toldLines = 150

/** Shrinks and describes a kind of scenarios. */
export const telling = <
  S extends Small<S["faults"][number], S["steps"][number], S["topology"]>,
  Options extends object
>(
  play: (scenario: S, options: Options & { readonly isTraced?: boolean }) => Played,
  toJson: (scenario: S) => string,
  /** The usual values of a topology, tried one by one. */
  plain: Partial<S["topology"]> = {}
) => {
  // Every option of a play may be left out.
  /** Leaves out steps and faults, halves first, and takes usual values, while the same checker complains. */
  const shrink = (scenario: S, options: Options = {} as Options): S => {
    const { violation } = play(scenario, options)
    if (violation === undefined) return scenario
    let best = scenario
    const attempt = (candidate: S): boolean => {
      if (play(candidate, options).violation?.checker !== violation.checker) return false
      best = candidate
      return true
    }
    for (let round = 0; round < 2; round++) {
      leaveOut(best.faults, (faults) => attempt({ ...best, faults }))
      leaveOut(best.steps, (steps) => attempt({ ...best, steps }))
    }
    for (const [name, value] of Object.entries(plain))
      attempt({ ...best, topology: { ...(best.topology as object), [name]: value } })
    return best
  }
  /** A failing scenario as a person reads it, made small. */
  const describe = (scenario: S, options: Options = {} as Options): string => {
    const small = shrink(scenario, options)
    const { trace, violation } = play(small, { ...options, isTraced: true })
    return [
      `seed ${scenario.seed}: ${violation?.checker}: ${violation?.message}`,
      ...trace.slice(-toldLines),
      toJson(small)
    ].join("\n")
  }
  return { shrink, describe }
}
