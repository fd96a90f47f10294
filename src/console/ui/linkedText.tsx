/** Shows a text in which ids lead to what they name. */
import type { ComponentChildren } from "preact"
import { idsIn, placeOfId } from "../idPlaces.ts"
import { href } from "../router.ts"

export const LinkedText = ({ text }: { readonly text: string }) => {
  const parts: Array<ComponentChildren> = []
  let end = 0
  for (const { 0: id, index } of text.matchAll(idsIn)) {
    const place = placeOfId(id)
    if (place === undefined) continue
    parts.push(
      text.slice(end, index),
      <a key={index} href={href(place)}>
        {id}
      </a>
    )
    end = index + id.length
  }
  parts.push(text.slice(end))
  return <>{parts}</>
}
