/** Shows the types of the catalogue that patterns match, before and after they are saved. */
import { useSignal } from "@preact/signals"
import { type Answer, ask, get } from "../api.ts"
import { hasScope } from "../session.ts"
import { Chip, Fault, Field, Json, Loading } from "../ui/basics.tsx"
import { Table } from "../ui/lists.tsx"
import { useAct, useLoad } from "../usePages.ts"
import { type EndpointShown, patternsOf } from "./endpoints.tsx"

type Described = Answer<"GET", "/v1/events/types">["data"]

const Types = ({ caption, types }: { readonly caption: string; readonly types: Described }) => (
  <Table
    caption={caption}
    items={types}
    keyOf={({ type }) => type}
    columns={[
      { head: "Type", isName: true, cell: ({ type }) => <span class="mono type">{type}</span> },
      {
        head: "Matches",
        cell: ({ matches }) => <Chip state={matches ? "ok" : "none"} word={matches ? "Yes" : "No"} />
      },
      {
        head: "What it is",
        cell: ({ description, example, type }) => (
          <>
            {description}
            <details>
              <summary>Example</summary>
              <Json value={example} label={`Example of ${type}`} />
            </details>
          </>
        )
      }
    ]}
  />
)

export const PatternTester = ({ endpoint, done }: { readonly endpoint: EndpointShown; readonly done: () => void }) => {
  const typed = useSignal(endpoint.enabled_events.join(" "))
  const tried = useSignal<ReadonlyArray<string>>(endpoint.enabled_events)
  const { data, error } = useLoad(
    () => get("/v1/events/types", { query: { pattern: tried.value } }),
    [tried.value.join(" ")]
  )
  const { error: refused, isBusy, run } = useAct()
  const isChanged = tried.value.join(" ") !== endpoint.enabled_events.join(" ")
  const save = () =>
    run(async () => {
      const params = { id: endpoint.id }
      await ask("PATCH", "/v1/webhooks/:id", { params, body: { enabled_events: [...tried.value] } })
      done()
    })
  return (
    <>
      <form
        class="inline"
        onSubmit={(event) => {
          event.preventDefault()
          tried.value = patternsOf(typed.value)
        }}
      >
        <Field
          label="Patterns"
          value={typed.value}
          onInput={(event) => {
            typed.value = event.currentTarget.value
          }}
        />
        <button type="submit">Try</button>
        {hasScope("platform:webhooks:manage") && isChanged && error === undefined && (
          <button type="button" class="primary" aria-busy={isBusy} onClick={() => void save()}>
            Save for this endpoint
          </button>
        )}
      </form>
      <Fault error={error ?? refused} />
      {data === undefined && error === undefined && <Loading />}
      {data !== undefined && (
        <>
          <p role="status" class="note">
            {data.data.filter(({ matches }) => matches).length} of {data.data.length} types match.
          </p>
          <Types types={data.data.filter(({ matches }) => matches)} caption="Types that match" />
          <details>
            <summary>Types that do not match</summary>
            <Types types={data.data.filter(({ matches }) => !matches)} caption="Types that do not match" />
          </details>
        </>
      )}
    </>
  )
}
