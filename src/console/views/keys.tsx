/** Lists the organization's own keys, of the mode of the session. */
import { useSignal } from "@preact/signals"
import { type Answer, ask, get, post } from "../api.ts"
import { everyScope, hasAll, isEmpty, presetOf, presets, rightsInWords } from "../rights.ts"
import { session } from "../session.ts"
import { Chip, Code, Field, Head, Link, Part, Time } from "../ui/basics.tsx"
import { FormDialog, Opener } from "../ui/dialog.tsx"
import { PagedTable } from "../ui/lists.tsx"
import { now } from "../ui/time.ts"
import { usePages } from "../usePages.ts"

type Key = Answer<"GET", "/v1/keys">["data"][number]

const stateOf = ({ active, expiresAt }: Key): string =>
  !active ? "revoked" : expiresAt === null ? "active" : expiresAt <= now.value ? "expired" : "ends"

/** The text of a new key, this once. */
const Made = ({ text, onClose }: { readonly text: string; readonly onClose: () => void }) => (
  <FormDialog title="The key is made" verb="I have kept it" onClose={onClose} act={async () => {}}>
    <p>It is shown this once; only its digest is stored.</p>
    <Code text={text} label="API key" />
  </FormDialog>
)

const Choices = <Word extends string>({
  title,
  words,
  chosen,
  choose
}: {
  readonly title: string
  readonly words: ReadonlyArray<Word>
  readonly chosen: ReadonlyArray<Word>
  readonly choose: (chosen: ReadonlyArray<Word>) => void
}) => (
  <fieldset>
    <legend>{title}</legend>
    {words.map((word) => (
      <label key={word} class="check">
        <input
          type="checkbox"
          checked={chosen.includes(word)}
          onChange={(event) =>
            choose(event.currentTarget.checked ? [...chosen, word] : chosen.filter((one) => one !== word))
          }
        />
        <span class="mono">{word}</span>
      </label>
    ))}
  </fieldset>
)

/** The choice of a preset, or of single rights. */
const custom = "custom"

/** Rights of a new key: those of a preset that the reader may give, or some of the reader's own. */
const RightsField = ({
  own,
  chosen,
  choose
}: {
  readonly own: Pick<Key, "services" | "scopes">
  readonly chosen: Chosen
  readonly choose: (chosen: Chosen) => void
}) => (
  <>
    <fieldset class="rights">
      <legend>Rights</legend>
      {presets
        .filter(({ rights }) => hasAll(own, rights))
        .map(({ hint, name, rights }) => (
          <label key={name} class="check">
            <input
              type="radio"
              name="preset"
              checked={chosen.preset === name}
              onChange={() => choose({ preset: name, ...rights })}
            />
            <span>
              {name} <span class="note">{hint}</span>
            </span>
          </label>
        ))}
      <label class="check">
        <input
          type="radio"
          name="preset"
          checked={chosen.preset === custom}
          onChange={() => choose({ ...chosen, preset: custom })}
        />
        <span>
          Others <span class="note">Chosen one by one</span>
        </span>
      </label>
    </fieldset>
    {chosen.preset === custom && (
      <>
        <Choices
          title="Services"
          words={own.services}
          chosen={chosen.services}
          choose={(services) => choose({ ...chosen, services })}
        />
        <Choices
          title="Scopes"
          words={own.scopes.includes("*") ? everyScope : own.scopes}
          chosen={chosen.scopes}
          choose={(scopes) => choose({ ...chosen, scopes })}
        />
      </>
    )}
  </>
)

interface Chosen extends Pick<Key, "services" | "scopes"> {
  readonly preset: string
}

const nothing: Chosen = { preset: "", services: [], scopes: [] }

const Create = ({ done }: { readonly done: () => void }) => {
  const own = session.value
  const name = useSignal("")
  const chosen = useSignal<Chosen>(nothing)
  const text = useSignal("")
  return (
    <Opener word="New key" kind="primary">
      {(close) => {
        const end = () => {
          text.value = ""
          chosen.value = nothing
          close()
        }
        if (text.value !== "") return <Made text={text.value} onClose={end} />
        return (
          <FormDialog
            title={`New ${own?.mode} key`}
            verb="Make it"
            onClose={end}
            act={async () => {
              const { scopes, services } = chosen.value
              if (isEmpty(chosen.value)) throw new Error("Choose the key's rights: a key without any opens nothing.")
              const made = await post("/v1/keys", {
                body: { name: name.value === "" ? null : name.value, services: [...services], scopes: [...scopes] }
              })
              text.value = made.key
              done()
              return true
            }}
          >
            <Field
              label="Name"
              hint="What it is for."
              value={name.value}
              onInput={(event) => {
                name.value = event.currentTarget.value
              }}
            />
            <RightsField
              own={{ services: own?.services ?? [], scopes: own?.scopes ?? [] }}
              chosen={chosen.value}
              choose={(next) => {
                chosen.value = next
              }}
            />
          </FormDialog>
        )
      }}
    </Opener>
  )
}

const Rotate = ({ apiKey, done }: { readonly apiKey: Key; readonly done: () => void }) => {
  const text = useSignal("")
  return (
    <Opener word="Rotate" label={`Rotate ${apiKey.name ?? apiKey.prefix}`}>
      {(close) => {
        const end = () => {
          text.value = ""
          close()
        }
        if (text.value !== "") return <Made text={text.value} onClose={end} />
        return (
          <FormDialog
            title="Give this key a successor"
            verb="Rotate"
            onClose={end}
            act={async () => {
              const made = await post("/v1/keys/:id/rotate", { params: { id: apiKey.id }, body: {} })
              text.value = made.key
              done()
              return true
            }}
          >
            <p>The old key goes on for a day.</p>
          </FormDialog>
        )
      }}
    </Opener>
  )
}

const Revoke = ({ apiKey, done }: { readonly apiKey: Key; readonly done: () => void }) => (
  <Opener word="Revoke" label={`Revoke ${apiKey.name ?? apiKey.prefix}`} kind="danger">
    {(close) => (
      <FormDialog
        title="Revoke this key?"
        verb="Revoke it"
        isDangerous
        onClose={close}
        act={async () => {
          await ask("DELETE", "/v1/keys/:id", { params: { id: apiKey.id } })
          done()
        }}
      >
        <p>
          Whoever uses <span class="mono">{apiKey.prefix}…</span> is refused within a second.
          {apiKey.id === session.value?.keyId && " You are signed in with it, so this session ends too."}
        </p>
      </FormDialog>
    )}
  </Opener>
)

export const Keys = () => {
  const paged = usePages((cursor) => get("/v1/keys", { query: { cursor } }), [])
  return (
    <>
      <Head
        title="API keys"
        note={`Keys of ${session.value?.mode} mode. No key gives what it does not have itself.`}
        actions={<Create done={paged.reload} />}
      />
      <Part title="All keys">
        <PagedTable
          paged={paged}
          caption="API keys"
          keyOf={({ id }) => id}
          empty={<p class="note">No key yet: make one above.</p>}
          columns={[
            {
              head: "Key",
              isName: true,
              cell: ({ name, prefix }) => (
                <>
                  {name ?? "(no name)"}
                  <span class="sub mono line">{prefix}…</span>
                </>
              )
            },
            { head: "State", cell: (one) => <Chip state={stateOf(one)} /> },
            {
              head: "May",
              cell: (one) => (
                <div>
                  {rightsInWords(one).join(", ")}
                  {presetOf(one) === undefined && one.scopes.length > 0 && (
                    <span class="sub mono">{one.scopes.join(" ")}</span>
                  )}
                </div>
              )
            },
            { head: "Last used", cell: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
            { head: "Ends", cell: ({ expiresAt }) => <Time at={expiresAt} /> },
            {
              head: "Actions",
              cell: (one) =>
                one.active && (
                  <div class="actions">
                    {one.services.includes("send") && <Link to={`/emails?key=${one.id}`}>Emails</Link>}
                    <Rotate apiKey={one} done={paged.reload} />
                    <Revoke apiKey={one} done={paged.reload} />
                  </div>
                )
            }
          ]}
        />
      </Part>
    </>
  )
}
