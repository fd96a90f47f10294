/** Shows the subscription, the usage and the invoices. */
import { get, post } from "../api.ts"
import { money } from "../money.ts"
import { hasScope } from "../session.ts"
import { Chip, Facts, Fault, Head, Loading, Meter, Part, Time } from "../ui/basics.tsx"
import { FormDialog, Opener } from "../ui/dialog.tsx"
import { PagedTable } from "../ui/lists.tsx"
import { useLoad, usePages } from "../usePages.ts"

const Plan = () => {
  const { data, error, reload } = useLoad(() => get("/v1/billing/subscription"), [])
  if (error !== undefined) return <Fault error={error} retry={reload} />
  if (data === undefined) return <Loading />
  return (
    <Part
      title="Subscription"
      actions={
        hasScope("platform:billing:manage") &&
        data.status === "active" &&
        data.plan !== "free" &&
        !data.cancelAtPeriodEnd && (
          <Opener word="Cancel it" kind="danger">
            {(close) => (
              <FormDialog
                title="Cancel the subscription?"
                verb="Cancel at the period's end"
                isDangerous
                onClose={close}
                act={async () => {
                  await post("/v1/billing/cancel")
                  reload()
                }}
              >
                <p>It stays as it is until the period ends.</p>
              </FormDialog>
            )}
          </Opener>
        )
      }
    >
      <Facts
        of={[
          ["Plan", data.plan.replace("_", " ")],
          ["Send plan", data.sendPlan],
          ["State", <Chip state={data.status} />],
          ["Period", <Time at={data.currentPeriodStart} />],
          [data.cancelAtPeriodEnd ? "Ends" : "Renews", <Time at={data.currentPeriodEnd} />]
        ]}
      />
    </Part>
  )
}

const Usage = () => {
  const usage = useLoad(() => get("/v1/billing/usage", { query: { period: "current" } }), [])
  const limits = useLoad(() => get("/v1/billing/entitlement", { query: { product: "send" } }), [])
  const error = usage.error ?? limits.error
  if (error !== undefined) return <Fault error={error} retry={usage.reload} />
  if (usage.data === undefined || limits.data === undefined) return <Loading />
  const used = usage.data.usage
  return (
    <>
      <p class="note">
        The period that ends <Time at={usage.data.period.end} />. What is looked at here is not counted.
      </p>
      <Meter label="Emails" used={used.emails} limit={limits.data.limits.emails} />
      <Meter label="API calls" used={used.apiCalls} limit={limits.data.limits.apiCalls} />
      <Meter label="Storage, bytes" used={used.storage} limit={null} />
    </>
  )
}

const Invoices = () => {
  const paged = usePages((cursor) => get("/v1/billing/invoices", { query: { cursor } }), [])
  return (
    <PagedTable
      paged={paged}
      caption="Invoices"
      keyOf={({ id }) => id}
      empty={<p class="note">No invoice yet. Free plans have none.</p>}
      columns={[
        { head: "Invoice", isName: true, cell: ({ id }) => <span class="mono">{id}</span> },
        { head: "Amount", isFigure: true, cell: ({ amount, currency }) => money(amount, currency) },
        { head: "State", cell: ({ status }) => <Chip state={status} /> },
        { head: "Made", cell: ({ createdAt }) => <Time at={createdAt} /> },
        {
          head: "Document",
          cell: ({ id, pdfUrl }) => (
            <a href={pdfUrl} target="_blank" rel="noreferrer" aria-label={`PDF of ${id}`}>
              PDF
            </a>
          )
        }
      ]}
    />
  )
}

export const Billing = () => (
  <>
    <Head title="Plan and usage" />
    <Plan />
    <Part title="Used in this period">
      <Usage />
    </Part>
    <Part title="Invoices">
      <Invoices />
    </Part>
  </>
)
