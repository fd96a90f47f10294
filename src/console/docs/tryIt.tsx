/**
 * Sends a request from the page: as the console's session where there is one, else with a key that is typed here and
 * stays in this page's memory. Nothing of it comes into an address or a store.
 */
import { signal } from "@preact/signals"
import { useState } from "preact/hooks"
import { consoleHeaders, wordsOf } from "../api.ts"
import { Code, Fault } from "../ui/basics.tsx"
import type { Operation } from "./description.ts"

/** The console's session, as the server tells it; undefined for none. */
export interface ConsoleIdentity {
  readonly mode: string
  readonly organization: { readonly name: string }
}

export const identity = signal<ConsoleIdentity | undefined>(undefined)

/** The typed key. */
export const typedKey = signal("")

/** Asks the server whose session this browser has. */
export const askIdentity = async (): Promise<void> => {
  try {
    const response = await fetch("/v1/console/session", {
      headers: consoleHeaders(),
      signal: AbortSignal.timeout(10_000)
    })
    if (response.ok) identity.value = (await response.json()) as ConsoleIdentity
  } catch {
    // Without the session a key is asked for.
  }
}

interface Answered {
  readonly status: number
  readonly requestId: string | null
  readonly text: string
}

const deadlineMillis = 30_000

/** Most characters of an answer that are shown. */
const maximumShown = 200_000

const send = async ({ method, needsKey }: Operation, path: string, body: string): Promise<Answered> => {
  const key = typedKey.value.trim()
  const response = await fetch(path, {
    method,
    headers: {
      accept: "application/json",
      ...(body === "" ? {} : { "content-type": "application/json" }),
      ...(!needsKey ? {} : key === "" ? consoleHeaders() : { authorization: `Bearer ${key}` })
    },
    // A typed key counts alone.
    credentials: key === "" ? "same-origin" : "omit",
    signal: AbortSignal.timeout(deadlineMillis),
    ...(body === "" ? {} : { body })
  })
  const text = (await response.text()).slice(0, maximumShown)
  let shown = text
  try {
    shown = JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    // Not every answer is JSON.
  }
  return { status: response.status, requestId: response.headers.get("x-request-id"), text: shown }
}

const isStream = ({ path }: Operation): boolean => path.endsWith("/stream")

export const TryIt = ({
  operation,
  path,
  body
}: {
  readonly operation: Operation
  readonly path: string
  readonly body: string
}) => {
  const [answer, setAnswer] = useState<Answered | undefined>(undefined)
  const [error, setError] = useState("")
  const [isBusy, setBusy] = useState(false)
  const who = identity.value
  const missing = /[{}]/.test(decodeURIComponent(path.split("?", 1)[0]!))
  if (isStream(operation)) return <p class="note">This answer never ends: follow it with curl -N.</p>
  const submit = async (event: Event) => {
    event.preventDefault()
    if (isBusy) return
    setBusy(true)
    setError("")
    setAnswer(undefined)
    try {
      setAnswer(await send(operation, path, body))
    } catch (cause) {
      setError(wordsOf(cause))
    } finally {
      setBusy(false)
    }
  }
  return (
    <form onSubmit={(event) => void submit(event)}>
      {operation.needsKey && (
        <div class="field">
          <label for="key">API key</label>
          <input
            id="key"
            type="password"
            autocomplete="off"
            spellcheck={false}
            value={typedKey.value}
            placeholder={who === undefined ? "sk_test_…" : "not needed: you are signed in"}
            aria-describedby="key-hint"
            onInput={(event) => {
              typedKey.value = event.currentTarget.value
            }}
          />
          <p class="hint" id="key-hint">
            {who === undefined
              ? "It stays in this page's memory alone. Signed in to the console, you need none."
              : `Without one you act as ${who.organization.name} in ${who.mode} mode, by your session of the console.`}
          </p>
        </div>
      )}
      <div class="buttons">
        <button type="submit" class="primary" aria-busy={isBusy} disabled={missing}>
          Send {operation.method}
        </button>
        {missing && <span class="note">Fill in the path's parameters first.</span>}
      </div>
      <Fault error={error} />
      <div role="status">
        {answer !== undefined && (
          <p>
            Status <strong>{answer.status}</strong>
            {answer.requestId !== null && (
              <span class="note">
                , request <span class="mono">{answer.requestId}</span>
              </span>
            )}
          </p>
        )}
      </div>
      {answer !== undefined && answer.text !== "" && <Code text={answer.text} label="Answer" />}
    </form>
  )
}
