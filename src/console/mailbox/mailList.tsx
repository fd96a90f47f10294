/** Lists the mails, newest first: search, selection, and the acts on what is selected. */
import { useLayoutEffect, useRef, useState } from "preact/hooks"
import { Empty, Fault, Loading, Time } from "../ui/basics.tsx"
import { Act, FormDialog } from "../ui/dialog.tsx"
import { Foreign } from "../ui/foreign.tsx"
import { deleteMails, type MailList as Listed, type MailSummary, markMails } from "./mailApi.ts"
import { go, listError, mails, placeOf, query, reload, selected, showMore } from "./mails.ts"
import { useKeys } from "./useKeys.ts"

const toggle = (id: string): void => {
  const next = new Set(selected.value)
  if (!next.delete(id)) next.add(id)
  selected.value = next
}

const subjectOf = ({ subject }: MailSummary): string => (subject === "" ? "(no subject)" : subject)

const MailEntry = ({ mail }: { readonly mail: MailSummary }) => (
  <li class={mail.read ? "" : "unread"}>
    <input
      type="checkbox"
      checked={selected.value.has(mail.id)}
      onChange={() => toggle(mail.id)}
      aria-label={`Select ${subjectOf(mail)}`}
    />
    <a href={placeOf(mail.id)} id={`mail-${mail.id}`} data-mail={mail.id}>
      <span class="from">
        <Foreign text={mail.from} />
      </span>
      <span class="subject">
        {!mail.read && <span class="hidden">Unread: </span>}
        <Foreign text={subjectOf(mail)} />
      </span>
      <span class="to">
        to <Foreign text={mail.to.join(", ")} />
      </span>
      <span class="snippet">
        <Foreign text={mail.snippet} />
      </span>
      <span class="when">
        <Time at={mail.capturedAt} />
        {mail.attachments > 0 && <span> · {mail.attachments} attached</span>}
        {mail.mode === "test" && <span> · test</span>}
      </span>
    </a>
  </li>
)

const Search = ({ input }: { readonly input: { current: HTMLInputElement | null } }) => (
  <search>
    <form
      class="mail-search"
      onSubmit={(event) => {
        event.preventDefault()
        go(undefined, { search: input.current?.value.trim() ?? "" })
      }}
    >
      <input
        ref={input}
        type="search"
        maxLength={500}
        defaultValue={query.value}
        key={query.value}
        aria-label="Search the mails"
        aria-describedby="search-words"
        aria-keyshortcuts="/"
        placeholder="Search (press /)"
        onKeyDown={(event) => {
          if (event.key !== "Escape") return
          event.preventDefault()
          if (query.value !== "") go(undefined, { search: "" })
          event.currentTarget.blur()
        }}
      />
      <button type="submit">Search</button>
      <p class="hint" id="search-words">
        Words, or <code>from:</code> <code>to:</code> <code>subject:</code> <code>text:</code>{" "}
        <code>has:attachment</code> <code>is:unread</code> <code>before:2026-11-28</code> <code>after:</code>{" "}
        <code>-word</code> <code>"some words"</code>
      </p>
    </form>
  </search>
)

const mebibyte = 1024 * 1024

/** The bounds in words, and whether mails have gone. */
const boundsOf = ({ bounds, gone }: Listed): string =>
  `The newest ${bounds.mails} are kept, up to ${bounds.characters / mebibyte} MiB, over restarts too.${
    gone > 0 ? ` ${gone} older ones have given way since the start.` : ""
  }`

const Bar = ({ list }: { readonly list: Listed }) => {
  const ids = [...selected.value]
  const change = (act: () => Promise<void>) => async () => {
    await act()
    await reload()
  }
  return (
    <div class="mail-bar">
      <div class="check">
        <input
          type="checkbox"
          aria-label="Select all that are shown"
          checked={ids.length > 0 && ids.length === list.data.length}
          onChange={(event) => {
            selected.value = event.currentTarget.checked ? new Set(list.data.map(({ id }) => id)) : new Set()
          }}
        />
        <span role="status">
          {ids.length > 0 ? `${ids.length} selected` : `${list.matched.toLocaleString()} found`}
        </span>
      </div>
      {ids.length > 0 && (
        <div class="buttons">
          <Act word="Mark read" act={change(() => markMails(ids, true))} />
          <Act word="Mark unread" act={change(() => markMails(ids, false))} />
          <Act word="Delete selected" kind="danger" act={change(() => deleteMails(ids))} />
        </div>
      )}
    </div>
  )
}

const None = ({ list }: { readonly list: Listed }) =>
  list.total === 0 ? (
    <Empty title="No mail was handed over yet.">
      <p class="note">
        Mail appears here as soon as the platform hands it over. Send one with <code>POST /v1/send/emails</code>; the{" "}
        <a href="/guides/quickstart">quickstart</a> has a request to copy.
      </p>
    </Empty>
  ) : (
    <Empty title="No mail fits the search.">
      <p>
        <a href={placeOf(undefined, "")}>Show all {list.total}</a>
      </p>
    </Empty>
  )

/** The mail that the keyboard is at. */
const focusedId = (): string | undefined =>
  document.activeElement instanceof HTMLElement
    ? document.activeElement.closest("li")?.querySelector<HTMLElement>("[data-mail]")?.dataset.mail
    : undefined

const step = (by: 1 | -1): void => {
  const rows = [...document.querySelectorAll<HTMLElement>(".mails [data-mail]")]
  const at = rows.findIndex((row) => row.dataset.mail === focusedId())
  rows[at === -1 ? 0 : Math.max(0, Math.min(rows.length - 1, at + by))]?.focus()
}

/** Keeps the keyboard's place in the list when the mails at it are deleted. */
const deleteHere = async (): Promise<void> => {
  const here = focusedId()
  const ids = selected.value.size > 0 ? [...selected.value] : here === undefined ? [] : [here]
  if (ids.length === 0) return
  const rows = mails.value?.data.map(({ id }) => id) ?? []
  const at = here === undefined ? 0 : rows.indexOf(here)
  const left = rows.filter((id) => !ids.includes(id))
  await deleteMails(ids)
  await reload()
  requestAnimationFrame(() => document.getElementById(`mail-${left[Math.min(at, left.length - 1)]}`)?.focus())
}

const markHere = async (): Promise<void> => {
  const here = focusedId()
  const ids = selected.value.size > 0 ? [...selected.value] : here === undefined ? [] : [here]
  const first = mails.value?.data.find(({ id }) => id === ids[0])
  if (first === undefined) return
  await markMails(ids, !first.read)
  await reload()
}

export const MailList = () => {
  const input = useRef<HTMLInputElement>(null)
  const [isAsking, setAsking] = useState(false)
  const list = mails.value
  useLayoutEffect(() => {
    document.title = `${list !== undefined && list.unread > 0 ? `(${list.unread}) ` : ""}Mailbox · Sluice`
  }, [list?.unread])
  useKeys({
    "/": () => {
      input.current?.focus()
      input.current?.select()
    },
    j: () => step(1),
    k: () => step(-1),
    ArrowDown: () => step(1),
    ArrowUp: () => step(-1),
    x: () => {
      const id = focusedId()
      if (id !== undefined) toggle(id)
    },
    u: () => void markHere(),
    Delete: () => void deleteHere(),
    "#": () => void deleteHere()
  })
  return (
    <>
      <header class="head">
        <div>
          <h1 tabIndex={-1}>Mailbox</h1>
          {list !== undefined && (
            <p class="note">
              {list.total.toLocaleString()} mails, {list.unread.toLocaleString()} unread. {boundsOf(list)}
            </p>
          )}
        </div>
        {list !== undefined && list.total > 0 && (
          <div class="actions">
            <Act
              word="Mark all read"
              act={async () => {
                await markMails("all", true)
                await reload()
              }}
            />
            <button type="button" class="danger" onClick={() => setAsking(true)}>
              Delete all
            </button>
          </div>
        )}
      </header>
      <Search input={input} />
      {listError.value !== undefined && <Fault error={listError.value} retry={() => void reload()} />}
      {list === undefined && listError.value === undefined && <Loading />}
      {list !== undefined && (
        <section class="part" aria-label="Mails">
          {list.data.length === 0 ? (
            <None list={list} />
          ) : (
            <>
              <Bar list={list} />
              <ul class="mails">
                {list.data.map((mail) => (
                  <MailEntry key={mail.id} mail={mail} />
                ))}
              </ul>
              {list.nextCursor !== null && (
                <div class="pager">
                  <button type="button" onClick={showMore}>
                    Show older mails
                  </button>
                </div>
              )}
            </>
          )}
        </section>
      )}
      {isAsking && (
        <FormDialog
          title="Delete all mails?"
          verb="Delete all"
          isDangerous
          onClose={() => setAsking(false)}
          act={async () => {
            await deleteMails("all")
            await reload()
          }}
        >
          <p>{list?.total.toLocaleString()} mails go for good, those outside of the search too.</p>
        </FormDialog>
      )}
    </>
  )
}
