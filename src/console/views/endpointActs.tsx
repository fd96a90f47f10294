/** Offers the actions on an endpoint: a test, a new secret, a replay of past events. */
import { useSignal } from "@preact/signals"
import { post } from "../api.ts"
import { go } from "../router.ts"
import { portal } from "../session.ts"
import { Code, Field, Select } from "../ui/basics.tsx"
import { Act, FormDialog, Opener } from "../ui/dialog.tsx"
import { absolute } from "../ui/time.ts"
import { type EndpointShown, patternsOf } from "./endpoints.tsx"

export const Test = ({ endpoint, done }: { readonly endpoint: EndpointShown; readonly done: () => void }) => {
  const sent = useSignal("")
  return (
    <>
      {endpoint.is_active && (
        <Act
          word="Send a test"
          act={async () => {
            const { eventId } = await post("/v1/webhooks/:id/test", { params: { id: endpoint.id } })
            sent.value = eventId
            done()
          }}
        />
      )}
      <span role="status">
        {sent.value !== "" && portal.value !== null && <span class="note">Sent: see its delivery below</span>}
        {sent.value !== "" && portal.value === null && (
          <button type="button" class="plain" onClick={() => go(`/events/${sent.value}`)}>
            Sent: see the test event
          </button>
        )}
      </span>
    </>
  )
}

export const Rotate = ({ id, done }: { readonly id: string; readonly done: () => void }) => {
  const overlap = useSignal("86400")
  const made = useSignal<{ readonly secret: string; readonly until: number | null } | undefined>(undefined)
  return (
    <Opener word="Rotate secret">
      {(close) => {
        const end = () => {
          made.value = undefined
          close()
        }
        if (made.value !== undefined)
          return (
            <FormDialog title="The new signing secret" verb="I have kept it" onClose={end} act={async () => {}}>
              <p>
                It is shown this once.{" "}
                {made.value.until === null
                  ? "The one before signs no more."
                  : `The one before signs too until ${absolute(made.value.until)}.`}
              </p>
              <Code text={made.value.secret} label="Signing secret" />
            </FormDialog>
          )
        return (
          <FormDialog
            title="Give it a new signing secret"
            verb="Rotate"
            onClose={end}
            act={async () => {
              const answer = await post("/v1/webhooks/:id/rotate-secret", {
                params: { id },
                body: { overlapSeconds: Number(overlap.value) }
              })
              made.value = { secret: answer.signing_secret, until: answer.previous_secret_expires_at }
              done()
              return true
            }}
          >
            <Select
              label="The secret of today signs too for"
              value={overlap.value}
              options={[
                ["0", "not at all: it ends now"],
                ["3600", "an hour"],
                ["86400", "a day"],
                ["604800", "a week"]
              ]}
              onChange={(value) => {
                overlap.value = value
              }}
            />
          </FormDialog>
        )
      }}
    </Opener>
  )
}

const hourMillis = 3_600_000

export const Replay = ({ id, done }: { readonly id: string; readonly done: () => void }) => {
  const hours = useSignal("1")
  const types = useSignal("")
  const count = useSignal<number | undefined>(undefined)
  return (
    <Opener word="Replay">
      {(close) => {
        const end = () => {
          count.value = undefined
          close()
        }
        return (
          <FormDialog
            title="Send events of the past again"
            verb={count.value === undefined ? "Replay" : "Close"}
            onClose={end}
            act={async () => {
              if (count.value !== undefined) return
              const wanted = patternsOf(types.value)
              const answer = await post("/v1/webhooks/:id/replay", {
                params: { id },
                body: {
                  since: Date.now() - Number(hours.value) * hourMillis,
                  ...(wanted.length === 0 ? {} : { types: wanted })
                }
              })
              count.value = answer.count
              done()
              return true
            }}
          >
            <Select
              label="Events of the last"
              value={hours.value}
              options={[
                ["1", "hour"],
                ["24", "day"],
                ["168", "week"],
                ["719", "30 days"]
              ]}
              onChange={(value) => {
                hours.value = value
              }}
            />
            <Field
              label="Types"
              hint="Patterns besides its own; all without them."
              value={types.value}
              onInput={(event) => {
                types.value = event.currentTarget.value
              }}
            />
            <p role="status">{count.value !== undefined && `${count.value.toLocaleString()} events are sent again.`}</p>
          </FormDialog>
        )
      }}
    </Opener>
  )
}
