/** Acts on single keys while nobody types and no dialog is open. */
import { useEffect, useRef } from "preact/hooks"

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || target.matches("textarea, select, input:not([type=checkbox])"))

export const useKeys = (acts: Readonly<Record<string, () => void>>): void => {
  const latest = useRef(acts)
  latest.current = acts
  useEffect(() => {
    const take = (event: KeyboardEvent) => {
      const isFree = !event.ctrlKey && !event.metaKey && !event.altKey && !isTyping(event.target)
      const act = Object.hasOwn(latest.current, event.key) ? latest.current[event.key] : undefined
      if (act === undefined || !isFree || event.defaultPrevented || document.querySelector("dialog[open]")) return
      // Arrows choose among tabs there.
      if (event.key.startsWith("Arrow") && event.target instanceof Element && event.target.closest('[role="tablist"]'))
        return
      event.preventDefault()
      act()
    }
    document.addEventListener("keydown", take)
    return () => document.removeEventListener("keydown", take)
  }, [])
}
