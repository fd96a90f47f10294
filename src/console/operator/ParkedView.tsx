/** Shows the records that a reactor could not process, with their errors, and the buttons to retry or dismiss them. */
import { useSignal } from "@preact/signals"
import { get, post } from "../api.ts"
import { Chip, Code, Empty, Fault, Head, Link, Loading, Part } from "../ui/basics.tsx"
import { Act, FormDialog, Opener } from "../ui/dialog.tsx"
import { Table } from "../ui/lists.tsx"
import { useLoad } from "../usePages.ts"

const Dismiss = ({
  organization,
  place,
  done
}: {
  readonly organization: string
  readonly place: { readonly sequence: number; readonly index: number }
  readonly done: () => void
}) => (
  <Opener word="Dismiss" label={`Dismiss record ${place.sequence}/${place.index}`} kind="danger">
    {(close) => (
      <FormDialog
        title="Dismiss this record?"
        verb="Dismiss it"
        isDangerous
        onClose={close}
        act={async () => {
          await post("/admin/v1/organizations/:id/parked/dismiss", { params: { id: organization }, body: place })
          done()
        }}
      >
        <p>Its effects never happen. The records behind it wait for a retry.</p>
      </FormDialog>
    )}
  </Opener>
)

const Records = ({ organization, done }: { readonly organization: string; readonly done: () => void }) => {
  const { data, error, reload } = useLoad(
    () => get("/admin/v1/organizations/:id/parked", { params: { id: organization } }),
    [organization]
  )
  const told = useSignal("")
  const again = () => {
    reload()
    done()
  }
  return (
    <Part
      title={`Records of ${organization}`}
      actions={
        <Act
          word="Retry all"
          kind="primary"
          act={async () => {
            const { error, left, retried } = await post("/admin/v1/organizations/:id/parked/retry", {
              params: { id: organization },
              body: {}
            })
            told.value = `${retried} went through, ${left} are left${error ? `: ${error}` : ""}`
            again()
          }}
        />
      }
    >
      <p role="status">{told.value}</p>
      {error !== undefined && <Fault error={error} retry={reload} />}
      {data === undefined && error === undefined && <Loading />}
      {data !== undefined && (
        <Table
          caption="Parked records, in order"
          items={data.records}
          keyOf={({ index, sequence }) => `${sequence}.${index}`}
          columns={[
            { head: "Place", isName: true, cell: ({ index, sequence }) => `${sequence}/${index}` },
            { head: "Why", cell: (one) => one.error },
            {
              head: "Record",
              cell: ({ index, record, sequence }) => (
                <details>
                  <summary>Show</summary>
                  <Code text={record} label={`Record ${sequence}/${index}`} />
                </details>
              )
            },
            {
              head: "Actions",
              // Only the first may be dismissed.
              cell: (one) =>
                one === data.records[0] && (
                  <Dismiss
                    organization={organization}
                    place={{ sequence: one.sequence, index: one.index }}
                    done={again}
                  />
                )
            }
          ]}
        />
      )}
    </Part>
  )
}

export const Parked = () => {
  const { data, error, reload } = useLoad(() => get("/admin/v1/parked", { query: { limit: 100 } }), [])
  const chosen = useSignal("")
  return (
    <>
      <Head
        title="Parked records"
        note="What a reactor could not process, and what of the same organization stands behind it."
      />
      <Part title="Organizations">
        {error !== undefined && <Fault error={error} retry={reload} />}
        {data === undefined && error === undefined && <Loading />}
        {error === undefined && data?.organizations.length === 0 && (
          <Empty title="Nothing is parked">
            <p>
              <Chip state="ok" word="All well" />
            </p>
          </Empty>
        )}
        {data !== undefined && data.organizations.length > 0 && (
          <Table
            caption="Organizations with parked records"
            items={data.organizations}
            keyOf={({ organization, partition }) => `${partition} ${organization}`}
            columns={[
              {
                head: "Organization",
                isName: true,
                cell: ({ organization }) => <Link to={`/organizations/${organization}`}>{organization}</Link>
              },
              { head: "Partition", isFigure: true, cell: ({ partition }) => partition },
              { head: "Records", isFigure: true, cell: ({ records }) => records.toLocaleString() },
              {
                head: "Actions",
                cell: ({ organization }) => (
                  <button
                    type="button"
                    aria-label={`Show the records of ${organization}`}
                    onClick={() => {
                      chosen.value = organization
                    }}
                  >
                    Show
                  </button>
                )
              }
            ]}
          />
        )}
      </Part>
      {chosen.value !== "" && <Records key={chosen.value} organization={chosen.value} done={reload} />}
    </>
  )
}
