/**
 * Holds the things that measurements share during one run: a temporary folder, things made once and used by several (a prepared data
 * folder), child processes, and the undoing of all of it at the end or at a signal. Logs go to stderr, because stdout
 * belongs to the rows.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type Child, type ChildOptions, startChild } from "./child.ts"

export interface Workbench {
  /** Removed at the end. Others may enter it, as a server may run as another user. */
  readonly folder: string
  readonly log: (line: string) => void
  /** Makes something on first use and hands out the same one later. */
  readonly once: <A>(name: string, make: () => Promise<A>) => Promise<A>
  /** Starts a process that is stopped at the end if nobody did before. */
  readonly start: (command: string, args: ReadonlyArray<string>, options?: ChildOptions) => Child
}

export interface OwnedWorkbench extends Workbench {
  readonly close: () => Promise<void>
}

export const makeWorkbench = (): OwnedWorkbench => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-bench-"))
  const made = new Map<string, Promise<unknown>>()
  const children = new Set<Child>()
  return {
    folder,
    log: (line) => process.stderr.write(`${line}\n`),
    once: <A>(name: string, make: () => Promise<A>) => {
      const known = made.get(name) ?? make()
      made.set(name, known)
      // Each name is used with one type only: it is made where it is defined.
      return known as Promise<A>
    },
    start: (command, args, options) => {
      const child = startChild(command, args, options)
      children.add(child)
      void child.exited.then(() => children.delete(child))
      return child
    },
    close: async () => {
      await Promise.allSettled([...children].map((child) => child.stop()))
      rmSync(folder, { recursive: true, force: true })
    }
  }
}
