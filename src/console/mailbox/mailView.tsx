/** Shows one mail: who it is from and for, its attachments, and its content in all forms. */
import { useEffect, useLayoutEffect, useState } from "preact/hooks"
import { Chip, Copy, Facts, Fault, Loading, Part, Tabs, Time } from "../ui/basics.tsx"
import { Act } from "../ui/dialog.tsx"
import { Foreign } from "../ui/foreign.tsx"
import { Table } from "../ui/lists.tsx"
import { useLoad } from "../usePages.ts"
import {
  checkLinks,
  deleteMails,
  type LinkResult,
  type MailDetail,
  mailPath,
  markMails,
  readLinks,
  readMail,
  readSource
} from "./mailApi.ts"
import { changes, go, neighbours, placeOf, reload } from "./mails.ts"
import { useKeys } from "./useKeys.ts"

const widths = [
  ["phone", "Phone, 375"],
  ["tablet", "Tablet, 768"],
  ["desktop", "Desktop"]
] as const

const sizeOf = (bytes: number): string =>
  bytes < 1_024
    ? `${bytes} bytes`
    : bytes < 1_048_576
      ? `${(bytes / 1_024).toFixed(1)} KiB`
      : `${(bytes / 1_048_576).toFixed(1)} MiB`

/** Text that others wrote, as it stands. */
const ForeignCode = ({ text, label }: { readonly text: string; readonly label: string }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: It scrolls, so the keyboard must reach it.
  <section class="code" aria-label={label} tabIndex={0}>
    <Copy text={text} what={label} />
    <pre>
      <Foreign text={text} />
    </pre>
  </section>
)

const Rendered = ({ mail }: { readonly mail: MailDetail }) => {
  const [width, setWidth] = useState<(typeof widths)[number][0]>("desktop")
  const [isRemote, setRemote] = useState(false)
  const source = mailPath(mail.id, `/html${isRemote ? "?images=remote" : ""}`)
  return (
    <>
      <div class="mail-bar">
        <fieldset class="widths">
          <legend class="hidden">Width</legend>
          {widths.map(([value, word]) => (
            <label key={value} class="check">
              <input type="radio" name="width" checked={width === value} onChange={() => setWidth(value)} />
              {word}
            </label>
          ))}
        </fieldset>
        <label class="check">
          <input type="checkbox" checked={isRemote} onChange={(event) => setRemote(event.currentTarget.checked)} />
          Load remote pictures
        </label>
      </div>
      <p class="note">
        Without scripts and forms, and links lead nowhere: they are listed under Links.
        {!isRemote && " Nothing is loaded from elsewhere."}
      </p>
      <div class="mail-frame">
        <iframe
          key={source}
          class={`mail ${width}`}
          title="The mail's HTML"
          sandbox=""
          referrerpolicy="no-referrer"
          src={source}
        />
      </div>
    </>
  )
}

const Source = ({ id }: { readonly id: string }) => {
  const { data, error, reload: again } = useLoad(() => readSource(id), [id])
  if (error !== undefined) return <Fault error={error} retry={again} />
  return data === undefined ? <Loading /> : <ForeignCode text={data} label="Source" />
}

const Headers = ({ mail }: { readonly mail: MailDetail }) => (
  <Table
    caption="Headers"
    items={mail.allHeaders.map((header, number) => ({ ...header, number }))}
    keyOf={({ number }) => String(number)}
    columns={[
      { head: "Name", isName: true, cell: ({ name }) => <Foreign text={name} /> },
      {
        head: "Value",
        cell: ({ value }) => (
          <span class="mono">
            <Foreign text={value} />
          </span>
        )
      }
    ]}
  />
)

const outcomeWords: Readonly<Record<LinkResult["outcome"], readonly [state: string, word: string]>> = {
  ok: ["active", "Leads somewhere"],
  broken: ["failed", "Broken"],
  refused: ["paused", "Not asked"],
  unreachable: ["failed", "No answer"],
  unchecked: ["idle", "Not checked"]
}

const Links = ({ id }: { readonly id: string }) => {
  const { data, error, reload: again } = useLoad(() => readLinks(id), [id])
  const [results, setResults] = useState<ReadonlyMap<string, LinkResult>>(new Map())
  if (error !== undefined) return <Fault error={error} retry={again} />
  if (data === undefined) return <Loading />
  if (data.links.length === 0) return <p class="note">The mail has no links.</p>
  return (
    <>
      <div class="mail-bar">
        <span role="status">
          {data.total > data.links.length ? `The first ${data.links.length} of ${data.total}` : data.total} links
          {results.size > 0 &&
            `, ${[...results.values()].filter(({ outcome }) => outcome === "ok").length} lead somewhere`}
        </span>
        <Act
          word="Check the links"
          act={async () => {
            const checked = await checkLinks(id)
            setResults(new Map(checked.results.map((result) => [result.url, result])))
          }}
        />
      </div>
      <Table
        caption="Links"
        items={data.links}
        keyOf={({ url }) => url}
        columns={[
          {
            head: "Link",
            isName: true,
            cell: ({ url }) => (
              <a class="mono" href={url} target="_blank" rel="noopener noreferrer">
                <Foreign text={url} />
              </a>
            )
          },
          { head: "Kind", cell: ({ in: places, kind }) => `${kind}, ${places.join(" and ")}` },
          {
            head: "Result",
            cell: ({ url }) => {
              const result = results.get(url)
              if (result === undefined) return <span class="none">–</span>
              const [state, word] = outcomeWords[result.outcome]
              return (
                <span>
                  <Chip state={state} word={result.status === null ? word : `${word}, ${result.status}`} />
                  {(result.detail ?? result.finalUrl) !== null && (
                    <span class="sub">
                      <Foreign text={result.detail ?? `to ${result.finalUrl}`} />
                    </span>
                  )}
                </span>
              )
            }
          }
        ]}
      />
    </>
  )
}

const Attachments = ({ mail }: { readonly mail: MailDetail }) => (
  <Part title={`Attachments (${mail.attachments.length})`}>
    <ul class="files">
      {mail.attachments.map(({ bytes, contentType, filename, number, opens, path, url }) => (
        <li key={number}>
          <span>
            <strong>
              <Foreign text={filename ?? path ?? `attachment ${number + 1}`} />
            </strong>
            <span class="sub">
              {contentType}
              {bytes === null ? ", fetched at the hand-off alone" : `, ${sizeOf(bytes)}`}
            </span>
          </span>
          {url !== null && (
            <span class="buttons">
              {opens && (
                <a class="button" href={url} target="_blank" rel="noopener noreferrer">
                  Open<span class="hidden"> {filename}</span>
                </a>
              )}
              <a class="button" href={`${url}?download=true`} download>
                Download<span class="hidden"> {filename}</span>
              </a>
            </span>
          )}
        </li>
      ))}
    </ul>
  </Part>
)

const addresses = (name: string, all: ReadonlyArray<string>) =>
  all.length > 0 && ([name, <Foreign text={all.join(", ")} />] as const)

const About = ({ mail }: { readonly mail: MailDetail }) => (
  <Part title="Mail">
    <Facts
      of={[
        ["From", <Foreign text={mail.from} />],
        addresses("To", mail.to),
        addresses("Cc", mail.cc),
        addresses("Bcc", mail.bcc),
        addresses("Reply to", mail.replyTo),
        addresses("Handed over for", mail.envelope.to),
        ["Kept", <Time at={mail.capturedAt} />],
        ["Size", sizeOf(mail.bytes)],
        ["Organization", `${mail.organization}, ${mail.mode}`],
        addresses(
          "Tags",
          mail.tags.map(({ name, value }) => `${name}=${value}`)
        )
      ]}
    />
  </Part>
)

const Content = ({ mail }: { readonly mail: MailDetail }) => {
  const { html, id, text } = mail
  return (
    <Part title="Content">
      <Tabs
        label="Content"
        tabs={[
          ...(html === null ? [] : [["As shown", () => <Rendered mail={mail} />] as const]),
          ...(text === null ? [] : [["Text", () => <ForeignCode text={text} label="Text" />] as const]),
          ...(html === null ? [] : [["HTML", () => <ForeignCode text={html} label="HTML" />] as const]),
          ["Headers", () => <Headers mail={mail} />],
          ["Source", () => <Source id={id} />],
          ["Links", () => <Links id={id} />]
        ]}
      />
    </Part>
  )
}

/** Moves on after the open mail is deleted, to the older one if there is one. */
const removeMail = async (id: string): Promise<void> => {
  const { newer, older } = neighbours.value
  await deleteMails([id])
  go(older ?? newer, { replace: true })
  await reload()
}

const unreadAndBack = async (id: string): Promise<void> => {
  await markMails([id], false)
  go(undefined)
  await reload()
}

const openMail = (id: string | undefined): void => {
  if (id !== undefined) go(id)
}

const Actions = ({ mail }: { readonly mail: MailDetail }) => {
  const { id } = mail
  const { newer, older } = neighbours.value
  return (
    <div class="actions">
      <button type="button" disabled={newer === undefined} onClick={() => openMail(newer)}>
        Newer
      </button>
      <button type="button" disabled={older === undefined} onClick={() => openMail(older)}>
        Older
      </button>
      {id.startsWith("em_") && (
        <a class="button" href={`/console/emails/${encodeURIComponent(id)}`}>
          In the console
        </a>
      )}
      <a class="button" href={mailPath(`${id}.eml`)} download>
        Download
      </a>
      <Act word="Mark unread" act={() => unreadAndBack(id)} />
      <Act word="Delete" kind="danger" act={() => removeMail(id)} />
    </div>
  )
}

export const MailView = ({ id }: { readonly id: string }) => {
  const { data, error, reload: again } = useLoad(() => readMail(id), [id])
  const subject = data === undefined ? "Mail" : data.subject || "(no subject)"
  useLayoutEffect(() => {
    document.title = `${subject} · Mailbox · Sluice`
  }, [subject])
  const isUnread = data?.read === false
  useEffect(() => {
    if (isUnread) void markMails([id], true).catch(() => {})
  }, [isUnread, id])
  const change = changes.value
  useEffect(() => {
    // It may have been deleted elsewhere.
    if (change > 0) again()
  }, [change])
  const { newer, older } = neighbours.value
  useKeys({
    j: () => openMail(older),
    k: () => openMail(newer),
    ArrowRight: () => openMail(older),
    ArrowLeft: () => openMail(newer),
    u: () => void unreadAndBack(id),
    Escape: () => go(undefined),
    Delete: () => void removeMail(id),
    "#": () => void removeMail(id)
  })
  return (
    <>
      <header class="head">
        <div>
          <nav aria-label="Breadcrumb" class="trail">
            <a href={placeOf(undefined)}>Mailbox</a> /
          </nav>
          <h1 tabIndex={-1}>
            <Foreign text={subject} />
          </h1>
          <p class="note">
            <span class="mono">{id}</span> <Copy text={id} what="id" />
          </p>
        </div>
        {data !== undefined && error === undefined && <Actions mail={data} />}
      </header>
      {error !== undefined && <Fault error={error} retry={again} />}
      {data === undefined && error === undefined && <Loading />}
      {data !== undefined && error?.status !== 404 && (
        <>
          <About mail={data} />
          {data.attachments.length > 0 && <Attachments mail={data} />}
          <Content mail={data} />
        </>
      )}
    </>
  )
}
