/** Explains to operators a partition whose log ends in the future (docs/architecture.md, rule 7). Needs nothing. */
import { clockBehindMillis } from "../../limits.ts"

const time = (millis: number): string => new Date(millis).toISOString()

/** Explains the fault, when it ends by itself, and exactly how to fix it. */
export const clockBehind = (partition: number, frameMillis: number, wallMillis: number): string => {
  const backMillis = frameMillis - clockBehindMillis
  const seconds = Math.max(0, Math.ceil((backMillis - wallMillis) / 1_000))
  return `the clock is ${Math.ceil((frameMillis - wallMillis) / 1_000)} s behind the last frame, which is of ${time(frameMillis)}. If the clock is wrong, set it right. If it is right, a clock that ran ahead wrote that frame: the partition serves again by itself at ${time(backMillis)}, in ${seconds} s, or immediately with \`sluice recover --partition ${partition} --accept-clock\`, after which its times go back once`
}
