/** Keeps the shown mails: the place in the page's address, the list, and the server's word that something changed. */
import { computed, effect, signal } from "@preact/signals"
import { ApiError, wordsOf } from "../api.ts"
import { now } from "../ui/time.ts"
import { listMails, type MailList, mailboxPath } from "./mailApi.ts"

/** Mails that the list begins with, and that each further step adds. */
const pageSize = 50

/** Least pause between two loads while mails arrive. */
const refreshMillis = 250

const idHere = (): string | undefined => {
  const rest = location.pathname.slice(mailboxPath.length + 1)
  return rest === "" ? undefined : decodeURIComponent(rest)
}
const queryHere = (): string => new URLSearchParams(location.search).get("q") ?? ""

/** The open mail; undefined for the list. */
export const openId = signal(idHere())
export const query = signal(queryHere())
const limit = signal(pageSize)

export const mails = signal<MailList | undefined>(undefined)
export const listError = signal<ApiError | undefined>(undefined)
export const connection = signal<"connecting" | "live" | "waiting">("connecting")

/** Rises with each change that the server tells of. */
export const changes = signal(0)

export const selected = signal<ReadonlySet<string>>(new Set())

const arrive = (): void => {
  openId.value = idHere()
  query.value = queryHere()
}

addEventListener("popstate", arrive)

/** The address of a mail, or of the list, under the present search. */
export const placeOf = (id: string | undefined, search = query.value): string =>
  `${mailboxPath}${id === undefined ? "" : `/${encodeURIComponent(id)}`}${search === "" ? "" : `?${new URLSearchParams({ q: search })}`}`

export const go = (id: string | undefined, { replace = false, search = query.value } = {}): void => {
  history[replace ? "replaceState" : "pushState"](null, "", placeOf(id, search))
  arrive()
  if (!replace) scrollTo(0, 0)
}

export const showMore = (): void => {
  limit.value += pageSize
}

/** The neighbours of the open mail in the list. */
export const neighbours = computed((): { readonly newer: string | undefined; readonly older: string | undefined } => {
  const ids = mails.value?.data.map(({ id }) => id) ?? []
  const at = openId.value === undefined ? -1 : ids.indexOf(openId.value)
  return at === -1 ? { newer: undefined, older: undefined } : { newer: ids[at - 1], older: ids[at + 1] }
})

let turn = 0

const load = async (text: string, most: number): Promise<void> => {
  const mine = ++turn
  try {
    const found = await listMails(text, Math.min(most, 500))
    if (mine !== turn) return
    // A mail that has just come is not one of the future.
    now.value = Date.now()
    mails.value = found
    listError.value = undefined
    const left = new Set(found.data.map(({ id }) => id))
    selected.value = new Set([...selected.value].filter((id) => left.has(id)))
  } catch (cause) {
    if (mine === turn) listError.value = cause instanceof ApiError ? cause : new ApiError(0, "failed", wordsOf(cause))
  }
}

/** Loads the list again. */
export const reload = (): Promise<void> => load(query.value, limit.value)

/** Follows the mailbox until the page is closed. The browser connects again by itself. */
export const follow = (): void => {
  effect(() => {
    changes.value
    void load(query.value, limit.value)
  })
  const source = new EventSource(`${mailboxPath}/stream`)
  let timer: ReturnType<typeof setTimeout> | undefined
  source.addEventListener("open", () => {
    // Changes may have come while nobody was connected.
    if (connection.value === "waiting") changes.value++
    connection.value = "live"
  })
  source.addEventListener("error", () => {
    connection.value = "waiting"
  })
  source.addEventListener("change", () => {
    if (timer !== undefined) return
    timer = setTimeout(() => {
      timer = undefined
      changes.value++
    }, refreshMillis)
  })
}
