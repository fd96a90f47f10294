/** Asks the local mailbox of the server that the page was loaded from. Every request has a deadline. */
import type { LinkResult } from "../../send/handoff/mailbox/LinkChecks.ts"
import type { MailLinks } from "../../send/handoff/mailbox/mailLinks.ts"
import type { MailDetail, MailSummary } from "../../send/handoff/mailbox/mailShapes.ts"
import { ApiError } from "../api.ts"

export type { LinkResult, MailDetail, MailLinks, MailSummary }

export const mailboxPath = "/dev/mailbox"

/** Checking links takes longest, 20 seconds. */
const deadlineMillis = 30_000

export interface MailList {
  readonly data: ReadonlyArray<MailSummary>
  readonly matched: number
  readonly total: number
  readonly unread: number
  readonly nextCursor: string | null
  readonly gone: number
  readonly bounds: { readonly mails: number; readonly characters: number }
}

const errorOf = (status: number, text: string): ApiError => {
  try {
    const { error } = JSON.parse(text) as { readonly error: { readonly code: string; readonly message: string } }
    return new ApiError(status, error.code, error.message)
  } catch {
    return new ApiError(status, `http_${status}`, `The server answered ${status}.`)
  }
}

const send = async (method: string, path: string): Promise<string> => {
  let response: Response
  try {
    response = await fetch(path, {
      method,
      headers: { accept: "application/json" },
      signal: AbortSignal.timeout(deadlineMillis)
    })
  } catch {
    throw new ApiError(0, "unreachable", "The platform cannot be reached.")
  }
  const text = await response.text()
  if (!response.ok) throw errorOf(response.status, text)
  return text
}

// The server writes these shapes.
const ask = async <A>(method: string, path: string): Promise<A> => JSON.parse(await send(method, path)) as A

/** The address of a mail, or of a part of it. */
export const mailPath = (id: string, part = ""): string => `${mailboxPath}/${encodeURIComponent(id)}${part}`

/** The mails of a change: some, or all. */
const selectionOf = (ids: ReadonlyArray<string> | "all"): string =>
  ids === "all" ? "all=true" : ids.map((id) => `id=${encodeURIComponent(id)}`).join("&")

/** Most ids of one request: an address has a length. */
const idsOfRequest = 100

const inParts = async (ids: ReadonlyArray<string> | "all", change: (selection: string) => Promise<unknown>) => {
  if (ids === "all") await change(selectionOf(ids))
  else for (let at = 0; at < ids.length; at += idsOfRequest) await change(selectionOf(ids.slice(at, at + idsOfRequest)))
}

export const listMails = (query: string, limit: number): Promise<MailList> =>
  ask("GET", `${mailboxPath}?${new URLSearchParams({ q: query, limit: String(limit) })}`)

export const readMail = (id: string): Promise<MailDetail> => ask("GET", mailPath(id))
export const readSource = (id: string): Promise<string> => send("GET", mailPath(id, "/source"))
export const readLinks = (id: string): Promise<MailLinks> => ask("GET", mailPath(id, "/links"))

export const checkLinks = (id: string): Promise<{ readonly results: ReadonlyArray<LinkResult> }> =>
  ask("POST", mailPath(id, "/links"))

export const markMails = (ids: ReadonlyArray<string> | "all", isRead: boolean): Promise<void> =>
  inParts(ids, (selection) => ask("PATCH", `${mailboxPath}?${selection}&read=${isRead}`))

export const deleteMails = (ids: ReadonlyArray<string> | "all"): Promise<void> =>
  inParts(ids, (selection) => ask("DELETE", `${mailboxPath}?${selection}`))
