/** Makes a mail's HTML the document of a frame (docs/handoff.md, 3.3): it runs nothing and leads nowhere. Pure. */
import type { Message } from "../../Message.ts"
import { typeOf } from "./attachmentFile.ts"

/** Styles and pictures inside the mail alone; with `remote`, pictures from anywhere too. */
export const mailPolicy = (images: "own" | "remote"): string =>
  `sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:${images === "remote" ? " https: http:" : ""}; base-uri 'none'; form-action 'none'; frame-ancestors 'self'`

/** An address of a part of the same mail (RFC 2392), in an attribute or a style. */
const partAddress = /(?<=["'(=])cid:([^"')\s>]{1,500})/gi

/** The HTML with the pictures of the mail's own parts in it. */
export const documentOf = ({ attachments, html }: Pick<Message, "attachments" | "html">): string => {
  const pictures = new Map(
    attachments.flatMap((attachment) => {
      const { content, contentId } = attachment
      const type = typeOf(attachment)
      if (content === null || contentId === null || !type.startsWith("image/")) return []
      return [[contentId, `data:${type};base64,${content.replaceAll(/\s/g, "")}`] as const]
    })
  )
  if (pictures.size === 0) return html ?? ""
  // Each picture once: a mail that names one a thousand times is not a thousand times as long.
  const used = new Set<string>()
  return (html ?? "").replaceAll(partAddress, (whole, name: string) => {
    const picture = pictures.get(name)
    if (picture === undefined || used.has(name)) return whole
    used.add(name)
    return picture
  })
}
