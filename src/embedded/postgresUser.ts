/**
 * Chooses the user that runs the embedded PostgreSQL. PostgreSQL refuses root, so under root it gets a user id that
 * nothing else on the machine uses: files of `nobody` belong to every program that runs as nobody, and a program that
 * can write `pg_hba.conf` is the database's superuser. The data folder remembers that id as the cluster's owner. Needs
 * no service.
 */
import { execFile } from "node:child_process"
import { constants } from "node:fs"
import { copyFile, type FileHandle, lstat, open, readdir, readFile, rename, stat } from "node:fs/promises"
import { userInfo } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"

export interface SystemUser {
  readonly uid: number
  readonly gid: number
}

/** `nobody` on every Linux: the account that has a name everywhere, and that other programs use too. */
export const nobody: SystemUser = { uid: 65_534, gid: 65_534 }

/** Ids that Debian reserves for packages that ask for one, which few do. Every container maps ids below 65,536. */
const ownIds = { first: 62_000, count: 2_900 }

/** The output of a program, undefined if it fails or is missing. */
const answerOf = (program: string, args: ReadonlyArray<string>, user?: SystemUser): Promise<string | undefined> =>
  new Promise((resolve) =>
    execFile(program, [...args], { timeout: 10_000, cwd: "/", ...user }, (error, stdout) =>
      resolve(error === null ? stdout.trim() : undefined)
    )
  )

/** User and group ids that have a name or a process. */
const idsInUse = async (): Promise<ReadonlySet<number>> => {
  const used = new Set<number>()
  for (const file of ["/etc/passwd", "/etc/group"]) {
    for (const line of (await readFile(file, "utf8").catch(() => "")).split("\n")) used.add(Number(line.split(":")[2]))
  }
  for (const name of await readdir("/proc")) {
    if (!/^\d+$/.test(name)) continue
    const { uid, gid } = await stat(`/proc/${name}`).catch(() => ({ uid: 0, gid: 0 }))
    used.add(uid).add(gid)
  }
  return used
}

/** Whether a directory service, which files do not show, knows the id. Without `getent` there is no such service. */
const hasName = async (id: number): Promise<boolean> => {
  const [user, group] = await Promise.all(["passwd", "group"].map((table) => answerOf("getent", [table, `${id}`])))
  return user !== undefined || group !== undefined
}

/** An id that nobody on this machine has. The seed spreads the data folders of one machine over the range. */
const unusedId = async (seed: string): Promise<number> => {
  const used = await idsInUse()
  const start = Number.parseInt(/[0-9a-f]{8}$/.exec(seed)?.[0] ?? "0", 16)
  for (let step = 0; step < ownIds.count; step++) {
    const id = ownIds.first + ((start + step) % ownIds.count)
    if (!used.has(id) && !(await hasName(id))) return id
  }
  throw new Error(`no user id from ${ownIds.first} to ${ownIds.first + ownIds.count - 1} is free`)
}

/** Under root: the cluster's owner, or an id of its own if that is root or nobody or there is no cluster yet. */
export const chooseOwner = async (cluster: string, seed: string): Promise<SystemUser> => {
  const owner = await stat(cluster).catch(() => undefined)
  if (owner !== undefined && owner.uid !== 0 && owner.uid !== nobody.uid) return { uid: owner.uid, gid: owner.gid }
  const id = await unusedId(seed)
  return { uid: id, gid: id }
}

/**
 * Gives a folder and its content to the user, from the top down. Once a folder has its new owner, the old owner can put
 * nothing into it any more, whatever it still has open, so no link that an enemy places on the way is followed. The top
 * folder belongs to root until all is done, so an interrupted run is begun again.
 */
export const handOver = async (folder: string, user: SystemUser): Promise<void> => {
  const handle = await openFolder(folder)
  try {
    await handle.chown(0, 0)
    await giveEntries(handle, folder, user)
    await handle.chown(user.uid, user.gid)
  } finally {
    await handle.close()
  }
}

const openFolder = (path: string) => open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)

const giveEntries = async (folder: FileHandle, name: string, user: SystemUser): Promise<void> => {
  // Use the open folder, not its name, which may lead to another folder by now.
  const here = `/proc/self/fd/${folder.fd}`
  for (const entry of await readdir(here)) {
    const path = join(here, entry)
    const found = await lstat(path)
    if (found.isFile() && found.nlink === 1) await giveFile(path, user)
    else if (found.isDirectory()) {
      const inner = await openFolder(path)
      try {
        await inner.chown(user.uid, user.gid)
        await giveEntries(inner, join(name, entry), user)
      } finally {
        await inner.close()
      }
    } else throw new Error(`${join(name, entry)} is no file of a database cluster`)
  }
}

/** Settings files are copied, so that a program that has the old file open writes to a file that nobody reads. */
const giveFile = async (path: string, user: SystemUser): Promise<void> => {
  if (path.endsWith(".conf")) {
    await copyFile(path, `${path}.new`)
    await rename(`${path}.new`, path)
  }
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW)
  try {
    await handle.chown(user.uid, user.gid)
  } finally {
    await handle.close()
  }
}

/** How `initdb`, which asks for its user's name, is run for a user that has none. */
export type Naming =
  /** The user has a name. */
  | { readonly _tag: "Named" }
  /** A wrapper program gives it the name of nobody in a user namespace; outside it stays the user it is. */
  | { readonly _tag: "Wrapped"; readonly program: string; readonly args: ReadonlyArray<string> }
  /** It cannot get a name here; `reason` is a clause. */
  | { readonly _tag: "Nameless"; readonly reason: string }

const unsharePrograms = ["/usr/bin/unshare", "/bin/unshare"]

/** Finds out how `initdb` can be run for the user; undefined is the user of this process. */
export const namingOf = (user: SystemUser | undefined): Effect.Effect<Naming> =>
  Effect.promise(async () => {
    if (user === undefined && hasOwnName()) return { _tag: "Named" }
    const mapped = ["-U", `--map-user=${nobody.uid}`, "--"]
    for (const program of process.platform === "linux" ? unsharePrograms : []) {
      const name = await answerOf(program, [...mapped, "id", "-un"], user)
      if (name !== undefined && name !== "") return { _tag: "Wrapped", program, args: mapped }
    }
    return {
      _tag: "Nameless",
      reason: `the user id ${user?.uid ?? process.getuid?.()} has no name here (no line in /etc/passwd), which making a database cluster needs; add one, start Sluice as a user with a name, or set DATABASE_URL to a server`
    }
  })

const hasOwnName = (): boolean => {
  try {
    userInfo()
    return true
  } catch {
    return false
  }
}
