/** Shows the stored states of all actors to invariants over several of them. Needs no service. */
import type { ActorOfState } from "../../engine/Actor.ts"
import type { ActorHistory, Truth } from "../engine/Truth.ts"

/** An actor with its state. See {@link States}. */
export interface ActorState<State> {
  readonly organization: string
  readonly key: string
  readonly state: State
}

/**
 * The stored states at one moment, for sentences about several actors.
 *
 * @example
 * ```ts
 * import { type Actor } from "sluice"
 * import { plan, type States } from "sluice/simulation"
 *
 * // The sum over all accounts of an organization never changes.
 * export const proofOf = <C, F>(Account: Actor.Actor<C, F, number, void, string>) =>
 *   plan(Account, {
 *     together: { "no money comes or goes": (states: States) => states.of(Account).reduce((sum, { state }) => sum + state, 0) === 0 }
 *   })
 * ```
 */
export class States {
  private readonly truth: Truth
  private readonly organization: string | undefined

  /** `organization`: only its actors; all without it. */
  constructor(truth: Truth, organization: string | undefined) {
    this.truth = truth
    this.organization = organization
  }

  /** The actors of a kind that ever got a command or a fact. */
  of<State>(actor: ActorOfState<State>): ReadonlyArray<ActorState<State>> {
    const found: Array<ActorState<State>> = []
    for (const history of this.truth.histories(this.organization)) {
      if (history.kind !== actor.kind) continue
      const { key, organization } = history
      found.push({ organization, key, state: lastOf(history) as State })
    }
    return found
  }

  /** The state of one actor; its initial state if it has had no fact. */
  get<State>(actor: ActorOfState<State>, key = "", organization = this.organization ?? ""): State {
    return lastOf(this.truth.history({ organization, kind: actor.kind, key })) as State
  }
}

const lastOf = ({ moments }: ActorHistory): unknown => moments[moments.length - 1]!.state
