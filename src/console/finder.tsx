/** Opens the view of any id, and searches emails and events: one box for everything, by `/` or Ctrl-K. */
import { useEffect, useRef } from "preact/hooks"
import { placeOfId } from "./idPlaces.ts"
import { go } from "./router.ts"
import { hasScope, hasService } from "./session.ts"

/** The place that a text means; undefined if this session has none for it. */
export const placeOf = (text: string): string | undefined => {
  const view = placeOfId(text)
  if (view !== undefined) return view
  if (hasService("send")) return `/emails?search=${encodeURIComponent(text)}`
  return hasScope("platform:events:read") ? `/events?object=${encodeURIComponent(text)}` : undefined
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName))

export const Finder = ({ onFind }: { readonly onFind: () => void }) => {
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => {
    const take = (event: KeyboardEvent) => {
      const isCommand = event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey)
      const isSlash = event.key === "/" && !isTyping(event.target) && document.querySelector("dialog[open]") === null
      if (!isCommand && !isSlash) return
      event.preventDefault()
      input.current?.focus()
      input.current?.select()
    }
    document.addEventListener("keydown", take)
    return () => document.removeEventListener("keydown", take)
  }, [])
  return (
    <search>
      <form
        class="finder"
        onSubmit={(event) => {
          event.preventDefault()
          const place = placeOf(input.current?.value.trim() ?? "")
          if (place === undefined || input.current?.value.trim() === "") return
          onFind()
          go(place)
        }}
      >
        <input
          ref={input}
          type="search"
          maxLength={200}
          aria-label="Find an id, a recipient or a subject"
          aria-keyshortcuts="/ Control+K"
          placeholder="Find (press /)"
        />
      </form>
    </search>
  )
}
