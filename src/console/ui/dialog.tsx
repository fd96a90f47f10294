/** Asks the reader a question in the browser's own dialog: it holds the keyboard, and Escape closes it. */
import type { ComponentChildren } from "preact"
import { useEffect, useId, useRef, useState } from "preact/hooks"
import { isViewer } from "../session.ts"
import { useAct } from "../usePages.ts"
import { Fault } from "./basics.tsx"

export const Dialog = ({
  title,
  onClose,
  children
}: {
  readonly title: string
  readonly onClose: () => void
  readonly children: ComponentChildren
}) => {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const before = document.activeElement
    dialog.current?.showModal()
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  return (
    <dialog ref={dialog} aria-labelledby={id} onClose={onClose}>
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  )
}

/** A form in a dialog: it closes when the act is done, and says why where it was not. */
export const FormDialog = ({
  title,
  verb,
  isDangerous = false,
  onClose,
  act,
  children
}: {
  readonly title: string
  readonly verb: string
  readonly isDangerous?: boolean
  readonly onClose: () => void
  /** Answers true where the dialog stays open, to show what came of it. */
  readonly act: () => Promise<unknown>
  readonly children?: ComponentChildren
}) => {
  const { error, isBusy, run } = useAct()
  const submit = (event: Event) => {
    event.preventDefault()
    if (isBusy) return
    let stays = false
    void run(async () => {
      stays = (await act()) === true
    }).then((done) => done && !stays && onClose())
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={submit}>
        {children}
        <Fault error={error} />
        <div class="buttons">
          <button type="submit" class={isDangerous ? "danger" : "primary"} aria-busy={isBusy}>
            {verb}
          </button>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  )
}

/** A button that opens a dialog. Viewers, who change nothing, have none unless it is theirs. */
export const Opener = ({
  word,
  label,
  kind = "",
  isForViewers = false,
  children
}: {
  readonly isForViewers?: boolean
  readonly word: string
  /** For whom the word alone says too little. */
  readonly label?: string
  readonly kind?: string
  readonly children: (close: () => void) => ComponentChildren
}) => {
  const [isOpen, setOpen] = useState(false)
  if (isViewer() && !isForViewers) return null
  return (
    <>
      <button type="button" class={kind} aria-label={label} onClick={() => setOpen(true)}>
        {word}
      </button>
      {isOpen && children(() => setOpen(false))}
    </>
  )
}

/** A button that acts immediately. Viewers have none. */
export const Act = ({
  word,
  label,
  kind = "",
  act
}: {
  readonly word: string
  readonly label?: string
  readonly kind?: string
  readonly act: () => Promise<unknown>
}) => {
  const { error, isBusy, run } = useAct()
  if (isViewer()) return null
  return (
    <>
      <button type="button" class={kind} aria-label={label} aria-busy={isBusy} onClick={() => !isBusy && void run(act)}>
        {word}
      </button>
      <Fault error={error} />
    </>
  )
}
