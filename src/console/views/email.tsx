/** Shows one email: its history, the answers of the other side, and its content. */
import { type Answer, get, post } from "../api.ts"
import { hasScope, isViewer, mailbox } from "../session.ts"
import { Chip, Code, Copy, Facts, Fault, Head, Link, Loading, Part, Tabs, Time } from "../ui/basics.tsx"
import { Act } from "../ui/dialog.tsx"
import { shownDirections } from "../ui/directions.ts"
import { bytesOf } from "../ui/figureWords.ts"
import { Foreign } from "../ui/foreign.tsx"
import { Table } from "../ui/lists.tsx"
import { wordOf } from "../ui/states.ts"
import { useLoad, useRefresh } from "../usePages.ts"
import { EmailEvents } from "./emailEvents.tsx"
import { Hold } from "./emails.tsx"
import { atMoment } from "./filters.tsx"

type Shown = Answer<"GET", "/v1/send/emails/:id">

const framePolicy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none'"

/**
 * The mail's HTML as a page of its own: no scripts, no forms, nothing loaded from anywhere. The page around it forbids
 * the same, and no frame of it may lead anywhere.
 */
const documentOf = (html: string): string =>
  `<!doctype html><meta http-equiv="Content-Security-Policy" content="${framePolicy}"><meta name="referrer" content="no-referrer">${html}`

const Content = ({ email }: { readonly email: Shown }) => {
  if (isViewer()) return <p class="note">Viewers see no contents of mail.</p>
  if (email.html === null && email.text === null)
    return <p class="note">Its content is not kept any more: it goes some time after the email's end.</p>
  const tabs: Array<readonly [string, () => preact.ComponentChildren]> = []
  const { html, text } = email
  if (html !== null) {
    tabs.push([
      "As shown",
      () => (
        <>
          <p class="note">Without scripts, and nothing is loaded from elsewhere: remote pictures stay empty.</p>
          <iframe
            class="mail"
            title="The email's HTML"
            sandbox=""
            referrerpolicy="no-referrer"
            srcdoc={documentOf(html)}
          />
        </>
      )
    ])
    tabs.push(["HTML", () => <Code text={html} label="HTML" />])
  }
  if (text !== null) tabs.push(["Text", () => <Code text={text} label="Text" />])
  return <Tabs label="Content" tabs={tabs} />
}

const Attachments = ({ of }: { readonly of: NonNullable<Shown["attachments"]> }) => (
  <Table
    caption="Attachments"
    items={of.map((one, at) => ({ ...one, at }))}
    keyOf={({ at }) => String(at)}
    columns={[
      {
        head: "File",
        isName: true,
        cell: ({ filename }) =>
          filename === null ? <span class="none">without a name</span> : <bdi>{shownDirections(filename)}</bdi>
      },
      {
        head: "Type",
        cell: ({ content_type }) =>
          (content_type === null ? undefined : <Foreign text={content_type} />) ?? <span class="none">by its name</span>
      },
      {
        head: "Size",
        isFigure: true,
        cell: ({ size }) => (size === null ? <span class="none">fetched when it is sent</span> : bytesOf(size))
      }
    ]}
  />
)

const isTrouble = (state: string): boolean => ["bounced", "complained", "failed"].includes(state)

const Timeline = ({ email }: { readonly email: Shown }) => (
  <ol class="story">
    {email.history.map((one) => (
      <li key={`${one.state} ${one.at} ${one.recipient}`} class={isTrouble(one.state) ? "trouble" : ""}>
        <strong>{wordOf(one.state)}</strong>
        {one.recipient !== undefined && (
          <>
            {" "}
            for <Foreign text={one.recipient} />
          </>
        )}{" "}
        <Time at={one.at} />
        {(one.code ?? one.kind ?? one.reason) && (
          <div class="sub mono">
            <Foreign text={[one.code, one.kind, one.reason].filter((part) => part).join(" · ")} />
          </div>
        )}
      </li>
    ))}
    {email.handoff !== null && (
      <li>
        {email.handoff.attempts === 0 ? "Waits for its first attempt" : `${email.handoff.attempts} attempts so far`}
        {email.handoff.nextAttemptAt !== null && (
          <>
            , next <Time at={email.handoff.nextAttemptAt} />
          </>
        )}
        {email.handoff.lastAnswer !== null && (
          <div class="sub mono">
            <Foreign text={email.handoff.lastAnswer} />
          </div>
        )}
      </li>
    )}
  </ol>
)

const Why = ({ email }: { readonly email: Shown }) => {
  if (email.state === "suppressed")
    return (
      <section class="why" aria-label="Why">
        <h2>Why it was not sent</h2>
        <p>
          Every recipient is on the <Link to="/suppressions">suppression list</Link>, so it counts nowhere.
        </p>
      </section>
    )
  if (email.state !== "held") return null
  return (
    <section class="why" aria-label="Why">
      <h2>Why it is held</h2>
      <p>
        <Hold email={email} />
      </p>
      <p>
        {email.held?.reason === "sending_paused" ? (
          <>
            The account's sending is paused. <Link to="/sending">See the facts behind the pause</Link>
          </>
        ) : (
          <>
            Its sender has released as many emails as its tier allows today.{" "}
            <Link to="/sending">See tiers and caps</Link>
          </>
        )}
      </p>
    </section>
  )
}

/** Each address with a name stands for itself, whatever direction its letters have. */
const list = (addresses: ReadonlyArray<string> | null) =>
  addresses?.map((address, at) => (
    <span key={address}>
      {at > 0 && ", "}
      <bdi>{shownDirections(address)}</bdi>
    </span>
  ))

export const Email = ({ params }: { readonly params: Readonly<Record<string, string>> }) => {
  const id = params.id ?? ""
  const { data, error, reload } = useLoad(() => get("/v1/send/emails/:id", { params: { id } }), [id])
  useRefresh(["send."], reload)
  const isWaiting = data !== undefined && ["queued", "held", "scheduled"].includes(data.state)
  return (
    <>
      <Head
        title={data?.subject || (data === undefined ? "Email" : "(no subject)")}
        note={
          <>
            {data !== undefined && <Chip state={data.state} />} <span class="mono">{id}</span>{" "}
            <Copy text={id} what="id" />
          </>
        }
        trail={["/emails", "Emails"]}
        actions={
          <>
            {mailbox !== undefined && data !== undefined && !isWaiting && (
              <a class="button" href={`${mailbox}/${encodeURIComponent(id)}`}>
                In the local mailbox
              </a>
            )}
            {isWaiting && (
              <Act
                word="Cancel this email"
                kind="danger"
                act={async () => {
                  await post("/v1/send/emails/:id/cancel", { params: { id } })
                  reload()
                }}
              />
            )}
          </>
        }
      />
      {error !== undefined && <Fault error={error} retry={reload} />}
      {data === undefined ? (
        error === undefined && <Loading />
      ) : (
        <>
          <Why email={data} />
          <div class="columns">
            <Part title="Email">
              <Facts
                of={[
                  ["From", data.from !== null && <bdi>{shownDirections(data.from)}</bdi>],
                  [
                    "API key",
                    data.key_id === null ? "not kept" : <Link to={`/emails?key=${data.key_id}`}>{data.key_id}</Link>
                  ],
                  ["To", list(data.to)],
                  data.cc !== null && ["Cc", list(data.cc)],
                  data.bcc !== null && ["Bcc", list(data.bcc)],
                  data.reply_to !== null && ["Reply to", list(data.reply_to)],
                  ["Accepted", <Time at={data.created_at} />],
                  data.request_id !== null &&
                    hasScope("platform:requests:read") && [
                      "Request",
                      <Link to={`/requests?requestId=${encodeURIComponent(data.request_id)}`}>{data.request_id}</Link>
                    ],
                  data.request_id === null &&
                    data.key_id !== null &&
                    hasScope("platform:requests:read") && [
                      "Request",
                      <Link to={`/requests?method=POST&key=${data.key_id}&${atMoment(Date.parse(data.created_at))}`}>
                        Requests of its key at that moment
                      </Link>
                    ],
                  data.scheduled_at !== null && ["Scheduled for", <Time at={data.scheduled_at} />],
                  data.tags !== null &&
                    data.tags.length > 0 && [
                      "Tags",
                      <Foreign text={data.tags.map(({ name, value }) => `${name}=${value}`).join(", ")} />
                    ]
                ]}
              />
            </Part>
            <Part title="What happened">
              <Timeline email={data} />
            </Part>
          </div>
          <Part title="Content">
            <Content email={data} />
          </Part>
          {data.attachments !== null && data.attachments.length > 0 && (
            <Part title="Attachments">
              <Attachments of={data.attachments} />
            </Part>
          )}
          {(hasScope("platform:events:read") || hasScope("platform:webhooks:read")) && (
            <Part title="Events and their deliveries">
              <EmailEvents id={id} state={data.state} />
            </Part>
          )}
        </>
      )}
    </>
  )
}
