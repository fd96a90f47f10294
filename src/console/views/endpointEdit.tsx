/** Changes an endpoint: where it is, which events it gets, how fast, and what it is called. */
import { useSignal } from "@preact/signals"
import { ask } from "../api.ts"
import { Field } from "../ui/basics.tsx"
import { FormDialog, Opener } from "../ui/dialog.tsx"
import { EndpointFields, type EndpointShown, patternsOf } from "./endpoints.tsx"

const EditForm = ({
  close,
  done,
  endpoint
}: {
  readonly close: () => void
  readonly done: () => void
  readonly endpoint: EndpointShown
}) => {
  const url = useSignal(endpoint.url)
  const patterns = useSignal(endpoint.enabled_events.join(" "))
  const description = useSignal(endpoint.description ?? "")
  const rate = useSignal(endpoint.rate_limit?.toString() ?? "")
  return (
    <FormDialog
      title="Change this endpoint"
      verb="Save"
      onClose={close}
      act={async () => {
        await ask("PATCH", "/v1/webhooks/:id", {
          params: { id: endpoint.id },
          body: {
            url: url.value.trim(),
            enabled_events: [...patternsOf(patterns.value)],
            description: description.value.trim() === "" ? null : description.value.trim(),
            rate_limit: rate.value.trim() === "" ? null : Number(rate.value)
          }
        })
        done()
      }}
    >
      <EndpointFields url={url} patterns={patterns} description={description} />
      <Field
        label="Attempts per second at most"
        hint="1 to 10,000; no limit without a number."
        isFigure
        pattern="[0-9]*"
        value={rate.value}
        onInput={(event) => {
          rate.value = event.currentTarget.value
        }}
      />
    </FormDialog>
  )
}

export const Edit = ({ done, endpoint }: { readonly done: () => void; readonly endpoint: EndpointShown }) => (
  <Opener word="Edit">{(close) => <EditForm close={close} done={done} endpoint={endpoint} />}</Opener>
)
