/**
 * `npm run test:image`: packs the package, builds both kinds of image with buildah on a base that debootstrap makes, and
 * runs each as a container does: without a network, as process 1, not as root, on a root file system that cannot be
 * written. It looks at their size, labels and users, at the first answer, at the health check, and at the end by SIGTERM.
 * What the kernel forbids, or is not installed, counts as not run. The last line is "N passed, N failed".
 */
import {
  type ChildProcess,
  type ExecFileSyncOptionsWithStringEncoding,
  execFileSync,
  spawn,
  spawnSync
} from "node:child_process"
import { chownSync, copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../../", import.meta.url))
const suite = "bookworm"
/** The user of the image. */
const user = 10_001
/** Largest size of each kind, in megabytes: with the servers, and without. */
const largest = { yes: 350, no: 250 } as const
type Embedded = keyof typeof largest

const startMillis = 60_000
const stopMillis = 40_000

let passed = 0
let failed = 0
const check = (title: string, isTrue: boolean, detail = ""): void => {
  if (isTrue) passed++
  else failed++
  console.log(`${isTrue ? "passed" : "FAILED"}  ${title}${detail === "" ? "" : `  (${detail})`}`)
}

const work = mkdtempSync(join(tmpdir(), "sluice-image-"))
const output = {
  encoding: "utf8",
  stdio: ["ignore", "pipe", "inherit"],
  maxBuffer: 64 * 1024 * 1024
} satisfies ExecFileSyncOptionsWithStringEncoding
const run = (program: string, ...args: ReadonlyArray<string>): string => execFileSync(program, args, output).trim()
const buildah = (...args: ReadonlyArray<string>): string =>
  run("buildah", "--root", join(work, "images"), "--runroot", join(work, "run"), "--storage-driver", "vfs", ...args)

const lack = (): string | undefined => {
  if (process.getuid?.() !== 0) return "root"
  for (const program of ["buildah", "debootstrap", "unshare", "nsenter", "chroot"])
    if (spawnSync("sh", ["-c", `command -v ${program}`]).status !== 0) return program
  return spawnSync("unshare", ["--mount", "--pid", "--net", "--fork", "true"]).status === 0
    ? undefined
    : "the right to make namespaces"
}

/** A Debian without anything, as the base of the images; the packages in its cache are not part of it. */
const makeBase = (): void => {
  const folder = join(work, "base")
  run("debootstrap", "--variant=minbase", suite, folder)
  // Debian's own slim image leaves these out.
  for (const part of ["var/cache/apt", "var/lib/apt/lists", "usr/share/doc", "usr/share/man", "usr/share/locale"])
    rmSync(join(folder, part), { recursive: true, force: true })
  mkdirSync(join(folder, "var/cache/apt/archives/partial"), { recursive: true })
  mkdirSync(join(folder, "var/lib/apt/lists/partial"), { recursive: true })
  const container = buildah("from", "scratch")
  buildah("add", container, folder, "/")
  buildah("commit", "--rm", container, "sluice-base")
}

/** Packs and builds; answers the image's name. */
const build = (embedded: Embedded): string => {
  const name = `sluice-embedded-${embedded}`
  const args = ["--build-arg", "BASE=localhost/sluice-base", "--build-arg", `EMBEDDED=${embedded}`]
  // A network that looks into TLS has an authority of its own, which Node has to know in the build as well.
  const authorities = process.env.NODE_EXTRA_CA_CERTS
  const npmrc = join(work, "npmrc")
  writeFileSync(npmrc, authorities === undefined ? "" : "cafile=/tmp/authorities.pem\n")
  const registry = ["--volume", `${npmrc}:/root/.npmrc:ro`]
  if (authorities !== undefined) registry.push("--volume", `${authorities}:/tmp/authorities.pem:ro`)
  const network = ["--isolation", "chroot", "--format", "docker", "--layers=false"]
  buildah("build", ...network, ...args, ...registry, "--tag", name, join(work, "context"))
  return name
}

interface Container {
  readonly child: ChildProcess
  readonly output: () => string
  /** Runs a program inside, as the user of the image. */
  readonly inside: (...args: ReadonlyArray<string>) => number | null
}

/** Starts an image at `folder` as process 1 of namespaces of its own, with a data folder and nothing else to write to. */
const start = (folder: string, data: string): Container => {
  // The image's own settings, as a runtime would take them from its configuration.
  const settings = ["NODE_ENV=production", "SLUICE_HOST=0.0.0.0", "SLUICE_DATA_DIR=/data", "HOME=/data"]
  const script = `set -e
    mount --bind ${folder} ${folder}
    mount -o remount,bind,ro ${folder}
    mount --bind ${data} ${folder}/data
    mount -t tmpfs tmpfs ${folder}/tmp
    mount -t proc proc ${folder}/proc
    mount --rbind /dev ${folder}/dev
    ip link set lo up
    exec chroot --userspec=${user}:${user} ${folder} env -i PATH=/usr/local/bin:/usr/bin:/bin ${settings.join(" ")} sluice serve`
  const child = spawn("unshare", ["--mount", "--pid", "--net", "--fork", "--kill-child", "sh", "-c", script], {
    stdio: ["ignore", "pipe", "pipe"]
  })
  let text = ""
  child.stdout.setEncoding("utf8").on("data", (data: string) => (text += data))
  child.stderr.setEncoding("utf8").on("data", (data: string) => (text += data))
  const first = () => Number(run("pgrep", "-P", String(child.pid)))
  return {
    child,
    output: () => text,
    inside: (...args) =>
      spawnSync("nsenter", [
        "-t",
        `${first()}`,
        "-m",
        "-p",
        "-n",
        "chroot",
        `--userspec=${user}:${user}`,
        folder,
        ...args
      ]).status
  }
}

const until = async (millis: number, condition: () => boolean): Promise<boolean> => {
  for (const end = Date.now() + millis; Date.now() < end; await pause(200)) if (condition()) return true
  return condition()
}

/** Signals process 1 of the container; resolves with its exit code and how long it took. */
const stop = async ({ child }: Container): Promise<readonly [code: number | null, millis: number]> => {
  const begun = Date.now()
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve))
  run("pkill", "-TERM", "-P", String(child.pid))
  const code = await Promise.race([ended, pause(stopMillis, null)])
  return [code, Date.now() - begun]
}

const ready = "fetch('http://127.0.0.1:8080/readyz').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"
const livez = ready.replace("readyz", "livez")

const tryImage = async (name: string, embedded: Embedded): Promise<void> => {
  const title = embedded === "yes" ? "with servers" : "without servers"
  const container = buildah("from", "--pull-never", name)
  const folder = buildah("mount", container)
  const megabytes = Number(run("du", "-sb", folder).split("\t")[0]) / 1e6
  check(`${title}: at most ${largest[embedded]} MB`, megabytes <= largest[embedded], `${Math.round(megabytes)} MB`)
  const { config } = JSON.parse(buildah("inspect", "--type", "image", name)).Docker
  check(`${title}: says its user`, config.User === `${user}:${user}`, config.User)
  check(`${title}: has labels`, config.Labels["org.opencontainers.image.title"] === "Sluice")
  check(`${title}: has a health check`, (config.Healthcheck?.Test ?? []).length > 0)

  const data = join(work, `data-${embedded}`)
  mkdirSync(data)
  chownSync(data, user, user)
  const started = start(folder, data)
  if (embedded === "yes") {
    const isReady = await until(startMillis, () => started.inside("node", "-e", ready) === 0)
    check(`${title}: is ready without a network`, isReady, isReady ? "" : started.output().slice(-2_000))
    check(`${title}: its health check passes`, started.inside("node", "-e", livez) === 0)
    check(`${title}: writes nothing outside of /data and /tmp`, started.inside("touch", "/opt/sluice/x") !== 0)
    const [code, millis] = await stop(started)
    check(`${title}: ends by SIGTERM as process 1`, code === 0, `exit code ${code} after ${millis} ms`)
  } else {
    const ended = await until(startMillis, () => started.child.exitCode !== null)
    const words = "PostgreSQL"
    check(`${title}: says what it needs`, ended && started.output().includes(words), started.output().slice(-500))
    started.child.kill("SIGKILL")
  }
}

const main = async (): Promise<void> => {
  const lacks = lack()
  if (lacks !== undefined) {
    console.log(`not run: images, for ${lacks} is missing`)
    return
  }
  mkdirSync(join(work, "context"))
  run("npm", "pack", "--silent", "--pack-destination", join(work, "context"), root)
  copyFileSync(join(root, "deploy/Containerfile"), join(work, "context/Containerfile"))
  check(
    "the package is packed",
    readdirSync(join(work, "context")).some((file) => file.endsWith(".tgz"))
  )
  makeBase()
  for (const embedded of ["yes", "no"] as const) await tryImage(build(embedded), embedded)
}

try {
  await main()
} catch (error) {
  check("the run comes to its end", false, error instanceof Error ? error.message : String(error))
} finally {
  rmSync(work, { recursive: true, force: true })
  console.log(`${passed} passed, ${failed} failed`)
  process.exitCode = failed > 0 ? 1 : 0
}
