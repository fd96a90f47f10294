/** Loads the data of a view by hooks: one answer, or a list page by page. No hook holds a whole list. */
import { useCallback, useEffect, useRef, useState } from "preact/hooks"
import { ApiError, wordsOf } from "./api.ts"
import { onEvent } from "./live.ts"

export interface Loaded<A> {
  readonly data: A | undefined
  /** Why there is no data, or no newer. */
  readonly error: ApiError | undefined
  readonly isLoading: boolean
  /** When the shown data was answered, in Unix milliseconds. */
  readonly loadedAt: number | undefined
  readonly reload: () => void
}

const asError = (cause: unknown): ApiError =>
  cause instanceof ApiError ? cause : new ApiError(0, "failed", wordsOf(cause))

const nothingYet = { data: undefined, error: undefined, isLoading: true, loadedAt: undefined }

/** Loads when what it depends on changes, and on `reload`. What was shown stays until the new answer is there. */
export const useLoad = <A>(load: () => Promise<A>, deps: ReadonlyArray<unknown>): Loaded<A> => {
  const [state, setState] = useState<Omit<Loaded<A>, "reload">>(nothingYet)
  const turn = useRef(0)
  const run = useCallback(() => {
    const mine = ++turn.current
    setState((before) => ({ ...before, isLoading: true }))
    load().then(
      (data) => mine === turn.current && setState({ data, error: undefined, isLoading: false, loadedAt: Date.now() }),
      (cause) => mine === turn.current && setState((before) => ({ ...before, error: asError(cause), isLoading: false }))
    )
  }, deps)
  useEffect(() => {
    setState(nothingYet)
    run()
    return () => {
      turn.current++
    }
  }, [run])
  return { ...state, reload: run }
}

/** Reloads from time to time while the page is visible: for changes without an event. */
export const usePolling = (millis: number, reload: () => void): void => {
  const latest = useRef(reload)
  latest.current = reload
  useEffect(() => {
    const timer = setInterval(() => document.visibilityState === "visible" && latest.current(), millis)
    return () => clearInterval(timer)
  }, [millis])
}

/** The least pause between two loads of a view while events arrive. */
const refreshMillis = 2_000

/** The default pause between loads without an event: rows may come later than their event. */
const withoutEventsMillis = 30_000

/**
 * Reloads after an event whose type begins so, often enough to look live and never more, and from time to time without
 * one.
 */
export const useRefresh = (
  prefixes: ReadonlyArray<string>,
  reload: () => void,
  withoutEvents = withoutEventsMillis
): void => {
  const latest = useRef(reload)
  latest.current = reload
  const key = prefixes.join(" ")
  usePolling(withoutEvents, reload)
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const stop = onEvent(({ type }) => {
      if (timer !== undefined || !prefixes.some((prefix) => type.startsWith(prefix))) return
      timer = setTimeout(() => {
        timer = undefined
        latest.current()
      }, refreshMillis)
    })
    return () => {
      stop()
      clearTimeout(timer)
    }
  }, [key])
}

export interface Page<Item> {
  readonly data: ReadonlyArray<Item>
  readonly pagination: {
    readonly hasMore: boolean
    readonly nextCursor?: string | undefined
    /** The number of items of the whole list, where it was asked for. */
    readonly total?: { readonly count: number; readonly isExact: boolean } | undefined
  }
}

export interface Paged<Item> extends Loaded<Page<Item>> {
  /** From 1. */
  readonly number: number
  readonly older: (() => void) | undefined
  readonly newer: (() => void) | undefined
}

/** Pages of a list. Of those before only the cursors are kept. */
export const usePages = <Item>(
  load: (cursor: string | undefined) => Promise<Page<Item>>,
  deps: ReadonlyArray<unknown>
): Paged<Item> => {
  const [cursors, setCursors] = useState<ReadonlyArray<string>>([])
  const key = JSON.stringify(deps)
  const before = useRef(key)
  // Another list begins at its first page.
  const current = before.current === key ? cursors : []
  useEffect(() => {
    before.current = key
    setCursors([])
  }, [key])
  const loaded = useLoad(() => load(current.at(-1)), [key, current.at(-1)])
  const next = loaded.data?.pagination.hasMore === true ? loaded.data.pagination.nextCursor : undefined
  return {
    ...loaded,
    number: current.length + 1,
    older: next === undefined ? undefined : () => setCursors([...current, next]),
    newer: current.length === 0 ? undefined : () => setCursors(current.slice(0, -1))
  }
}

/** Carries out an act of the reader: one at a time, with its error to show. */
export const useAct = (): {
  readonly isBusy: boolean
  readonly error: string
  readonly run: (act: () => Promise<unknown>) => Promise<boolean>
} => {
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState("")
  const run = async (act: () => Promise<unknown>): Promise<boolean> => {
    setBusy(true)
    setError("")
    try {
      await act()
      return true
    } catch (cause) {
      setError(wordsOf(cause))
      return false
    } finally {
      setBusy(false)
    }
  }
  return { isBusy, error, run }
}
