/**
 * Answers that a client keeps and asks about again: a tag of what they were made from, and 304 without a body where the
 * client has that already. Needs no service.
 */
import { HttpServerResponse } from "effect/http"

/** Only who has the key may keep it, and asks again before each use. */
const privateCaching = "private, no-cache"

/** A tag of what answers are made from; the same address with the same tag has the same answer. */
export type Tag = string & { readonly Tag: unique symbol }

/** Makes a tag of text that has neither quotes nor spaces. */
export const makeTag = (text: string): Tag => `"${text}"` as Tag

/** Whether the client has what the tag stands for (RFC 9110, 13.1.2: a weak comparison, and `*` is anything). */
export const hasAlready = (ifNoneMatch: string | undefined, tag: Tag): boolean =>
  (ifNoneMatch ?? "").split(",").some((one) => {
    const given = one.trim().replace(/^W\//, "")
    return given === tag || given === "*"
  })

/** What says so with each answer, the 304 included. */
export const cachingFields = (tag: Tag) => ({ etag: tag, "cache-control": privateCaching })

/** JSON with its tag. */
export const taggedJson = (bytes: Uint8Array, tag: Tag): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.uint8Array(bytes, { contentType: "application/json", headers: cachingFields(tag) })

/** What a client is told that has it already. */
export const notModified = (tag: Tag): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.empty({ status: 304, headers: cachingFields(tag) })
