/**
 * Fails a command that could not write its output: a full disk behind `> file`, or a reader that has gone, must not
 * look like an answer without rows. Node's console ignores such errors.
 */

/** Commands that print as long as they run: without a reader there is nothing left for them to do. */
const printing = new Set(["listen", "simulate"])

/**
 * Makes the process end with 1 once something could not be written to stdout. What the command does is brought to its
 * end; a server goes on.
 */
export const watchOutput = (args: ReadonlyArray<string>): void => {
  if (args[0] === "serve") return
  process.stdout.once("error", (error: NodeJS.ErrnoException) => {
    process.exitCode = 1
    // A reader that has what it wants, such as `head`, is no news.
    if (error.code !== "EPIPE") console.error(`The output could not be written: ${error.message}`)
    if (printing.has(args[0] ?? "")) process.exit(1)
    process.stdout.on("error", () => {})
  })
}
