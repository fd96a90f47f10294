#!/usr/bin/env node
/**
 * The command of a checkout and of the package. In a checkout it runs the sources, on the Node that is installed with
 * them: the one that was called may be too old to read TypeScript. In the package there is only the build.
 * Plain JavaScript that old versions of Node read too.
 */
import { spawn } from "node:child_process"
import { existsSync, realpathSync } from "node:fs"
import { constants } from "node:os"
import { fileURLToPath } from "node:url"

const at = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url))
// The package has the sources too, for editors and debuggers.
const inCheckout = existsSync(at("tsconfig.json"))
const main = inCheckout ? "src/main.ts" : "dist/main.js"
const pinned = at("node_modules/.bin/node")

/** What `engines` in package.json says. */
const isNewEnough = () => {
  const [major, minor] = process.versions.node.split(".").map(Number)
  return major > 22 || (major === 22 && minor >= 19)
}

/** Runs the command in a process of its own, and ends as it ends. */
const runPinned = () => {
  const child = spawn(pinned, [at(main), ...process.argv.slice(2)], { stdio: "inherit" })
  // A terminal's signals reach the child by themselves; whoever waits for both is told when the child has stopped.
  process.on("SIGINT", () => {})
  process.on("SIGQUIT", () => {})
  for (const signal of ["SIGTERM", "SIGHUP", "SIGUSR2"]) process.on(signal, () => child.kill(signal))
  child.on("error", (error) => fail(`${pinned} does not run: ${error.message}`))
  child.on("exit", (code, signal) => {
    process.exitCode = code === null ? 128 + constants.signals[signal] : code
  })
}

/** Links on the way to a Node say nothing about which it is. */
const isRunBy = (program) => realpathSync(program) === realpathSync(process.execPath)

const fail = (sentence) => {
  console.error(`sluice: ${sentence}`)
  process.exitCode = 1
}

if (inCheckout && !existsSync(at("node_modules/effect"))) fail("Nothing is installed here: run npm ci first.")
else if (inCheckout && existsSync(pinned) && !isRunBy(pinned)) runPinned()
else if (!isNewEnough()) fail(`Node ${process.versions.node} is too old: at least 22.19 is needed.`)
else await import(new URL(`../${main}`, import.meta.url).href)
