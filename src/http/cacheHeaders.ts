/**
 * Makes answers that clients may cache (docs/directory.md, 3.7): each carries a tag of its data, and a client that has
 * that tag already gets a 304 without a body. Needs no service.
 */
import { HttpServerResponse } from "effect/http"

/** Only the holder of the key may cache the answer, and must revalidate it before each use. */
const privateCaching = "private, no-cache"

/** A tag of the data behind answers. The same address with the same tag has the same answer. */
export type Tag = string & { readonly Tag: unique symbol }

/** Makes a tag of text that has neither quotes nor spaces. */
export const makeTag = (text: string): Tag => `"${text}"` as Tag

/** Whether the client has the tagged data (RFC 9110, 13.1.2: a weak comparison, and `*` is anything). */
export const hasAlready = (ifNoneMatch: string | undefined, tag: Tag): boolean =>
  (ifNoneMatch ?? "").split(",").some((one) => {
    const given = one.trim().replace(/^W\//, "")
    return given === tag || given === "*"
  })

/** The headers of each such answer, the 304 included. */
export const cachingFields = (tag: Tag) => ({ etag: tag, "cache-control": privateCaching })

/** JSON with its tag. */
export const taggedJson = (bytes: Uint8Array, tag: Tag): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.uint8Array(bytes, { contentType: "application/json", headers: cachingFields(tag) })

/** The answer to a client that has it already. */
export const notModified = (tag: Tag): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.empty({ status: 304, headers: cachingFields(tag) })
