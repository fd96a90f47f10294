/** Shows the nodes of the deployment with their versions, partitions, load and health, and drains one. */
import { type Answer, get, post } from "../api.ts"
import { Chip, Facts, Fault, Head, Link, Loading, Part, Time } from "../ui/basics.tsx"
import { FormDialog, Opener } from "../ui/dialog.tsx"
import { Table } from "../ui/lists.tsx"
import { span } from "../ui/time.ts"
import { useLoad, usePolling } from "../usePages.ts"
import { Age, Unknown } from "./parts.tsx"

type Cluster = Answer<"GET", "/admin/v1/cluster">
type Node_ = Cluster["nodes"][number]

const refreshSeconds = 5
/** Silence after which a node counts as away: it shows every second that it lives. */
const silentMillis = 10_000

/** Partitions of a node, as figures; null where one of them is not known. */
const sumOf = (
  { partitions }: Cluster,
  { partitions: own }: Node_,
  of: (one: Cluster["partitions"][number]) => number | null
): number | null =>
  partitions
    .filter(({ partition }) => own.includes(partition))
    .reduce<number | null>((sum, one) => {
      const value = of(one)
      return sum === null || value === null ? null : sum + value
    }, 0)

const Sum = ({ value }: { readonly value: number | null }) =>
  value === null ? <Unknown /> : <span>{value.toLocaleString()}</span>

const stateOf = (node: Node_): readonly [state: string, word: string] =>
  node.silentMillis > silentMillis
    ? ["bad", `Silent for ${span(node.silentMillis)}`]
    : node.isDraining
      ? ["pending", "Draining"]
      : ["ok", "Well"]

const Drain = ({ name, done }: { readonly name: string; readonly done: () => void }) => (
  <Opener word="Drain" label={`Drain ${name}`} kind="danger">
    {(close) => (
      <FormDialog
        title={`Drain ${name}?`}
        verb="Drain it"
        isDangerous
        onClose={close}
        act={async () => {
          await post("/admin/v1/cluster/nodes/:name/drain", { params: { name } })
          done()
        }}
      >
        <p>It hands its partitions over within a second, and takes them again after a restart.</p>
      </FormDialog>
    )}
  </Opener>
)

export const Nodes = () => {
  const loaded = useLoad(() => get("/admin/v1/cluster"), [])
  const { data, error, reload } = loaded
  usePolling(refreshSeconds * 1_000, reload)
  return (
    <>
      <Head title="Nodes" note="The processes of this deployment, and the partitions that each serves." />
      {error !== undefined && <Fault error={error} retry={reload} />}
      {data === undefined ? (
        error === undefined && <Loading />
      ) : (
        <>
          <Part title="Deployment">
            <Facts
              of={[
                ["Placement", data.placement === "machine" ? "one machine" : "several machines"],
                ["Level of formats", data.level],
                ["Nodes", data.nodes.length],
                ["Partitions", data.partitions.length]
              ]}
            />
            <Age of={loaded} seconds={refreshSeconds} />
          </Part>
          <Part title="Nodes">
            <Table
              caption="Nodes"
              items={data.nodes}
              keyOf={({ name }) => name}
              columns={[
                { head: "Node", isName: true, cell: ({ name }) => <bdi>{name}</bdi> },
                {
                  head: "State",
                  cell: (node) => {
                    const [state, word] = stateOf(node)
                    return <Chip state={state} word={word} />
                  }
                },
                { head: "Version", cell: ({ version }) => <span class="mono">{version}</span> },
                { head: "Role", cell: ({ role }) => role },
                {
                  head: "Partitions",
                  cell: ({ partitions }) =>
                    partitions.length === 0 ? (
                      <span class="none">none</span>
                    ) : (
                      <>
                        {partitions.length}
                        <span class="sub">{partitions.join(", ")}</span>
                      </>
                    )
                },
                {
                  head: "Waiting",
                  isFigure: true,
                  cell: (node) => <Sum value={sumOf(data, node, ({ waiting }) => waiting)} />
                },
                {
                  head: "Actors",
                  isFigure: true,
                  cell: (node) => <Sum value={sumOf(data, node, ({ actors }) => actors)} />
                },
                { head: "Behind", isFigure: true, cell: (node) => <Sum value={sumOf(data, node, ({ lag }) => lag)} /> },
                { head: "Since", cell: ({ startedAt }) => <Time at={startedAt} /> },
                {
                  head: "Actions",
                  cell: ({ isDraining, name }) =>
                    data.placement === "cluster" && !isDraining && <Drain name={name} done={reload} />
                }
              ]}
            />
          </Part>
          <Part title="Partitions">
            <Table
              caption="Partitions of the deployment"
              items={data.partitions}
              keyOf={({ partition }) => String(partition)}
              columns={[
                {
                  head: "Partition",
                  isName: true,
                  cell: ({ partition }) => <Link to={`/partitions/${partition}`}>{partition}</Link>
                },
                { head: "Node", cell: (one) => one.node ?? (data.placement === "machine" ? "this machine" : "none") },
                { head: "State", cell: ({ status }) => <Chip state={status} /> },
                { head: "Epoch", isFigure: true, cell: ({ epoch }) => <Sum value={epoch} /> },
                { head: "Last frame", isFigure: true, cell: ({ sequence }) => <Sum value={sequence} /> },
                { head: "Behind", isFigure: true, cell: ({ lag }) => <Sum value={lag} /> },
                { head: "Waiting", isFigure: true, cell: ({ waiting }) => <Sum value={waiting} /> }
              ]}
            />
          </Part>
        </>
      )}
    </>
  )
}
