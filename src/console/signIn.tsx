/** Signs in: with a key, or, on the admin listener, with its credential. */
import { useSignal } from "@preact/signals"
import type { ComponentChildren } from "preact"
import { get, post } from "./api.ts"
import { enter } from "./enter.ts"
import { isOperatorConsole, isPortalOver, operator, signInReason } from "./session.ts"
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

export const SignIn = ({ mark, reason }: { readonly mark: ComponentChildren; readonly reason: ComponentChildren }) => {
  const key = useSignal("")
  const { error, isBusy, run } = useAct()
  const submit = (event: Event) => {
    event.preventDefault()
    if (!isBusy) void run(() => open(key.value.trim()))
  }
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
                : "You see what this key may see, for eight hours at most. It is not kept in the browser."
            }
          />
          <Fault error={error} />
          <button type="submit" class="primary" aria-busy={isBusy}>
            Sign in
          </button>
        </form>
      </div>
      {!isOperatorConsole && (
        <div class="part">
          <h2>No key at hand?</h2>
          <p class="note">Who runs the platform can make a link that signs you in once:</p>
          <Command text="npx --no-install sluice console --org org_…" />
          <p class="note">
            The API itself: <a href="/guides/">guides</a>, <a href="/docs">documentation</a>,{" "}
            <a href="/openapi.json">OpenAPI</a>, <a href="/v1/health">health</a>.
          </p>
        </div>
      )}
    </main>
  )
}
