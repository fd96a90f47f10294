/** Lists acts of the audit log, for an organization and for operators. */
import type { Answer } from "../api.ts"
import type { Paged } from "../usePages.ts"
import { Chip, Empty, Time } from "./basics.tsx"
import { LinkedText } from "./linkedText.tsx"
import { PagedTable } from "./lists.tsx"

export type AuditEntry = Answer<"GET", "/v1/audit">["data"][number]

const Actor = ({ actor }: Pick<AuditEntry, "actor">) => (
  <div>
    {actor.type}
    {actor.id !== null && <span class="sub mono">{actor.id}</span>}
  </div>
)

export const AuditList = ({ paged }: { readonly paged: Paged<AuditEntry> }) => (
  <PagedTable
    paged={paged}
    caption="Acts of the last 400 days"
    keyOf={({ id }) => id}
    empty={
      <Empty title="No acts">
        <p class="note">
          Changes of keys, endpoints, domains, senders, suppressions and the subscription come here by themselves.
        </p>
      </Empty>
    }
    columns={[
      {
        head: "Act",
        isName: true,
        cell: ({ act, mode }) => (
          <>
            <span class="mono type">{act}</span> {mode === "test" && <Chip state="test" word="Test" />}
          </>
        )
      },
      {
        head: "On",
        cell: ({ object }) => <bdi class="mono">{object === null ? "–" : <LinkedText text={object} />}</bdi>
      },
      { head: "By", cell: Actor },
      { head: "From", cell: ({ address }) => <span class="mono">{address ?? "–"}</span> },
      { head: "When", cell: ({ at }) => <Time at={at} /> }
    ]}
  />
)
