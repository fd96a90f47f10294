/** Shows one partition: its reactors, its last records, and whole frames of its log. */
import { useSignal } from "@preact/signals"
import { get } from "../api.ts"
import { go } from "../router.ts"
import { Chip, Facts, Fault, Field, Head, Json, Link, Loading, Part, Time } from "../ui/basics.tsx"
import { Table } from "../ui/lists.tsx"
import { useLoad, usePolling } from "../usePages.ts"

/** A record as the log has it. */
export interface ShownRecord {
  readonly sequence: number
  readonly index: number
  readonly now: number
  readonly organization: string
  readonly kind: string
  readonly key: string
  readonly isEvent: boolean
  readonly record: unknown
}

export const Records = ({
  partition,
  records
}: {
  readonly partition: number
  readonly records: ReadonlyArray<ShownRecord>
}) =>
  records.length === 0 ? (
    <p class="note">The log's last frames hold none.</p>
  ) : (
    <Table
      caption="Last records"
      items={records.toReversed()}
      keyOf={({ index, sequence }) => `${sequence}.${index}`}
      columns={[
        {
          head: "Frame",
          isFigure: true,
          cell: ({ sequence }) => <Link to={`/partitions/${partition}/frames/${sequence}`}>{sequence}</Link>
        },
        {
          head: "Actor",
          isName: true,
          cell: ({ key, kind, organization }) => (
            <>
              <Link
                to={`/actors?kind=${encodeURIComponent(kind)}&organization=${encodeURIComponent(organization)}&key=${encodeURIComponent(key)}`}
              >
                {kind}
              </Link>
              <span class="sub mono">
                {organization} {key}
              </span>
            </>
          )
        },
        { head: "What", cell: ({ isEvent }) => (isEvent ? "event" : "fact") },
        { head: "Decided", cell: ({ now }) => <Time at={now} /> },
        {
          head: "Record",
          cell: ({ index, record, sequence }) => (
            <details>
              <summary>
                {String(
                  (record as { _tag?: string; type?: string })._tag ?? (record as { type?: string }).type ?? "show"
                )}
              </summary>
              <Json value={record} label={`Record ${index} of frame ${sequence}`} />
            </details>
          )
        }
      ]}
    />
  )

const FrameForm = ({ partition }: { readonly partition: string }) => {
  const sequence = useSignal("")
  return (
    <form
      class="inline"
      onSubmit={(event) => {
        event.preventDefault()
        go(`/partitions/${partition}/frames/${sequence.value}`)
      }}
    >
      <Field
        label="Place in the log"
        isFigure
        pattern="[1-9][0-9]*"
        required
        value={sequence.value}
        onInput={(event) => {
          sequence.value = event.currentTarget.value
        }}
      />
      <button type="submit">Show the frame</button>
    </form>
  )
}

export const Partition = ({ params }: { readonly params: Readonly<Record<string, string>> }) => {
  const id = params.id ?? ""
  const all = useLoad(() => get("/admin/v1/partitions"), [])
  const inside = useLoad(() => get("/admin/v1/partitions/:partition", { params: { partition: id } }), [id])
  usePolling(5_000, () => {
    all.reload()
    inside.reload()
  })
  const figures = all.data?.data.find(({ partition }) => String(partition) === id)
  const records = (inside.data as { readonly lastRecords?: ReadonlyArray<ShownRecord> } | undefined)?.lastRecords
  const error = inside.error ?? all.error
  return (
    <>
      <Head
        title={`Partition ${id}`}
        note={figures !== undefined && <Chip state={figures.status} />}
        trail={["/", "Platform"]}
      />
      {error !== undefined && <Fault error={error} retry={inside.reload} />}
      {figures !== undefined && (
        <Part title="Partition">
          <Facts
            of={[
              ["Epoch", figures.epoch],
              ["Last frame", `${figures.sequence.toLocaleString()}, number ${figures.frame} of its epoch`],
              ["Decided", <Time at={figures.decidedAt === 0 ? null : figures.decidedAt} />],
              ["Checkpoint", figures.checkpointSequence?.toLocaleString() ?? "none"],
              figures.log !== null && ["First frame kept", figures.log.firstSequence.toLocaleString()],
              ["Commands that wait", figures.mailbox],
              ["Actors in memory", figures.actors.toLocaleString()],
              ["Timers", figures.timers.toLocaleString()],
              ...figures.reactors.map(
                ({ lag, reactor, sequence }) =>
                  [`Reactor ${reactor}`, `at ${sequence.toLocaleString()}, ${lag} behind`] as const
              )
            ]}
          />
        </Part>
      )}
      <Part title="A frame of its log">
        <FrameForm partition={id} />
      </Part>
      <Part title="Last records">
        {records === undefined ? (
          error === undefined && <Loading />
        ) : (
          <Records partition={Number(id)} records={records} />
        )}
      </Part>
    </>
  )
}

export const Frame = ({ params }: { readonly params: Readonly<Record<string, string>> }) => {
  const { id = "", sequence = "" } = params
  const { data, error, reload } = useLoad(
    () => get("/admin/v1/partitions/:partition/frames/:sequence", { params: { partition: id, sequence } }),
    [id, sequence]
  )
  return (
    <>
      <Head
        title={`Frame ${sequence}`}
        note="The whole frame, with the records of every organization."
        trail={[`/partitions/${id}`, `Partition ${id}`]}
      />
      {error !== undefined && <Fault error={error} retry={reload} />}
      {data === undefined ? error === undefined && <Loading /> : <Json value={data} label={`Frame ${sequence}`} />}
    </>
  )
}
