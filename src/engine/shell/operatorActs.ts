/**
 * Defines operators' acts on a partition of this process, by name, so that any other process can request them
 * (`operator/atOwner.ts`).
 */
import { Effect } from "effect"
import { describe } from "../describe.ts"
import type { Partition } from "./partition/Partition.ts"

/** Carries out an act on a partition of this process. */
export type OperatorAct = (partition: Partition, asked: unknown) => Effect.Effect<unknown, unknown>

/** An act's answer, as it crosses processes. */
export interface Done {
  readonly done?: unknown
  readonly refused?: string
}

/** Carries out an act here. */
export const actHere = (partition: Partition, act: string, asked: unknown): Effect.Effect<Done> => {
  const found = partition.context.acts.get(act)
  if (found === undefined) return Effect.succeed({ refused: `this process knows no act "${act}"` })
  return Effect.match(found(partition, asked), {
    onSuccess: (done) => ({ done }),
    onFailure: (error) => ({ refused: describe(error) })
  })
}
