/** Shows the account's trust stage with its reasons, and the usage of every limit. */
import type { ComponentChildren } from "preact"
import { type Answer, get, post } from "../api.ts"
import { session } from "../session.ts"
import { Command, Empty, Fault, Head, Link, Loading, Meter, Part, Time } from "../ui/basics.tsx"
import { FormDialog, Opener } from "../ui/dialog.tsx"
import { useLoad, useRefresh } from "../usePages.ts"
import { EmailFigures } from "./emailFigures.tsx"

type Tenant = Answer<"GET", "/v1/send/tenants">
type Cap = Tenant["caps"]["senders"]
type Fact = Answer<"GET", "/v1/send/tenants/facts">["data"][number]

const stages = [
  ["probation", "Probation", "tight caps, until a clean window"],
  ["established", "Established", "plan limits and daily tiers"],
  ["trusted", "Trusted", "after 14 further clean days"]
] as const

const Stages = ({ tenant }: { readonly tenant: Tenant }) => {
  const isPaused = tenant.trustStage === "sending_paused"
  const at = stages.findIndex(([stage]) => stage === tenant.trustStage)
  return (
    <ol class="stages" aria-label="Stages of trust">
      {isPaused && (
        <li aria-current="step" class="bad">
          Sending paused
          <span class="note">
            since <Time at={tenant.pausedAt} />; support lifts it, and probation begins again
          </span>
        </li>
      )}
      {stages.map(([stage, word, note], index) => (
        <li key={stage} class={index < at ? "past" : ""} aria-current={index === at ? "step" : undefined}>
          {word}
          <span class="note">
            {stage === "probation" && tenant.probationEndsAt !== undefined ? (
              <>
                this window ends <Time at={tenant.probationEndsAt} />
              </>
            ) : (
              note
            )}
          </span>
        </li>
      ))}
    </ol>
  )
}

const Use = ({
  label,
  cap,
  rest
}: {
  readonly label: string
  readonly cap: Cap | undefined
  readonly rest?: ComponentChildren
}) =>
  cap === undefined ? null : (
    <Meter
      label={label}
      used={cap.used}
      limit={cap.limit}
      note={
        cap.resetsAt === null ? (
          rest
        ) : (
          <>
            resets <Time at={cap.resetsAt} />
          </>
        )
      }
    />
  )

const Caps = ({ caps }: { readonly caps: Tenant["caps"] }) => (
  <>
    <Use label="Emails this month" cap={caps.emailsPerMonth} />
    <Use label="Emails in the last hour" cap={caps.emailsPerHour} rest="rolling; one more passes now" />
    <Use label="Emails in the last 24 hours" cap={caps.emailsPerDay} rest="rolling; one more passes now" />
    <Use
      label="Recipient domains in the last hour"
      cap={caps.recipientDomainsPerHour}
      rest="rolling; one more passes now"
    />
    <Use label="Verified senders" cap={caps.senders} />
  </>
)

const triggerWords = {
  bounces: "Bounces among the first 25 emails",
  complaint: "Complaints about the first 100 emails",
  spike: "Emails in this hour, against a spike",
  risky_content: "Risky signals in the last 24 hours"
} as const

type Trigger = NonNullable<Tenant["triggers"]>[number]

/** One step before the pause (docs/platform.md, 9.4). A complaint has no step before. */
const isWarned = ({ count, limit }: Trigger): boolean =>
  count > 0 && (count * 5 >= limit * 4 || (limit <= 5 && count === limit - 1))

/** How far each trigger of a pause has come, on probation. */
const Triggers = ({ triggers }: { readonly triggers: ReadonlyArray<Trigger> }) => (
  <>
    {triggers.map((one) => (
      <Meter
        key={one.trigger}
        label={triggerWords[one.trigger]}
        used={one.count}
        limit={one.limit}
        note={isWarned(one) ? <strong>One step before sending is paused</strong> : undefined}
      />
    ))}
  </>
)

/** The facts in order; the one that paused the account is highlighted. */
const Story = ({ facts }: { readonly facts: ReadonlyArray<Fact> }) => (
  <ol class="story">
    {facts.map((one) => (
      <li
        key={`${one.sequence}.${one.index}`}
        class={(one.fact as { _tag?: string })._tag === "Paused" ? "trouble" : ""}
      >
        {one.sentence}
        <div class="sub">
          <Time at={one.decidedAt} /> · log {one.sequence}, record {one.index}
        </div>
      </li>
    ))}
  </ol>
)

const Why = ({ isPaused }: { readonly isPaused: boolean }) => {
  const { data, error, reload } = useLoad(() => get("/v1/send/tenants/facts"), [])
  useRefresh(["send."], reload)
  if (error !== undefined) return <Fault error={error} retry={reload} />
  if (data === undefined) return <Loading />
  if (isPaused)
    return (
      <section class="why bad" aria-label="Why sending is paused">
        <h2>Why sending is paused</h2>
        <Story facts={data.data} />
      </section>
    )
  return (
    <Part title="What led here">
      {data.data.length === 0 ? (
        <p class="note">Nothing was decided about this account yet.</p>
      ) : (
        <Story facts={data.data} />
      )}
    </Part>
  )
}

const Tier = ({ id }: { readonly id: string }) => {
  const { data, reload } = useLoad(() => get("/v1/send/domains/:id", { params: { id } }), [id])
  useRefresh(["send."], reload)
  if (data === undefined) return null
  const { nextTier } = data
  return (
    <div style={{ marginBottom: "14px" }}>
      <Meter
        label={`${data.name} · ${data.tier}`}
        used={data.releasedToday}
        limit={data.dailyCap}
        note={
          <>
            {data.held > 0 && <>{data.held.toLocaleString()} held until the day rolls over · </>}
            {nextTier === null
              ? "the highest tier"
              : `${nextTier.emailsMissing.toLocaleString()} emails short of ${nextTier.tier}`}{" "}
            · <Link to={`/domains/${id}`}>details</Link>
          </>
        }
      />
    </div>
  )
}

const Tiers = () => {
  const { data, error, reload } = useLoad(() => get("/v1/send/domains", { query: { limit: 10 } }), [])
  if (error !== undefined) return <Fault error={error} retry={reload} />
  if (data === undefined) return <Loading />
  if (data.data.length === 0)
    return (
      <Empty title="No domain yet">
        <Command
          text={`curl -X POST ${location.origin}/v1/send/domains -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' -d '{"name": "example.com"}'`}
        />
      </Empty>
    )
  return (
    <>
      {data.data.map(({ id }) => (
        <Tier key={id} id={id} />
      ))}
      {data.has_more && <Link to="/domains">All domains</Link>}
    </>
  )
}

const Reset = ({ done }: { readonly done: () => void }) => (
  <Opener word="Start the test account anew">
    {(close) => (
      <FormDialog
        title="Start the test account anew?"
        verb="Start anew"
        onClose={close}
        act={async () => {
          await post("/v1/send/tenants/reset")
          done()
        }}
      >
        <p>Stage, windows, triggers and month begin anew. Senders, lists and emails stay.</p>
      </FormDialog>
    )}
  </Opener>
)

export const Sending = () => {
  const { data, error, reload } = useLoad(() => get("/v1/send/tenants"), [])
  useRefresh(["send."], reload)
  const isPaused = data?.trustStage === "sending_paused"
  return (
    <>
      <Head
        title="Sending"
        note={`Send plan ${session.value?.organization.sendPlan}, ${session.value?.mode} account`}
        actions={session.value?.mode === "test" && <Reset done={reload} />}
      />
      {error !== undefined && <Fault error={error} retry={reload} />}
      {data === undefined ? (
        error === undefined && <Loading />
      ) : (
        <>
          {isPaused && <Why isPaused />}
          <Part title="Trust">
            <Stages tenant={data} />
          </Part>
          <div class="columns">
            <Part title="Limits and use">
              <Caps caps={data.caps} />
            </Part>
            <Part title="Domains today">
              <Tiers />
            </Part>
          </div>
          <EmailFigures hasDomains />
          {data.triggers !== undefined && (
            <Part title="What pauses sending">
              <Triggers triggers={data.triggers} />
            </Part>
          )}
          {!isPaused && <Why isPaused={false} />}
        </>
      )}
    </>
  )
}
