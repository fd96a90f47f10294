/** Exposes the parts of an engine to its own tools, tests and the simulator. Users of an engine do not see them. */
import type { Engine } from "../../EngineService.ts"
import type { Workers } from "../../workers/Workers.ts"
import type { EngineContext } from "./EngineContext.ts"
import type { Partition } from "./Partition.ts"

export interface Internals {
  readonly context: EngineContext
  /** The partitions placed in this process. */
  readonly partitions: ReadonlyMap<number, Partition>
  /** Undefined in a program without workers. */
  readonly workers: Workers | undefined
}

const known = new WeakMap<object, Internals>()

export const register = (engine: Engine["Service"], internals: Internals): void => void known.set(engine, internals)

/** Throws when the service is not an engine of this process. */
export const internals = (engine: Engine["Service"]): Internals => {
  const found = known.get(engine)
  if (found === undefined) throw new Error("this engine has no partitions in this process")
  return found
}
