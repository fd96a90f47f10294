#!/usr/bin/env node
/**
 * The command of a checkout and of the package. In a checkout it runs on the Node that is installed with the sources: the one
 * that was called may be too old for them. It starts the bundle of the program (`program.js`); where there is none and
 * none can be made, the modules themselves.
 * Plain JavaScript that old versions of Node read too.
 */
import { spawn } from "node:child_process"
import { existsSync, readFileSync, realpathSync } from "node:fs"
import { constants } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { builtProgram, ensureProgram, helpFile, startFile } from "./program.js"

const at = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url))
const args = process.argv.slice(2)
// The package has the sources too, for editors and debuggers.
const inCheckout = existsSync(at("tsconfig.json"))
const modules = at(inCheckout ? "src/main.ts" : "dist/main.js")
const pinned = at("node_modules/.bin/node")

/** What `engines` in package.json says. */
const isNewEnough = () => {
  const [major, minor] = process.versions.node.split(".").map(Number)
  return major > 22 || (major === 22 && minor >= 19)
}

/** Rules of a user's file share the modules of the package with the program that plays them, which a bundle does not. */
const needsModules = args[0] === "simulate" && args.some((arg) => arg === "--file" || arg.startsWith("--file="))

const packaged = at(`dist/program/${startFile}`)

/** The file to start. A checkout whose sources have changed makes its bundle first. */
const programFile = async () => {
  if (needsModules) return modules
  if (!inCheckout) return existsSync(packaged) ? packaged : modules
  try {
    return await ensureProgram()
  } catch {
    // A source that does not compile says so itself when it is loaded; without the bundler there is no bundle.
    return modules
  }
}

/** Runs a file in a process of its own, and ends as it ends. */
const runPinned = (file) => {
  const child = spawn(pinned, [file, ...args], { stdio: "inherit" })
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

/** Version and help are asked for again and again, by scripts too, and need no program. Undefined where it has to answer itself. */
const knownAnswer = () => {
  if (args.length !== 1) return undefined
  if (args[0] === "--version" || args[0] === "-v" || args[0] === "version")
    return `sluice ${JSON.parse(readFileSync(at("package.json"), "utf8")).version}\n`
  if (args[0] !== "--help" && args[0] !== "-h" && args[0] !== "help") return undefined
  const start = inCheckout ? builtProgram() : packaged
  const help = start === undefined ? undefined : join(dirname(start), helpFile)
  return help !== undefined && existsSync(help) ? readFileSync(help, "utf8") : undefined
}

const answer = knownAnswer()
if (answer !== undefined) {
  // As in `src/cli/watchOutput.ts`.
  process.stdout.on("error", ({ code, message }) => {
    process.exitCode = 1
    if (code !== "EPIPE") console.error(`The output could not be written: ${message}`)
  })
  process.stdout.write(answer)
} else if (inCheckout && !existsSync(at("node_modules/effect"))) fail("Nothing is installed here: run npm ci first.")
else if (inCheckout && existsSync(pinned) && !isRunBy(pinned))
  // The pinned Node makes the bundle: the one that runs here may not load the bundler.
  runPinned(needsModules ? modules : (builtProgram() ?? at("bin/sluice.js")))
else if (!isNewEnough()) fail(`Node ${process.versions.node} is too old: at least 22.19 is needed.`)
else await import(pathToFileURL(await programFile()).href)
