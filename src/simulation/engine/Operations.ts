/**
 * Defines the operations of a simulation's clients and their answers: commands with their attempts, reads of a state,
 * lane asks.
 */
import type { Exit } from "effect"
import type { OnceOptions } from "../../engine/once.ts"
import type { Decided } from "./Decisions.ts"
import type { SimulatedEngine } from "./SimulatedEngine.ts"

/** A command of a client, asked until it has a final answer. See {@link engineCheckers}. */
export interface Operation {
  readonly number: number
  readonly organization: string
  readonly kind: string
  readonly key: string
  /** JSON form. */
  readonly command: unknown
  /** The engine's idempotency key of the command. */
  readonly once: OnceOptions | undefined
  readonly startedAt: number
  readonly attempts: Array<Attempt>
  /** The same command under the same idempotency key, asked before. */
  readonly repeats: Operation | undefined
  /** Whether it claims that its actor is fresh. */
  readonly isFresh: boolean
  answer: Answer | undefined
  /** How often it was asked, received or not. */
  tries: number
}

/** The options of a command. See {@link engineCheckers}. */
export interface BeginOptions {
  readonly repeats?: Operation
  readonly isFresh?: boolean | undefined
  readonly once?: OnceOptions | undefined
}

/** How an ask ended. See {@link engineCheckers}. */
export type Answer =
  | { readonly _tag: "Replied"; readonly reply: unknown }
  | { readonly _tag: "Rejected"; readonly rejection: unknown }
  /** One of the engine's own errors. */
  | { readonly _tag: "Failed"; readonly error: string; readonly message: string; readonly isRetryable: boolean }

/** One ask of a command. See {@link engineCheckers}. */
export interface Attempt {
  readonly operation: Operation
  readonly engine: SimulatedEngine
  /** The very object that was passed. */
  readonly command: unknown
  readonly startedAt: number
  answer: Answer | undefined
  /** Whether the answer was remembered under the idempotency key, so that nothing was decided. */
  isReplay: boolean
  answeredAt: number
  /** The epoch of the partition that answered. */
  epoch: number
  /** The last decision about it, if it was decided. */
  decided: Decided | undefined
  /** The process died before it answered. */
  isLost: boolean
}

/** A read of an actor's durable state. See {@link engineCheckers}. */
export interface LookAnswer {
  readonly engine: SimulatedEngine
  readonly organization: string
  readonly kind: string
  readonly key: string
  readonly partition: number
  readonly startedAt: number
  readonly epoch: number
  /** As JSON. */
  readonly json: string
}

/** The keys of a kind, as a process listed them. See {@link engineCheckers}. */
export interface ListAnswer {
  readonly engine: SimulatedEngine
  readonly organization: string
  readonly kind: string
  readonly keys: ReadonlyArray<string>
  readonly startedAt: number
}

/** A lane's answer. See {@link engineCheckers}. */
export interface LaneAnswer {
  readonly engine: SimulatedEngine
  readonly organization: string
  readonly partition: number
  readonly epoch: number
  readonly exit: Exit.Exit<unknown, unknown>
}
