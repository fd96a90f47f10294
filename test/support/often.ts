/** How often a property is tried: a quarter as often in `npm test`, as often as it says with `SLUICE_TEST_SEEDS=all` and where a broken variant is looked for. */
import { environmentName } from "../variants/runner/change.ts"

const isAll = process.env.SLUICE_TEST_SEEDS === "all" || process.env[environmentName] !== undefined

export const often = (runs: number): number => (isAll ? runs : Math.ceil(runs / 4))
