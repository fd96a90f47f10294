/** Reads and changes the present view: addresses under `/console`, in the browser's history. */
import { signal } from "@preact/signals"

const base = "/console"

const here = (): string => {
  const path = location.pathname.startsWith(base) ? location.pathname.slice(base.length) : ""
  return path === "" || path === "/" ? "/" : path.replace(/\/$/, "")
}

/** The place, beginning with a slash, without `/console`. */
export const place = signal(here())
/** The part after the question mark. */
export const search = signal(new URLSearchParams(location.search))

const arrive = (): void => {
  place.value = here()
  search.value = new URLSearchParams(location.search)
}

addEventListener("popstate", arrive)

/** The address of a place. */
export const href = (to: string): string => `${base}${to === "/" ? "" : to}`

export const go = (to: string, { replace = false } = {}): void => {
  history[replace ? "replaceState" : "pushState"](null, "", href(to))
  arrive()
  if (!replace) scrollTo(0, 0)
}

/** Changes the part after the question mark. */
export const setSearch = (changes: Readonly<Record<string, string>>): void => {
  const next = new URLSearchParams(search.value)
  for (const [name, value] of Object.entries(changes)) {
    if (value === "") next.delete(name)
    else next.set(name, value)
  }
  const text = next.toString()
  go(`${place.value}${text === "" ? "" : `?${text}`}`, { replace: true })
}

/** Lets plain clicks on links into the console stay in the page. */
export const takeClicks = (event: MouseEvent): void => {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
    return
  const link = (event.target as Element | null)?.closest("a")
  if (link?.target !== "" || link.origin !== location.origin || !link.pathname.startsWith(base)) return
  event.preventDefault()
  go(`${link.pathname.slice(base.length) || "/"}${link.search}`)
}

/** The values of `:name` in a pattern; undefined if the place does not match. */
export const match = (pattern: string, at: string): Record<string, string> | undefined => {
  const wanted = pattern.split("/")
  const given = at.split("?")[0]!.split("/")
  if (wanted.length !== given.length) return undefined
  const params: Record<string, string> = {}
  for (const [index, part] of wanted.entries()) {
    if (part.startsWith(":")) params[part.slice(1)] = decodeURIComponent(given[index]!)
    else if (part !== given[index]) return undefined
  }
  return params
}
