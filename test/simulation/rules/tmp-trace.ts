import "effect/schema/SchemaJITCompiler/enable"
import { campaign, describeFailure } from "../../../src/simulation/index.ts"
import { rightPrograms } from "./workerRules.ts"

const [p, seed, seeds] = process.argv.slice(2).map(Number)
const t = Date.now()
const { failure } = campaign(rightPrograms[p!]!.plan().workload, { seed: seed!, seeds: seeds! })
console.log(rightPrograms[p!]!.name, Date.now() - t, "ms")
if (failure) {
  console.log(Object.keys(failure))
  console.log(process.env.FULL ? (failure as any).trace.join("\n") : "", describeFailure(failure))
}
