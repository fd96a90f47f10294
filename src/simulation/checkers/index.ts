/** The checkers of the engine's promises. A workload may add its own. */
import type { Checker } from "../Checker.ts"
import { boundedEverything } from "./boundedEverything.ts"
import { committedAsDecided } from "./committedAsDecided.ts"
import { effectsOnce } from "./effectsOnce.ts"
import { everythingAnswered } from "./everythingAnswered.ts"
import { freshReplies } from "./freshReplies.ts"
import { invariantsHold } from "./invariantsHold.ts"
import { lossesRefused } from "./lossesRefused.ts"
import { modelOracle } from "./modelOracle.ts"
import { nothingForgottenTooEarly } from "./nothingForgottenTooEarly.ts"
import { nothingPurgedTooFar } from "./nothingPurgedTooFar.ts"
import { onceKept } from "./onceKept.ts"
import { oneWriterPerEpoch } from "./oneWriterPerEpoch.ts"
import { repliesAreDurable } from "./repliesAreDurable.ts"
import { sameKeySameReply } from "./sameKeySameReply.ts"
import { statesAgree } from "./statesAgree.ts"
import { wakesInTime } from "./wakesInTime.ts"

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
  boundedEverything,
  everythingAnswered
]
