/** Published files cut down to one area code of each country, so that a test need not wait for the whole of them. */
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { bundledPath, canadianLines, usLines } from "../directory/support.ts"

/** The US and the Canadian area code of the small files, with 800 codes each. */
export const usNpa = "212"
export const canadianNpa = "204"

/** Lines as the published files end them. */
export const textOf = (lines: ReadonlyArray<string>): string => lines.map((line) => `${line}\r\n`).join("")

/** One file of each kind, in this order: US codes, Canadian codes, carrier types, NPA report. */
export const seedFiles = async (folder: string): Promise<ReadonlyArray<string>> => {
  const us = join(folder, "us.txt")
  const canada = join(folder, "canada.csv")
  await writeFile(us, textOf(usLines(usNpa)), "latin1")
  await writeFile(canada, textOf(canadianLines(canadianNpa)), "latin1")
  return [us, canada, bundledPath("CARRIER_TYPES"), bundledPath("NPA_REPORT")]
}
