/** Shows ingestions of the number directory: those under way, the newest data of each kind, files taken and not taken. */
import { useState } from "preact/hooks"
import { get } from "../api.ts"
import { Chip, Command, Empty, Fault, Head, Loading, Meter, Part, Tabs, Time } from "../ui/basics.tsx"
import { PagedTable, Table } from "../ui/lists.tsx"
import { span } from "../ui/time.ts"
import { type Page, type Paged, useLoad, usePolling } from "../usePages.ts"
import { Age } from "./parts.tsx"

const refreshSeconds = 5
const pageSize = 25

/** Pages of a list whose cursor is the id of the last one listed. */
const useIdPages = <Item extends { readonly id: number }>(
  load: (before: number | undefined) => Promise<{ readonly data: ReadonlyArray<Item> }>
): Paged<Item> => {
  const [places, setPlaces] = useState<ReadonlyArray<number>>([])
  const loaded = useLoad(async (): Promise<Page<Item>> => {
    const { data } = await load(places.at(-1))
    return { data: data.slice(0, pageSize), pagination: { hasMore: data.length > pageSize } }
  }, [places.at(-1)])
  const last = loaded.data?.data.at(-1)?.id
  return {
    ...loaded,
    number: places.length + 1,
    older:
      loaded.data?.pagination.hasMore === true && last !== undefined ? () => setPlaces([...places, last]) : undefined,
    newer: places.length === 0 ? undefined : () => setPlaces(places.slice(0, -1))
  }
}

const Taken = () => {
  const paged = useIdPages((before) => get("/admin/v1/ingestions", { query: { before, limit: pageSize + 1 } }))
  usePolling(refreshSeconds * 1_000, paged.reload)
  return (
    <PagedTable
      paged={paged}
      caption="Files that were taken"
      keyOf={({ id }) => String(id)}
      empty={
        <Empty title="No file was ingested yet">
          <Command text="npx --no-install sluice ingest <file or address>" />
        </Empty>
      }
      columns={[
        {
          head: "File",
          isName: true,
          cell: ({ kind, source }) => (
            <>
              <bdi class="mono">{source}</bdi>
              <span class="sub">{kind}</span>
            </>
          )
        },
        {
          head: "Published",
          cell: ({ publicationDate }) => (
            <span class={publicationDate === null ? "none whole" : "whole"}>{publicationDate ?? "not said"}</span>
          )
        },
        { head: "Read", isFigure: true, cell: ({ read }) => read.toLocaleString() },
        { head: "Added", isFigure: true, cell: ({ added }) => added.toLocaleString() },
        { head: "Changed", isFigure: true, cell: ({ changed }) => changed.toLocaleString() },
        { head: "Removed", isFigure: true, cell: ({ removed }) => removed.toLocaleString() },
        {
          head: "Malformed",
          isFigure: true,
          cell: ({ malformed }) => (malformed === 0 ? 0 : <Chip state="advice" word={malformed.toLocaleString()} />)
        },
        { head: "Took", isFigure: true, cell: (one) => span(Date.parse(one.finishedAt) - Date.parse(one.startedAt)) },
        { head: "Finished", cell: ({ finishedAt }) => <Time at={finishedAt} /> }
      ]}
    />
  )
}

const NotTaken = () => {
  const paged = useIdPages((before) => get("/admin/v1/ingestions/failures", { query: { before, limit: pageSize + 1 } }))
  usePolling(refreshSeconds * 1_000, paged.reload)
  return (
    <PagedTable
      paged={paged}
      caption="Files that were not taken"
      keyOf={({ id }) => String(id)}
      empty={<Empty title="Every file was taken" />}
      columns={[
        { head: "File", isName: true, cell: ({ source }) => <bdi class="mono">{source}</bdi> },
        { head: "Fault", cell: ({ code }) => <Chip state="failed" word={code} /> },
        { head: "Why", cell: ({ message }) => <bdi class="breaks">{message}</bdi> },
        { head: "When", cell: ({ at }) => <Time at={at} /> }
      ]}
    />
  )
}

export const Ingestions = () => {
  const state = useLoad(() => get("/admin/v1/ingestions/state"), [])
  usePolling(refreshSeconds * 1_000, state.reload)
  const { data, error, reload } = state
  return (
    <>
      <Head title="Ingestions" note="Published files of the number directory." />
      <Part title="Now">
        {error !== undefined && <Fault error={error} retry={reload} />}
        {data === undefined && error === undefined && <Loading />}
        {data?.present.length === 0 && <p class="note">This process ingests nothing at the moment.</p>}
        {data?.present.map((one) => (
          <Meter
            key={one.source}
            label={`${one.source}: ${one.phase}${one.isDry ? ", nothing is stored" : ""}`}
            used={one.rows}
            limit={null}
            note={
              <>
                {one.fraction !== null && `${Math.round(one.fraction * 100)} % read, `}begun <Time at={one.startedAt} />
              </>
            }
          />
        ))}
        <Age of={state} seconds={refreshSeconds} />
      </Part>
      <Part title="Newest data of each kind">
        {data === undefined && error === undefined && <Loading />}
        {data?.latest.length === 0 && <Empty title="The directory has no data yet" />}
        {data !== undefined && data.latest.length > 0 && (
          <Table
            caption="Newest data of each kind"
            items={data.latest}
            keyOf={({ kind }) => kind}
            columns={[
              { head: "Kind", isName: true, cell: ({ kind }) => <span class="whole">{kind}</span> },
              { head: "Published", cell: ({ publicationDate }) => <Time at={publicationDate} /> },
              { head: "Ingested", cell: ({ finishedAt }) => <Time at={finishedAt} /> },
              { head: "Records read", isFigure: true, cell: ({ read }) => read.toLocaleString() },
              { head: "File", cell: ({ source }) => <bdi class="mono">{source}</bdi> }
            ]}
          />
        )}
      </Part>
      <Part title="Files">
        <Tabs
          label="Files that were taken and not taken"
          tabs={[
            ["Taken", () => <Taken />],
            ["Not taken", () => <NotTaken />]
          ]}
        />
      </Part>
    </>
  )
}
