/** Lists the checkers of the engine's promises. A workload may add its own. */
import type { Checker } from "../Checker.ts"
import { committedAsDecided } from "./committedAsDecided.ts"
import { effectsOnce } from "./effectsOnce.ts"
import { everythingAnswered } from "./everythingAnswered.ts"
import { freshReplies } from "./freshReplies.ts"
import { invariantsHold } from "./invariantsHold.ts"
import { jobsEnd } from "./jobsEnd.ts"
import { lossesRefused } from "./lossesRefused.ts"
import { messagesOnce } from "./messagesOnce.ts"
import { modelOracle } from "./modelOracle.ts"
import { nothingForgottenTooEarly } from "./nothingForgottenTooEarly.ts"
import { nothingPurgedTooFar } from "./nothingPurgedTooFar.ts"
import { onceKept } from "./onceKept.ts"
import { oneWriterPerEpoch } from "./oneWriterPerEpoch.ts"
import { projectionsAgree } from "./projectionsAgree.ts"
import { publishedInOrder } from "./publishedInOrder.ts"
import { repliesAreDurable } from "./repliesAreDurable.ts"
import { sameKeySameReply } from "./sameKeySameReply.ts"
import { statesAgree } from "./statesAgree.ts"
import { wakesInTime } from "./wakesInTime.ts"
import { withinBounds } from "./withinBounds.ts"

/**
 * The promises of the engine, each watched in every scenario.
 *
 * @example
 * ```ts
 * import { type Checker, engineCheckers, generate, play, type Workload } from "sluice/simulation"
 *
 * let frames = 0
 * const frameCount: Checker = { name: "frame count", make: () => ({ committed: () => void frames++ }) }
 * export const countFrames = (workload: Workload) =>
 *   play(generate(workload, 7), workload, { checkers: [...engineCheckers, frameCount] })
 * ```
 */
export const engineCheckers: ReadonlyArray<Checker> = [
  oneWriterPerEpoch,
  committedAsDecided,
  repliesAreDurable,
  freshReplies,
  statesAgree,
  modelOracle,
  invariantsHold,
  sameKeySameReply,
  onceKept,
  effectsOnce,
  wakesInTime,
  nothingForgottenTooEarly,
  nothingPurgedTooFar,
  lossesRefused,
  withinBounds,
  everythingAnswered,
  messagesOnce,
  publishedInOrder,
  projectionsAgree,
  jobsEnd
]
