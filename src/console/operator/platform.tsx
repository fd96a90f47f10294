/** Shows the platform's state: its stores, and its partitions with their epochs, logs and lags. */
import { type Answer, get } from "../api.ts"
import { Chip, Empty, Fault, Head, Link, Loading, Part, Time } from "../ui/basics.tsx"
import { bytesOf } from "../ui/figureWords.ts"
import { Table } from "../ui/lists.tsx"
import { useLoad, usePolling } from "../usePages.ts"

type Figures = Answer<"GET", "/admin/v1/partitions">["data"][number]

const refreshMillis = 5_000

/**
 * Frames behind that are worth a look, and that are trouble. A reactor that nothing concerns moves from time to time
 * alone.
 */
const someLag = 100
const muchLag = 1_000

const largestLag = ({ reactors }: Figures): number => Math.max(0, ...reactors.map(({ lag }) => lag))

const Partitions = ({ all }: { readonly all: ReadonlyArray<Figures> }) => (
  <Table
    caption="Partitions"
    items={all}
    keyOf={({ partition }) => String(partition)}
    columns={[
      {
        head: "Partition",
        isName: true,
        cell: ({ partition }) => <Link to={`/partitions/${partition}`}>{partition}</Link>
      },
      {
        head: "State",
        cell: ({ reason, status }) => (
          <>
            <Chip state={status} />
            {reason !== null && <span class="sub">{reason}</span>}
          </>
        )
      },
      { head: "Epoch", isFigure: true, cell: ({ epoch }) => epoch },
      { head: "Last frame", isFigure: true, cell: ({ sequence }) => sequence.toLocaleString() },
      { head: "Decided", cell: ({ decidedAt }) => <Time at={decidedAt === 0 ? null : decidedAt} /> },
      {
        head: "Lag",
        isFigure: true,
        cell: (one) => {
          const lag = largestLag(one)
          const state = lag > muchLag ? "bad" : lag > someLag ? "pending" : undefined
          return state === undefined ? lag : <Chip state={state} word={lag.toLocaleString()} />
        }
      },
      { head: "Waiting", isFigure: true, cell: ({ mailbox }) => mailbox },
      { head: "Actors", isFigure: true, cell: ({ actors }) => actors.toLocaleString() },
      {
        head: "Log",
        isFigure: true,
        cell: ({ log }) =>
          log === null ? (
            <Chip state="missing" word="No answer" />
          ) : (
            <>
              {bytesOf(log.bytes)}
              <span class="sub">of {bytesOf(log.maximumBytes)}</span>
            </>
          )
      },
      {
        head: "Out of service",
        cell: ({ quarantined }) =>
          quarantined.length === 0 ? (
            <span class="none">none</span>
          ) : (
            quarantined.map(({ organization, reason }) => (
              <span class="sub" key={organization}>
                <Link to={`/organizations/${organization}`}>{organization}</Link>: {reason}
              </span>
            ))
          )
      }
    ]}
  />
)

export const Platform = () => {
  const status = useLoad(() => get("/admin/v1/status"), [])
  const partitions = useLoad(() => get("/admin/v1/partitions"), [])
  usePolling(refreshMillis, () => {
    status.reload()
    partitions.reload()
  })
  const checks = Object.entries(status.data?.checks ?? {})
  return (
    <>
      <Head
        title="Platform"
        note={status.data !== undefined && <Chip state={status.data.ready ? "ready" : "not_ready"} />}
      />
      <Part title="What it stands on">
        {status.error !== undefined && <Fault error={status.error} retry={status.reload} />}
        {status.data === undefined && status.error === undefined && <Loading />}
        {checks.length > 0 && (
          <Table
            caption="Checks"
            items={checks}
            keyOf={([name]) => name}
            columns={[
              { head: "Check", isName: true, cell: ([name]) => name },
              {
                head: "State",
                cell: ([, { ok }]) => <Chip state={ok ? "ok" : "bad"} word={ok ? "Well" : "Not well"} />
              },
              { head: "Detail", cell: ([, { detail }]) => detail ?? <span class="none">–</span> }
            ]}
          />
        )}
      </Part>
      <Part title="Partitions that this process serves">
        {partitions.error !== undefined && <Fault error={partitions.error} retry={partitions.reload} />}
        {partitions.data === undefined && partitions.error === undefined && <Loading />}
        {partitions.data?.data.length === 0 && <Empty title="It serves none" />}
        {partitions.data !== undefined && partitions.data.data.length > 0 && <Partitions all={partitions.data.data} />}
      </Part>
    </>
  )
}
