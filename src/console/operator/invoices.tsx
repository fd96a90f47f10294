/** Lists the invoices of all organizations, and shows one with its document. */
import { useSignal } from "@preact/signals"
import { get, post } from "../api.ts"
import { money } from "../money.ts"
import { Chip, Copy, Empty, Facts, Fault, Head, Link, Loading, Part, Time } from "../ui/basics.tsx"
import { Act, FormDialog, Opener } from "../ui/dialog.tsx"
import { PagedTable } from "../ui/lists.tsx"
import { wordOf } from "../ui/states.ts"
import { useLoad, usePages, usePolling } from "../usePages.ts"
import { Filters, given } from "../views/filters.tsx"
import { fileOf } from "./fileOf.ts"
import { Age, Choice } from "./parts.tsx"

const statuses = ["any", "open", "paid", "draft", "void", "uncollectible"] as const
const refreshSeconds = 30

export const Invoices = () => {
  const status = statuses.find((one) => one === given("status")) ?? "open"
  const month = given("month")
  const paged = usePages((cursor) => get("/admin/v1/invoices", { query: { cursor, status, month } }), [status, month])
  usePolling(refreshSeconds * 1_000, paged.reload)
  return (
    <>
      <Head title="Invoices" note="Of all organizations, newest first." />
      <Part title="Invoices">
        <div class="filters">
          <Choice
            label="State"
            name="status"
            options={[
              ["", "Waiting for payment"],
              ["any", "Any state"],
              ...statuses.slice(2).map((one) => [one, wordOf(one)] as const)
            ]}
          />
          <Filters hasTime={false} fields={[["month", "Month (UTC)", "2026-11"]]} />
        </div>
        <Age of={paged} seconds={refreshSeconds} />
        <PagedTable
          paged={paged}
          caption="Invoices"
          keyOf={({ id }) => id}
          empty={
            <Empty title={status === "open" && month === "" ? "No invoice waits for payment" : "No such invoice"} />
          }
          columns={[
            {
              head: "Invoice",
              isName: true,
              cell: (one) => (
                <>
                  <Link to={`/invoices/${one.id}`}>
                    <bdi>{one.description}</bdi>
                  </Link>
                  <span class="sub mono">{one.id}</span>
                </>
              )
            },
            {
              head: "Customer",
              cell: (one) => (
                <Link to={`/organizations/${one.organizationId}`}>
                  <bdi>{one.customerName}</bdi>
                </Link>
              )
            },
            { head: "Amount", isFigure: true, cell: (one) => money(one.amount, one.currency) },
            {
              head: "State",
              cell: (one) => (
                <>
                  <Chip state={one.status} />
                  {one.failedAt !== null && one.status === "open" && (
                    <span class="sub">
                      failed <Time at={one.failedAt} />
                    </span>
                  )}
                </>
              )
            },
            { head: "Created", cell: (one) => <Time at={one.createdAt} /> }
          ]}
        />
      </Part>
    </>
  )
}

const Settle = ({
  id,
  verb,
  done
}: {
  readonly id: string
  readonly verb: "pay" | "fail"
  readonly done: () => void
}) => (
  <Opener word={verb === "pay" ? "It was paid" : "The payment failed"} kind={verb === "pay" ? "primary" : "danger"}>
    {(close) => (
      <FormDialog
        title={verb === "pay" ? "Was this invoice paid?" : "Has the payment failed?"}
        verb={verb === "pay" ? "Record the payment" : "Record the failure"}
        isDangerous={verb === "fail"}
        onClose={close}
        act={async () => {
          await post(`/admin/v1/invoices/:id/${verb}`, { params: { id } })
          done()
        }}
      >
        <p>
          {verb === "pay"
            ? "The plan is in force with the next decision. This cannot be undone."
            : "After the grace the free plans are in force."}
        </p>
      </FormDialog>
    )}
  </Opener>
)

export const Invoice = ({ params }: { readonly params: Readonly<Record<string, string>> }) => {
  const id = params.id ?? ""
  const file = useSignal("")
  const loaded = useLoad(() => get("/admin/v1/invoices/:id", { params: { id } }), [id])
  const { data, error, reload } = loaded
  usePolling(5_000, reload)
  return (
    <>
      <Head
        title={data?.description ?? "Invoice"}
        note={
          <>
            {data !== undefined && <Chip state={data.status} />} <span class="mono">{id}</span>{" "}
            <Copy text={id} what="id" />
          </>
        }
        trail={["/invoices", "Invoices"]}
        actions={
          data?.status === "open" && (
            <>
              <Settle id={id} verb="pay" done={reload} />
              <Settle id={id} verb="fail" done={reload} />
            </>
          )
        }
      />
      {error !== undefined && <Fault error={error} retry={reload} />}
      {data === undefined ? (
        error === undefined && <Loading />
      ) : (
        <>
          <Part title="Invoice">
            <Facts
              of={[
                ["Amount", money(data.amount, data.currency)],
                ["Number", `${data.number} of its organization`],
                [
                  "Customer",
                  <Link to={`/organizations/${data.organizationId}`}>
                    <bdi>{data.customerName}</bdi>
                  </Link>
                ],
                ["Address", data.customerEmail === null ? "none" : <bdi>{data.customerEmail}</bdi>],
                ["Created", <Time at={data.createdAt} />],
                data.failedAt !== null && ["Payment failed", <Time at={data.failedAt} />]
              ]}
            />
            <Age of={loaded} seconds={5} />
          </Part>
          <Part title="Document">
            {data.pdfUrl === null ? (
              <div class="actions">
                <Act
                  word="Make the PDF"
                  act={async () => {
                    file.value = await fileOf(`/admin/v1/invoices/${encodeURIComponent(id)}/document`)
                  }}
                />
                <span role="status">
                  {file.value !== "" && (
                    <a href={file.value} download={`${id}.pdf`}>
                      Download {id}.pdf
                    </a>
                  )}
                </span>
              </div>
            ) : (
              <p>
                <a href={data.pdfUrl} target="_blank" rel="noreferrer">
                  Open it at the service that takes payments
                </a>
              </p>
            )}
          </Part>
        </>
      )}
    </>
  )
}
