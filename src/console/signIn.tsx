/** Signs in: by a link that is mailed, with a key, or, on the admin listener, with its credential. */
import { useSignal } from "@preact/signals"
import type { ComponentChildren } from "preact"
import { get, post } from "./api.ts"
import { enter } from "./enter.ts"
import {
  chooseMode,
  isChoosing,
  isOperatorConsole,
  isPortalOver,
  operator,
  session,
  signInReason,
  waitingLink
} from "./session.ts"
import { Command, Fault, Field } from "./ui/basics.tsx"
import { useAct } from "./usePages.ts"

const open = async (key: string): Promise<void> => {
  signInReason.value = ""
  if (isOperatorConsole) {
    await post("/admin/v1/console/sessions", { body: { key } })
    operator.value = await get("/admin/v1/console/session")
  } else {
    await post("/v1/console/sessions", { body: { key } })
    await enter()
  }
}

type Mark = { readonly mark: ComponentChildren }

/** Asks for a link by address. What it says is the same for every address. */
const ByAddress = () => {
  const email = useSignal("")
  const asked = useSignal("")
  const { error, isBusy, run } = useAct()
  const submit = (event: Event) => {
    event.preventDefault()
    const to = email.value.trim()
    if (isBusy) return
    asked.value = ""
    signInReason.value = ""
    void run(async () => {
      await post("/v1/console/sign-in-links", { body: { email: to } })
      asked.value = to
    })
  }
  return (
    <form onSubmit={submit}>
      <Field
        label="Email address"
        type="email"
        required
        value={email.value}
        onInput={(event) => {
          email.value = event.currentTarget.value
        }}
        hint="For members of an organization: we mail a link that signs you in."
      />
      <Fault error={error} />
      {asked.value !== "" && (
        <p role="status">
          If <strong>{asked.value}</strong> is a member, a link is on its way. It works once, for 15 minutes.
        </p>
      )}
      <button type="submit" class="primary" aria-busy={isBusy}>
        Mail me a link
      </button>
    </form>
  )
}

/** Opens a session with a key, or with the credential of an operator. */
const ByKey = () => {
  const key = useSignal("")
  const { error, isBusy, run } = useAct()
  const submit = (event: Event) => {
    event.preventDefault()
    if (!isBusy) void run(() => open(key.value.trim()))
  }
  return (
    <form onSubmit={submit}>
      <Field
        label={isOperatorConsole ? "Admin credential" : "API key"}
        type="password"
        required
        placeholder={isOperatorConsole ? "adm_…" : "sk_live_…"}
        value={key.value}
        onInput={(event) => {
          key.value = event.currentTarget.value
        }}
        hint={
          isOperatorConsole
            ? "SLUICE_ADMIN_KEY, or the one in the data folder."
            : "You see what this key may see, in its mode, for eight hours at most. It is not kept in the browser."
        }
      />
      <Fault error={error} />
      <button type="submit" class={isOperatorConsole ? "primary" : ""} aria-busy={isBusy}>
        {isOperatorConsole ? "Sign in" : "Sign in with the key"}
      </button>
    </form>
  )
}

/** A mailed link signs in when its reader says so: programs that open addresses must not use it up. */
export const AcceptLink = ({ mark }: Mark) => {
  const { error, isBusy, run } = useAct()
  const accept = async () => {
    await post("/v1/console/sessions", { body: { link: waitingLink.value } })
    chooseMode("live")
    await enter()
    isChoosing.value = (session.value?.organizations.length ?? 0) > 1
    waitingLink.value = ""
  }
  const leave = () => {
    waitingLink.value = ""
    void enter()
  }
  return (
    <main class="sign-in">
      <div class="part">
        <p class="brand">{mark} Sluice</p>
        <h1>Sign in to your console</h1>
        <p class="after">You have opened a link that was mailed to you. It works once.</p>
        <Fault error={error} />
        <div class="buttons after">
          {error === "" ? (
            <button type="button" class="primary" aria-busy={isBusy} onClick={() => !isBusy && void run(accept)}>
              Sign in
            </button>
          ) : (
            <button type="button" onClick={leave}>
              Ask for another link
            </button>
          )}
        </div>
      </div>
    </main>
  )
}

/** Lets a member of several organizations choose one. */
export const ChooseOrganization = ({ mark }: Mark) => {
  const { error, isBusy, run } = useAct()
  const choose = async (organizationId: string) => {
    if (organizationId !== session.value?.organization.id) {
      await post("/v1/console/session/organization", { body: { organizationId } })
      chooseMode("live")
      await enter()
    }
    isChoosing.value = false
  }
  return (
    <main class="sign-in">
      <div class="part">
        <p class="brand">{mark} Sluice</p>
        <h1>Choose an organization</h1>
        <p class="note after">You are signed in as {session.value?.member?.email}.</p>
        <Fault error={error} />
        <ul class="choices">
          {session.value?.organizations.map(({ id, name, role }) => (
            <li key={id}>
              <button type="button" aria-busy={isBusy} onClick={() => !isBusy && void run(() => choose(id))}>
                <strong>{name}</strong> <span class="note">{role}</span>
              </button>
            </li>
          ))}
        </ul>
      </div>
    </main>
  )
}

export const SignIn = ({ mark, reason }: Mark & { readonly reason: ComponentChildren }) => {
  if (isPortalOver.value)
    return (
      <main class="sign-in">
        <div class="part">
          <p class="brand">{mark} Sluice</p>
          <h1>Your endpoints</h1>
          {reason}
          <p>To see your endpoints again, ask for another link where you found this one.</p>
        </div>
      </main>
    )
  return (
    <main class="sign-in">
      <div class="part">
        <p class="brand">{mark} Sluice</p>
        <h1>{isOperatorConsole ? "Sign in as the operator" : "Sign in to your console"}</h1>
        {reason}
        {isOperatorConsole ? <ByKey /> : <ByAddress />}
      </div>
      {!isOperatorConsole && (
        <>
          <div class="part">
            <h2>With an API key</h2>
            <ByKey />
          </div>
          <div class="part">
            <h2>No key at hand?</h2>
            <p class="note">Who runs the platform can make a link that signs you in once:</p>
            <Command text="npx --no-install sluice console --org org_…" />
            <p class="note">
              The API itself: <a href="/guides/">guides</a>, <a href="/docs">documentation</a>,{" "}
              <a href="/openapi.json">OpenAPI</a>, <a href="/v1/health">health</a>.
            </p>
          </div>
        </>
      )}
    </main>
  )
}
