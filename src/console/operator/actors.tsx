/** Shows an actor: its state and its last facts. */
import { useSignal } from "@preact/signals"
import { get } from "../api.ts"
import { search, setSearch } from "../router.ts"
import { operator } from "../session.ts"
import { Facts, Fault, Field, Head, Json, Loading, Part, Select, Time } from "../ui/basics.tsx"
import { useLoad } from "../usePages.ts"
import { Records, type ShownRecord } from "./partition.tsx"

interface Found {
  readonly partition: number
  readonly state?: unknown
  readonly inMemory: boolean
  readonly sequence: number
  readonly wakeAt?: number
  readonly lastRecords: ReadonlyArray<ShownRecord>
}

const Actor = ({
  kind,
  organization,
  key_
}: {
  readonly kind: string
  readonly organization: string
  readonly key_: string
}) => {
  const { data, error, reload } = useLoad(
    () => get("/admin/v1/actors/:kind", { params: { kind }, query: { organization, key: key_ } }) as Promise<Found>,
    [kind, organization, key_]
  )
  if (error !== undefined) return <Fault error={error} retry={reload} />
  if (data === undefined) return <Loading />
  return (
    <>
      <Part title="Actor">
        <Facts
          of={[
            ["Partition", data.partition],
            ["In memory", data.inMemory ? "yes" : "no"],
            ["Last changed by frame", data.sequence],
            ["Wakes", <Time at={data.wakeAt} />]
          ]}
        />
      </Part>
      <Part title="State">
        {data.state === undefined ? (
          <p class="note">There is none: nothing has happened to it.</p>
        ) : (
          <Json value={data.state} label="State as JSON" />
        )}
      </Part>
      <Part title="Last facts">
        <Records partition={data.partition} records={data.lastRecords} />
      </Part>
    </>
  )
}

export const Actors = () => {
  const kinds = operator.value?.actorKinds ?? []
  const given = { kind: search.value.get("kind") ?? "", organization: search.value.get("organization") ?? "" }
  const kind = useSignal(given.kind || (kinds[0] ?? ""))
  const organization = useSignal(given.organization)
  const key = useSignal(search.value.get("key") ?? "")
  return (
    <>
      <Head title="Actors" note="The state of one, and what changed it last." />
      <Part title="Which one">
        <form
          class="inline"
          onSubmit={(event) => {
            event.preventDefault()
            setSearch({ kind: kind.value, organization: organization.value.trim(), key: key.value.trim() })
          }}
        >
          <Select
            label="Kind"
            value={kind.value}
            options={kinds.map((one) => [one, one] as const)}
            onChange={(value) => {
              kind.value = value
            }}
          />
          <Field
            label="Organization"
            required
            placeholder="org_…"
            value={organization.value}
            onInput={(event) => {
              organization.value = event.currentTarget.value
            }}
          />
          <Field
            label="Key"
            placeholder="none, or live, or an id"
            value={key.value}
            onInput={(event) => {
              key.value = event.currentTarget.value
            }}
          />
          <button type="submit" class="primary">
            Look
          </button>
        </form>
      </Part>
      {given.kind !== "" && given.organization !== "" && (
        <Actor kind={given.kind} organization={given.organization} key_={search.value.get("key") ?? ""} />
      )}
    </>
  )
}
