/** Renders the frame of the local mailbox: the ways to the other pages, and the list or the open mail. */
import { useSignal } from "@preact/signals"
import { useEffect, useRef } from "preact/hooks"
import { nextTheme, theme } from "../theme.ts"
import { Chip } from "../ui/basics.tsx"
import { TopBar } from "../ui/topBar.tsx"
import { mailboxPath } from "./mailApi.ts"
import { MailList } from "./mailList.tsx"
import { connection, go, mails, openId } from "./mails.ts"
import { MailView } from "./mailView.tsx"

const liveWords = { live: "Connected", connecting: "Connecting", waiting: "Connecting again" } as const
const themeWords = { system: "as the system", light: "light", dark: "dark" } as const

const keys: ReadonlyArray<readonly [key: string, meaning: string]> = [
  ["/", "search"],
  ["j, k or arrows", "next and previous mail"],
  ["Enter", "open the mail"],
  ["x", "select the mail"],
  ["u", "mark as unread, or read"],
  ["Delete or #", "delete"],
  ["Escape", "back to the list"]
]

const Side = () => {
  const isOpen = useSignal(false)
  const unread = mails.value?.unread ?? 0
  return (
    <nav class="side" aria-label="Mailbox">
      <TopBar home={mailboxPath} isOpen={isOpen} />
      <div class="fold" id="menu" hidden={!isOpen.value}>
        <div class="who">
          <strong>Local mailbox</strong>
          <p class="note">Mail of this machine's development platform</p>
          <Chip state={connection.value === "live" ? "active" : "connecting"} word={liveWords[connection.value]} />
        </div>
        <ul>
          <li>
            <a href={mailboxPath} aria-current={openId.value === undefined ? "page" : undefined}>
              Mailbox{unread > 0 && <span class="note">{unread} unread</span>}
            </a>
          </li>
          <li>
            <a href="/console">Console</a>
          </li>
          <li>
            <a href="/docs">API</a>
          </li>
          <li>
            <a href="/guides/handoff">Guide</a>
          </li>
        </ul>
        <div class="foot">
          <details class="more keys">
            <summary>Keys</summary>
            <dl>
              {keys.map(([key, meaning]) => (
                <div key={key}>
                  <dt>
                    <kbd>{key}</kbd>
                  </dt>
                  <dd>{meaning}</dd>
                </div>
              ))}
            </dl>
          </details>
          <button type="button" class="plain" onClick={nextTheme}>
            Colours: {themeWords[theme.value]}
          </button>
        </div>
      </div>
    </nav>
  )
}

/** Lets plain clicks on links to mails stay in the page. */
const takeClicks = (event: MouseEvent): void => {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
    return
  const link = (event.target as Element | null)?.closest("a")
  if (link?.target !== "" || link.hasAttribute("download") || link.origin !== location.origin) return
  const [, id] = /^\/dev\/mailbox(?:\/([^/]+))?$/.exec(link.pathname) ?? []
  if (link.pathname !== mailboxPath && id === undefined) return
  event.preventDefault()
  go(id === undefined ? undefined : decodeURIComponent(id), { search: new URLSearchParams(link.search).get("q") ?? "" })
}

export const Mailbox = () => {
  const main = useRef<HTMLElement>(null)
  const isFirst = useRef(true)
  useEffect(() => {
    document.addEventListener("click", takeClicks)
    return () => document.removeEventListener("click", takeClicks)
  }, [])
  const id = openId.value
  const before = useRef<string | undefined>(undefined)
  useEffect(() => {
    // A user of the keyboard or a screen reader goes on at the new view's title, or at the mail that was open.
    if (!isFirst.current) {
      const row = id === undefined ? document.getElementById(`mail-${before.current}`) : null
      ;(row ?? main.current?.querySelector("h1"))?.focus()
    }
    isFirst.current = false
    before.current = id
  }, [id])
  return (
    <div class="shell">
      <button type="button" class="skip" onClick={() => main.current?.querySelector("h1")?.focus()}>
        Skip to the content
      </button>
      <Side />
      <main id="main" ref={main}>
        {id === undefined ? <MailList /> : <MailView key={id} id={id} />}
      </main>
    </div>
  )
}
