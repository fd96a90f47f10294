/**
 * Translates a server's answer to the publish of a frame into the terms of the engine's `Journal`. An answer counts as
 * "surely not stored" only when it says so itself: `Full` and `TooLarge` do, `Refused` leaves it open. Pure.
 */
import type { Msg } from "@nats-io/transport-node"
import type { PublishAnswer } from "../engine/ports/Journal.ts"
import { errorCodes } from "./jetStreamApi.ts"

interface Acknowledgement {
  readonly stream?: string
  readonly seq?: number
  readonly duplicate?: boolean
  readonly error?: { readonly code: number; readonly err_code?: number; readonly description?: string }
}

const full = new Set<number>([errorCodes.storageExceeded, errorCodes.insufficientResources])
const withoutLeader = new Set<number>([errorCodes.clusterNotAvailable, errorCodes.clusterNotLeader])

/** The server's answer to a publish. */
export const publishAnswerOf = (message: Pick<Msg, "json">): PublishAnswer => {
  let answer: Acknowledgement
  try {
    answer = message.json<Acknowledgement>()
  } catch {
    return { _tag: "Refused", message: "the server's answer is not JSON" }
  }
  if (answer.error === undefined) {
    return typeof answer.seq === "number" && answer.seq > 0
      ? { _tag: "Acked", sequence: answer.seq, duplicate: answer.duplicate === true }
      : { _tag: "Refused", message: "the server's acknowledgement has no sequence" }
  }
  const { code, err_code: errorCode = 0, description = "" } = answer.error
  if (errorCode === errorCodes.wrongLastSequence) {
    const last = /(\d+)\s*$/.exec(description)?.[1]
    return { _tag: "WrongSequence", last: last === undefined ? undefined : Number(last) }
  }
  if (errorCode === errorCodes.wrongLastSequenceUnknown) return { _tag: "WrongSequence", last: undefined }
  if (errorCode === errorCodes.messageTooLarge) return { _tag: "TooLarge", maximumBytes: undefined }
  if (withoutLeader.has(errorCode)) return { _tag: "NoLeader" }
  // Every failure to store has this number; only the limits' messages say that nothing was written.
  const limitReached = errorCode === errorCodes.storeFailed && /^maximum (bytes|messages)/.test(description)
  if (limitReached || full.has(errorCode)) return { _tag: "Full" }
  return { _tag: "Refused", message: `${description} (${code}, ${errorCode})` }
}
