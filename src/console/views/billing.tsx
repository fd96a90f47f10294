/** Shows the subscription with the plans on sale, the usage and the invoices. */
import { type Answer, get, post } from "../api.ts"
import { money } from "../money.ts"
import { href, search } from "../router.ts"
import { hasScope, session } from "../session.ts"
import { Chip, Facts, Fault, Head, Loading, Meter, Part, Time } from "../ui/basics.tsx"
import { Act, FormDialog, Opener } from "../ui/dialog.tsx"
import { PagedTable } from "../ui/lists.tsx"
import { useLoad, usePages } from "../usePages.ts"

type Subscription = Answer<"GET", "/v1/billing/subscription">
type Price = Answer<"GET", "/v1/billing/prices">["data"][number]

const planWord = (plan: string): string => plan.replace("_", " ")

const Cancel = ({ done }: { readonly done: () => void }) => (
  <Opener word="Cancel it" kind="danger">
    {(close) => (
      <FormDialog
        title="Cancel the subscription?"
        verb="Cancel at the period's end"
        isDangerous
        onClose={close}
        act={async () => {
          await post("/v1/billing/cancel")
          done()
        }}
      >
        <p>It stays as it is until the period ends. Until then you can take this back.</p>
      </FormDialog>
    )}
  </Opener>
)

const Current = ({ data, done }: { readonly data: Subscription; readonly done: () => void }) => {
  const isBought = !data.id.startsWith("sub_free_")
  return (
    <Part
      title="Subscription"
      actions={
        hasScope("platform:billing:manage") &&
        isBought &&
        (data.cancelAtPeriodEnd ? (
          <Act
            word="Take the cancellation back"
            kind="primary"
            act={async () => {
              await post("/v1/billing/resume")
              done()
            }}
          />
        ) : (
          data.status !== "canceled" && <Cancel done={done} />
        ))
      }
    >
      <Facts
        of={[
          ["Plan", planWord(data.plan)],
          ["Send plan", data.sendPlan],
          [
            "State",
            <Chip
              state={data.cancelAtPeriodEnd ? "pending" : data.status}
              word={data.cancelAtPeriodEnd ? "Canceled with its period" : undefined}
            />
          ],
          ["Period", <Time at={data.currentPeriodStart} />],
          [data.cancelAtPeriodEnd ? "Ends" : "Renews", <Time at={data.currentPeriodEnd} />]
        ]}
      />
    </Part>
  )
}

/** Goes to the page on which the price is paid, and comes back here. */
const buy = async ({ id }: Price): Promise<void> => {
  const here = `${location.origin}${href("/billing")}`
  const { url } = await post("/v1/billing/checkout", {
    body: { priceId: id, successUrl: `${here}?bought=${id}`, cancelUrl: here }
  })
  location.assign(url)
}

const Buy = ({ price, isChange }: { readonly price: Price; readonly isChange: boolean }) => (
  <Opener word={isChange ? "Change to it" : "Buy"} label={`${isChange ? "Change to it" : "Buy"}: ${price.name}`}>
    {(close) => (
      <FormDialog
        title={`${isChange ? "Change to" : "Buy"} ${price.name}?`}
        verb="Go to the checkout"
        onClose={close}
        act={async () => {
          await buy(price)
          return true
        }}
      >
        <p>
          {money(price.amount, price.currency)} each {price.interval}, for {session.value?.organization.name}. You pay
          on the next page{isChange && ": the change begins a new period at the full price"}.
        </p>
        {session.value?.mode === "test" && (
          <p>You are in test mode. Both modes share the plan, so it counts for live, too.</p>
        )}
      </FormDialog>
    )}
  </Opener>
)

const Plans = ({ current }: { readonly current: Subscription }) => {
  const { data, error, reload } = useLoad(() => get("/v1/billing/prices"), [])
  if (error !== undefined) return <Fault error={error} retry={reload} />
  if (data === undefined) return <Loading />
  const isBought = !current.id.startsWith("sub_free_")
  const isCurrent = ({ plan, sendPlan }: Price) => isBought && plan === current.plan && sendPlan === current.sendPlan
  return (
    <>
      <p class="note">Both modes share plan and money. Without a subscription the free plans apply.</p>
      <ul class="plans">
        {data.data.map((price) => (
          <li key={price.id} class={isCurrent(price) ? "current" : undefined}>
            <h3>{price.name}</h3>
            <p class="price">
              {money(price.amount, price.currency)} <span class="note">each {price.interval}</span>
            </p>
            <p class="note">
              {price.requestsPerMinute.toLocaleString()} requests a minute,{" "}
              {price.emailsPerMonth === null
                ? "emails without a limit"
                : `${price.emailsPerMonth.toLocaleString()} emails a month`}
            </p>
            {isCurrent(price) ? (
              <Chip state="active" word="Yours" />
            ) : (
              hasScope("platform:billing:manage") && <Buy price={price} isChange={isBought} />
            )}
          </li>
        ))}
      </ul>
      {data.data.length === 0 && <p class="note">Nothing is on sale here.</p>}
    </>
  )
}

const Plan = () => {
  const { data, error, reload } = useLoad(() => get("/v1/billing/subscription"), [])
  if (error !== undefined) return <Fault error={error} retry={reload} />
  if (data === undefined) return <Loading />
  return (
    <>
      {search.value.get("bought") !== null && (
        <p class="why good" role="status">
          Thank you. The plan counts as soon as its payment is confirmed.
        </p>
      )}
      <Current data={data} done={reload} />
      <Part title="Plans">
        <Plans current={data} />
      </Part>
    </>
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
        { head: "Created", cell: ({ createdAt }) => <Time at={createdAt} /> },
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
