/** Finds the addresses that a mail of the local mailbox leads to or loads (docs/handoff.md, 3.4). Pure. */
import type { Message } from "../../Message.ts"
import { decodeEntities, htmlPieces } from "./htmlPieces.ts"

/** Most different links of a mail that are listed and checked. */
export const maximumLinks = 100

/** The longest link, in characters; a longer one is not listed. */
const maximumLinkLength = 2_000

export interface MailLink {
  readonly url: string
  /** `link`: somebody clicks on it. `resource`: a mail program loads it, such as a picture. */
  readonly kind: "link" | "resource"
  readonly in: ReadonlyArray<"html" | "text">
}

export interface MailLinks {
  readonly links: ReadonlyArray<MailLink>
  /** How many different links the mail has, those beyond the bound included. */
  readonly total: number
}

// Behind a bounded name, so that no text makes the search slow.
const attribute = /(?<=[\s"'/])(href|src|background|poster)\s{0,8}=\s{0,8}(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))/gi

/** Elements whose `href` is followed, not loaded. */
const followed = /^(?:a|area)[\s/]/i

const inText = /\bhttps?:\/\/[^\s<>"'`{}|\\^]{1,2000}/gi

/** An address without the punctuation of the sentence around it. */
const trimmed = (url: string): string => {
  const bare = url.replace(/[.,;:!?*_~]{1,20}$/, "")
  return bare.endsWith(")") && !bare.includes("(") ? trimmed(bare.slice(0, -1)) : bare
}

const isListed = (url: string): boolean => /^(?:https?:\/\/|mailto:|tel:)/i.test(url) && url.length <= maximumLinkLength

/** The links of a message, each once, in the order in which they come. */
export const linksOf = ({ html, text }: Pick<Message, "html" | "text">): MailLinks => {
  const links = new Map<string, { readonly kind: MailLink["kind"]; readonly in: Set<"html" | "text"> }>()
  const add = (url: string, kind: MailLink["kind"], place: "html" | "text") => {
    if (!isListed(url)) return
    const before = links.get(url)
    if (before !== undefined) before.in.add(place)
    else links.set(url, { kind, in: new Set([place]) })
  }
  for (const piece of html === null ? [] : htmlPieces(html)) {
    if (!("tag" in piece)) continue
    const isFollowed = followed.test(piece.tag)
    for (const [, name, double, single, bare] of piece.tag.matchAll(attribute)) {
      const url = decodeEntities(double ?? single ?? bare ?? "").trim()
      add(url, isFollowed && name!.toLowerCase() === "href" ? "link" : "resource", "html")
    }
  }
  for (const [found] of (text ?? "").matchAll(inText)) add(trimmed(found), "link", "text")
  return {
    links: [...links].slice(0, maximumLinks).map(([url, { in: places, kind }]) => ({ url, kind, in: [...places] })),
    total: links.size
  }
}
