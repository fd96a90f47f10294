/** Variants of the simulator for rules of one's own: sentences about time, drawn commands, streams and tables. */
import type { Variant } from "./runner/variant.ts"

export const simulations: ReadonlyArray<Variant> = [
  {
    name: "simulation: a disturbance lets no deadline begin anew",
    find: "Math.max(at, calm) + within",
    replace: "at + within",
    sentence: "a right rule is blamed for a process that was dead",
    finders: ["timeRules.sim"]
  },
  {
    name: "simulation: no deadline is waited for at the rest of a scenario",
    find: "if (!deadlines.isAny) return\n  deadlines.rest()",
    replace: "return",
    sentence: "a timer that is not set again is found by luck alone",
    finders: ["timeRules.sim"]
  },
  {
    name: "simulation: commands never insist",
    find: "if (wakeAt !== undefined) passUntil(simulation, wakeAt - 1)",
    replace: "if (wakeAt !== undefined) passUntil(simulation, wakeAt + 1)",
    sentence: "a rule whose wake each command puts off is not found",
    finders: ["timeRules.sim"]
  },
  {
    name: "simulation: sentences get another time than the rule had",
    find: "{ now: moment.now, organization, key }",
    replace: "{ now: moment.at, organization, key }",
    sentence: "a sentence about time holds by chance",
    finders: ["rules/simulate.unit"]
  },
  {
    name: "simulation: a finding keeps commands that are still to be drawn",
    find: "if (fixed !== shrunk.scenario && fails(fixed))",
    replace: "if (fixed === shrunk.scenario && fails(fixed))",
    sentence: "a saved finding shows something else once the function of its commands has changed",
    finders: ["rules/simulate.unit"]
  },
  {
    name: "simulation: commands are drawn from the actor's first state",
    find: "const { state } = simulation.truth.history({ organization, kind, key }).moments.at(-1)!",
    replace: "const { state } = simulation.truth.history({ organization, kind, key }).moments.at(0)!",
    sentence: "commands do not fit the state that they are sent to",
    finders: ["rules/simulate.unit"]
  },
  {
    name: "simulation: a projection that is built anew is not cleared",
    find: "onCommit(() => projection.clear())",
    replace: "Effect.void",
    sentence: "a right projection is blamed after a rebuild",
    finders: ["streamRules.sim"]
  },
  {
    name: "simulation: a message that a later reading leaves out is not missed",
    find: "if (!wasMeant && !isMeant(ingest, message, partition.id, partitions)) continue",
    replace: "if (!isMeant(ingest, message, partition.id, partitions)) continue",
    sentence: "an ingest that loses messages is not found",
    finders: ["streamRules.sim"]
  },
  {
    name: "simulation: records that a publisher parks are no finding",
    find: "if (parked !== undefined && simulation.workload.isIndigestible === undefined)",
    replace: "if (parked !== undefined && simulation.workload.isIndigestible !== undefined)",
    sentence: "a publisher that cannot store some records is not found",
    finders: ["streamRules.sim"]
  }
]
