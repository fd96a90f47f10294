/** Shows the mode of a session, lets a member choose it, and marks test mode on every view. */
import { enter } from "../enter.ts"
import { go, place } from "../router.ts"
import { chooseMode, type Mode, session, shownMode } from "../session.ts"

const modes: ReadonlyArray<readonly [mode: Mode, word: string]> = [
  ["live", "Live"],
  ["test", "Test"]
]

const choose = async (mode: Mode): Promise<void> => {
  chooseMode(mode)
  await enter()
  // An object of one mode is unknown in the other one, and so are filters by it.
  const [, section = ""] = place.value.split("/")
  go(`/${section}`, { replace: true })
}

/** For a member who has both modes; who signed in with a key is told that it has one. */
export const ModeSwitch = () => {
  const { value } = session
  if (value == null) return null
  if (value.modes.length < 2)
    return <p class="note">{value.keyId.startsWith("key_") ? "A key sees" : "This session sees"} its own mode only.</p>
  return (
    <fieldset class="modes">
      <legend class="hidden">Mode</legend>
      {modes.map(([mode, word]) => (
        <label key={mode} class={mode}>
          <input
            type="radio"
            name="mode"
            class="hidden"
            checked={value.mode === mode}
            onChange={() => void choose(mode)}
          />
          {word}
        </label>
      ))}
    </fieldset>
  )
}

/** Says on every view of test mode that nothing here is real. */
export const TestMark = () =>
  shownMode() === "test" ? (
    <p class="test-mark" role="note">
      <strong>Test mode</strong> <span>Mail of this mode reaches nobody, and nothing of it counts as live.</span>
    </p>
  ) : null
