/**
 * `ProbationWindow`: the caps of accounts on probation (docs/send.md, 2.1). Time comes from the Clock. `layerMemory` counts in this process and needs
 * nothing else.
 */
import { Context, Effect, Layer } from "effect"
import { attempt } from "../limits/attempt.ts"
import type { InvalidArgument } from "../limits/errors.ts"
import { domainKey, domainOf } from "./addresses.ts"
import type { MemoryFull } from "./errors.ts"
import { checked, type MemoryOptions, makeKeyedDecider } from "./keyedDecider.ts"
import { type ProbationCaps, probationCaps } from "./limits.ts"
import { assertProbationCaps, type CapReached, emailsInLastHour, probationWindow } from "./probationRules.ts"

export interface ProbationWindowOptions extends MemoryOptions {
  /** The caps of an account, by default those of a standard risk; the function is called for each request. */
  readonly caps?: ((account: string) => ProbationCaps) | undefined
}

/** The caps took the request. */
export interface Taken {
  /** Emails of the account in the hour that ends now, the request's included. */
  readonly lastHour: number
}

export class ProbationWindow extends Context.Service<
  ProbationWindow,
  {
    /**
     * Asks for a request of `emails` emails to `recipients`, the addresses of all of them, and counts it if it passes every cap. Fails with the cap that
     * it crosses, of several the one that it must wait for longest; nothing is counted then.
     */
    readonly take: (
      account: string,
      emails: number,
      recipients: ReadonlyArray<string>
    ) => Effect.Effect<Taken, CapReached | InvalidArgument | MemoryFull>
    /** Begins anew, as after a pause. */
    readonly restart: (account: string) => Effect.Effect<void, InvalidArgument | MemoryFull>
  }
>()("sluice/send/ProbationWindow") {
  /** Windows in this process. The layer fails for options outside their range. */
  static readonly layerMemory = (options: ProbationWindowOptions = {}): Layer.Layer<ProbationWindow, InvalidArgument> =>
    Layer.effect(
      ProbationWindow,
      Effect.suspend(() => attempt(() => makeMemory(options)))
    )
}

const makeMemory = (options: ProbationWindowOptions): ProbationWindow["Service"] => {
  const capsOf = options.caps ?? (() => probationCaps.standard)
  const windows = makeKeyedDecider(probationWindow, options)
  return {
    take: (account, emails, recipients) => {
      const caps = capsOf(account)
      const domains = [...new Set(recipients.map((recipient) => domainKey(domainOf(recipient))))]
      const asked = windows.ask(account, { _tag: "Take", emails, domains, caps })
      return Effect.map(
        checked(() => assertProbationCaps(caps), asked),
        ({ facts, state }) => ({ lastHour: emailsInLastHour(state, facts[0]?.at ?? 0) })
      )
    },
    // A restart is never rejected.
    restart: (account) =>
      Effect.asVoid(Effect.catchTag(windows.ask(account, { _tag: "Restart" }), "CapReached", Effect.die))
  }
}
