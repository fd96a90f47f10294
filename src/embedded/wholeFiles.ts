/**
 * Writes small files that exist whole or not at all, mode 0600: written beside, then moved into place. Needs no
 * service.
 */
import { randomBytes } from "node:crypto"
import { link, open, readFile, rename, rm } from "node:fs/promises"
import { dirname } from "node:path"

const writeBeside = async (file: string, text: string): Promise<string> => {
  const beside = `${file}.${randomBytes(6).toString("hex")}.tmp`
  const handle = await open(beside, "wx", 0o600)
  try {
    await handle.writeFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
  return beside
}

const syncFolder = async (file: string): Promise<void> => {
  const handle = await open(dirname(file), "r")
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Replaces the file's contents in one step. */
export const writeWhole = async (file: string, text: string): Promise<void> => {
  const beside = await writeBeside(file, text)
  await rename(beside, file)
}

/**
 * Makes the file unless it exists, and answers its content. Of several concurrent callers one makes it and all read
 * that.
 */
export const writeOnce = async (file: string, text: string): Promise<string> => {
  const existing = await readIfThere(file)
  if (existing !== undefined) return existing
  const beside = await writeBeside(file, text)
  try {
    // Unlike a rename, a link fails when the name is taken.
    await link(beside, file)
    await syncFolder(file)
  } catch (cause) {
    if (!(cause instanceof Error && "code" in cause && cause.code === "EEXIST")) throw cause
  } finally {
    await rm(beside, { force: true })
  }
  return readFile(file, "utf8")
}

const readIfThere = async (file: string): Promise<string | undefined> => {
  try {
    return await readFile(file, "utf8")
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return undefined
    throw cause
  }
}
