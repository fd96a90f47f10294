/** All checkers of webhook deliveries. */
import type { Checker } from "../Observer.ts"
import { atLeastOnce } from "./atLeastOnce.ts"
import { boundedMemory } from "./boundedMemory.ts"
import { failuresAgree } from "./failuresAgree.ts"
import { onceWhenCalm } from "./onceWhenCalm.ts"
import { orderKept } from "./orderKept.ts"
import { othersGoOn } from "./othersGoOn.ts"
import { ratesKept } from "./ratesKept.ts"
import { scheduleKept } from "./scheduleKept.ts"
import { signaturesFit } from "./signaturesFit.ts"
import { silenceKept } from "./silenceKept.ts"

export const webhookCheckers: ReadonlyArray<Checker> = [
  atLeastOnce,
  silenceKept,
  scheduleKept,
  onceWhenCalm,
  failuresAgree,
  orderKept,
  othersGoOn,
  ratesKept,
  signaturesFit,
  boundedMemory
]
