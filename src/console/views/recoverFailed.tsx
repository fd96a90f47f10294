/** Sends failed deliveries of an endpoint once more: counts them first, shows the progress, and can be stopped. */
import { useEffect, useRef, useState } from "preact/hooks"
import { ApiError, get, post } from "../api.ts"
import { Fault, Loading, Meter } from "../ui/basics.tsx"
import { Dialog, Opener } from "../ui/dialog.tsx"
import { counted } from "../ui/figureWords.ts"
import { useLoad } from "../usePages.ts"

/** Deliveries that one run sends again, the newest ones: a console may make some hundred requests a minute. */
const maximumSent = 500
/** Pages that are read to count them; each looks through many deliveries. */
const maximumPages = 20
/** Requests that are under way at a time. */
const atOnce = 4
/** How long it waits where the rate is used up. */
const rateMillis = 5_000

type Status = "failed" | "expired"

interface Found {
  readonly ids: ReadonlyArray<string>
  /** Whether there may be more. */
  readonly isCut: boolean
}

/** The newest deliveries of a state. */
const find = async (id: string, status: Status): Promise<Found> => {
  const ids: Array<string> = []
  let cursor: string | undefined
  for (let page = 0; page < maximumPages; page++) {
    const { data, pagination } = await get("/v1/webhooks/:id/deliveries", {
      params: { id },
      query: { status, cursor, limit: 100 }
    })
    ids.push(...data.map((one) => one.id))
    if (ids.length > maximumSent) return { ids: ids.slice(0, maximumSent), isCut: true }
    if (!pagination.hasMore) return { ids, isCut: false }
    cursor = pagination.nextCursor
  }
  return { ids, isCut: true }
}

interface Progress {
  readonly sent: number
  /** Deliveries that could not be sent again: somebody else has sent them meanwhile, or they are too old. */
  readonly refused: number
  /** Why the run has ended before its end. */
  readonly stopped?: string
}

const pause = (millis: number) => new Promise((resolve) => setTimeout(resolve, millis))

/** Sends one again; whether it was accepted. Waits where the rate is used up. */
const again = async (id: string, deliveryId: string, isStopped: () => boolean): Promise<boolean> => {
  for (;;) {
    try {
      await post("/v1/webhooks/:id/deliveries/:deliveryId/retry", { params: { id, deliveryId } })
      return true
    } catch (cause) {
      if (!(cause instanceof ApiError)) throw cause
      if (cause.status === 404 || cause.status === 409) return false
      if (cause.status !== 429 || isStopped()) throw cause
      await pause(rateMillis)
    }
  }
}

const Run = ({
  id,
  status,
  onClose,
  done
}: {
  readonly id: string
  readonly status: Status
  readonly onClose: () => void
  readonly done: () => void
}) => {
  const { data, error, reload } = useLoad(() => find(id, status), [id, status])
  const [progress, setProgress] = useState<Progress | undefined>(undefined)
  const stopped = useRef(false)
  useEffect(
    () => () => {
      stopped.current = true
    },
    []
  )
  const run = async (ids: ReadonlyArray<string>) => {
    let [sent, refused] = [0, 0]
    const waiting = [...ids]
    setProgress({ sent, refused })
    const work = async () => {
      for (;;) {
        const next = stopped.current ? undefined : waiting.shift()
        if (next === undefined) return
        if (await again(id, next, () => stopped.current)) sent++
        else refused++
        setProgress({ sent, refused })
      }
    }
    try {
      await Promise.all(Array.from({ length: atOnce }, work))
      if (stopped.current) setProgress({ sent, refused, stopped: "You have stopped it." })
    } catch (cause) {
      stopped.current = true
      setProgress({ sent, refused, stopped: cause instanceof Error ? cause.message : String(cause) })
    }
    done()
  }
  const total = data?.ids.length ?? 0
  const isOver =
    progress !== undefined && (progress.sent + progress.refused === total || progress.stopped !== undefined)
  return (
    <Dialog title={`Send ${status} deliveries again`} onClose={onClose}>
      {error !== undefined && <Fault error={error} retry={reload} />}
      {data === undefined && error === undefined && <Loading />}
      {data !== undefined && (
        <p role="status">
          {progress === undefined
            ? total === 0
              ? `No delivery of this endpoint is ${status}.`
              : `${data.isCut ? "At least " : ""}${counted(total, "delivery is", "deliveries are")} ${status}. One attempt is made of each${data.isCut ? ", of the newest of them in this run" : ""}. It never counts as a failure.`
            : isOver
              ? `${counted(progress.sent, "delivery goes", "deliveries go")} out again.${progress.refused > 0 ? ` ${counted(progress.refused, "was", "were")} not sent: it is pending again, or too old.` : ""} ${progress.stopped ?? ""}`
              : "Sending …"}
        </p>
      )}
      {progress !== undefined && total > 0 && (
        <Meter label="Sent again" used={progress.sent + progress.refused} limit={total} isProgress />
      )}
      <div class="buttons">
        {data !== undefined && total > 0 && progress === undefined && (
          <button type="button" class="primary" onClick={() => void run(data.ids)}>
            Send {total.toLocaleString()} again
          </button>
        )}
        {progress !== undefined && !isOver && (
          <button
            type="button"
            onClick={() => {
              stopped.current = true
            }}
          >
            Stop
          </button>
        )}
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  )
}

/** The button for the deliveries of one state. */
export const RecoverFailed = ({
  id,
  status,
  done
}: {
  readonly id: string
  readonly status: Status
  readonly done: () => void
}) => (
  <Opener word={`Send ${status} again`}>
    {(close) => <Run id={id} status={status} onClose={close} done={done} />}
  </Opener>
)
