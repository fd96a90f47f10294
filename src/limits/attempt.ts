/**
 * Turns synchronous rules into effects, for every service of this folder whose rule may refuse its arguments. Needs no
 * service.
 */
import { Effect } from "effect"
import { InvalidArgument } from "./errors.ts"

/**
 * Evaluates immediately, since its callers already run inside the asking fiber. Any error but a bad argument is a
 * defect.
 */
export const attempt = <A>(evaluate: () => A): Effect.Effect<A, InvalidArgument> => {
  try {
    return Effect.succeed(evaluate())
  } catch (error) {
    return error instanceof InvalidArgument ? Effect.fail(error) : Effect.die(error)
  }
}
