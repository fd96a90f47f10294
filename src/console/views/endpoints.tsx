/** Lists the webhook endpoints. */
import { type Signal, useSignal } from "@preact/signals"
import { type Answer, get, post } from "../api.ts"
import { hasScope, portal } from "../session.ts"
import { Chip, Code, Command, Empty, Fault, Field, Head, Link, Loading, Part, Time } from "../ui/basics.tsx"
import { Act, FormDialog, Opener } from "../ui/dialog.tsx"
import { Table } from "../ui/lists.tsx"
import { useLoad, useRefresh } from "../usePages.ts"

export type EndpointShown = Answer<"GET", "/v1/webhooks/:id">

/** The state of an endpoint in a word. */
export const stateOf = ({ consecutive_failures, is_active, is_paused }: EndpointShown): string =>
  !is_active ? "disabled" : is_paused ? "paused" : consecutive_failures > 0 ? "failing" : "active"

/** Ends a pause, and sends what was missed where that is wanted. */
export const Unpause = ({ endpoint, done }: { readonly endpoint: EndpointShown; readonly done: () => void }) => {
  const replay = useSignal(true)
  return (
    <Opener word="Unpause" label={`Unpause ${endpoint.url}`} kind="primary">
      {(close) => (
        <FormDialog
          title="Unpause this endpoint"
          verb="Unpause"
          onClose={close}
          act={async () => {
            await post("/v1/webhooks/:id/unpause", { params: { id: endpoint.id }, body: { replay: replay.value } })
            done()
          }}
        >
          <p>
            Its failures count from 0 again, and {endpoint.pending.toLocaleString()} deliveries that wait go on to{" "}
            <span class="mono">{endpoint.url}</span>.
          </p>
          <label class="check">
            <input
              type="checkbox"
              checked={replay.value}
              onChange={(event) => {
                replay.value = event.currentTarget.checked
              }}
            />
            Also send what it missed since the pause
          </label>
        </FormDialog>
      )}
    </Opener>
  )
}

export const patternsOf = (text: string): ReadonlyArray<string> => text.split(/[\s,]+/).filter((one) => one !== "")

/** The fields of an endpoint that is made or changed. */
export const EndpointFields = ({
  description,
  patterns,
  url
}: Readonly<Record<"description" | "patterns" | "url", Signal<string>>>) => (
  <>
    <Field
      label="Address"
      type="url"
      required
      placeholder="https://example.com/hook"
      value={url.value}
      onInput={(event) => {
        url.value = event.currentTarget.value
      }}
    />
    <Field
      label="Events"
      required
      hint={
        portal.value === null
          ? "Patterns such as send.* or telco.lookup.completed, with spaces between them; * for all."
          : `Patterns or types of these, with spaces between them: ${portal.value.types.join(" ")}`
      }
      value={patterns.value}
      onInput={(event) => {
        patterns.value = event.currentTarget.value
      }}
    />
    <Field
      label="Description"
      value={description.value}
      onInput={(event) => {
        description.value = event.currentTarget.value
      }}
    />
  </>
)

/** Makes an endpoint, and shows its secret this once. */
const Create = ({ done }: { readonly done: () => void }) => {
  const url = useSignal("")
  const patterns = useSignal(portal.value?.types.join(" ") ?? "*")
  const description = useSignal("")
  const secret = useSignal("")
  const reset = () => {
    url.value = ""
    secret.value = ""
  }
  return (
    <Opener word="New endpoint" kind="primary">
      {(close) => {
        const end = () => {
          reset()
          close()
        }
        if (secret.value !== "")
          return (
            <FormDialog title="The endpoint is made" verb="I have kept the secret" onClose={end} act={async () => {}}>
              <p>This is its signing secret. It is shown this once.</p>
              <Code text={secret.value} label="Signing secret" />
            </FormDialog>
          )
        return (
          <FormDialog
            title="New endpoint"
            verb="Make it"
            onClose={end}
            act={async () => {
              const made = await post("/v1/webhooks", {
                body: {
                  url: url.value,
                  enabled_events: patternsOf(patterns.value),
                  ...(description.value === "" ? {} : { description: description.value })
                }
              })
              secret.value = made.signing_secret
              done()
              return true
            }}
          >
            <EndpointFields url={url} patterns={patterns} description={description} />
          </FormDialog>
        )
      }}
    </Opener>
  )
}

const List = ({
  endpoints,
  reload
}: {
  readonly endpoints: ReadonlyArray<EndpointShown>
  readonly reload: () => void
}) => {
  const manages = hasScope("platform:webhooks:manage")
  return (
    <Table
      caption="Endpoints"
      items={endpoints}
      keyOf={({ id }) => id}
      columns={[
        {
          head: "Endpoint",
          isName: true,
          cell: (one) => (
            <>
              <Link to={`/endpoints/${one.id}`}>{one.url}</Link>
              <span class="sub line">{one.description ?? one.enabled_events.join(" ")}</span>
              {one.label !== null && portal.value === null && <span class="sub line">of {one.label}</span>}
            </>
          )
        },
        { head: "State", cell: (one) => <Chip state={stateOf(one)} /> },
        { head: "Failures", isFigure: true, cell: (one) => `${one.consecutive_failures} of 10` },
        {
          head: "Waiting",
          isFigure: true,
          cell: (one) => (
            <>
              {one.pending.toLocaleString()}
              {one.oldest_pending_at !== null && (
                <span class="sub">
                  oldest <Time at={one.oldest_pending_at} />
                </span>
              )}
            </>
          )
        },
        {
          head: "Last delivery",
          cell: (one) => (
            <>
              <Time at={one.last_delivery_at} />
              {one.last_delivery_status !== null && (
                <span class="sub">
                  {one.last_delivery_status === 0 ? "no answer" : `HTTP ${one.last_delivery_status}`}
                </span>
              )}
            </>
          )
        },
        {
          head: "Actions",
          cell: (one) =>
            manages && (
              <div class="actions">
                {one.is_paused && <Unpause endpoint={one} done={reload} />}
                {one.is_active && (
                  <Act
                    word="Test"
                    label={`Send a test event to ${one.url}`}
                    act={async () => {
                      await post("/v1/webhooks/:id/test", { params: { id: one.id } })
                      reload()
                    }}
                  />
                )}
              </div>
            )
        }
      ]}
    />
  )
}

export const Endpoints = () => {
  const { data, error, reload } = useLoad(() => get("/v1/webhooks"), [])
  useRefresh(["platform.webhook", "platform.test"], reload, 10_000)
  return (
    <>
      <Head
        title="Endpoints"
        note="Where events are delivered, signed and retried."
        actions={hasScope("platform:webhooks:manage") && <Create done={reload} />}
      />
      <Part title="All endpoints">
        {error !== undefined && <Fault error={error} retry={reload} />}
        {data === undefined && error === undefined && <Loading />}
        {data !== undefined && data.endpoints.length > 0 && <List endpoints={data.endpoints} reload={reload} />}
        {data?.endpoints.length === 0 && portal.value !== null && (
          <Empty title="No endpoint yet">
            <p class="note">Make one above: events are posted to its address.</p>
          </Empty>
        )}
        {data?.endpoints.length === 0 && portal.value === null && (
          <Empty title="No endpoint yet">
            <p class="note">Make one above, or with a key:</p>
            <Command
              text={`curl -X POST ${location.origin}/v1/webhooks -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' -d '{"url": "https://example.com/hook", "enabled_events": ["*"]}'`}
            />
            <p class="note">On your own machine, follow events and forward them to a program of yours:</p>
            <Command text="npx --no-install sluice listen --forward-to http://localhost:3000/hook" />
          </Empty>
        )}
      </Part>
    </>
  )
}
