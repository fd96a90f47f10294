/** Hosts that no name server is asked for, as the system's resolver reads its file. */
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe, expect, it } from "@effect/vitest"
import { localAddresses, parseHosts, readHostsFile } from "../../../src/webhooks/target/hosts.ts"

const folder = mkdtempSync(join(tmpdir(), "sluice-hosts-"))
afterAll(() => rmSync(folder, { recursive: true }))

describe("a hosts file", () => {
  it("given addresses with names, comments and lines that are neither, then each name has its addresses in order", () => {
    const hosts = parseHosts("# local\n127.0.0.1\tLocalhost app # mine\n::1 localhost\n\nnonsense x\n127.0.0.1 app\n")
    expect([...hosts]).toEqual([
      [
        "localhost",
        [
          { address: "127.0.0.1", family: 4 },
          { address: "::1", family: 6 }
        ]
      ],
      ["app", [{ address: "127.0.0.1", family: 4 }]]
    ])
  })

  it("given a name that is in no file, then localhost and what is below it are this machine, and nothing else", () => {
    const addresses = (host: string) => localAddresses(host, new Map())?.map(({ address }) => address)
    expect(addresses("localhost")).toEqual(["127.0.0.1", "::1"])
    expect(addresses("app.localhost")).toEqual(["127.0.0.1", "::1"])
    expect(addresses("notlocalhost")).toBeUndefined()
    expect(addresses("localhost.example.com")).toBeUndefined()
  })

  it("given a change, then it is read again some seconds later; given none any more, then it has no names", () => {
    const file = join(folder, "hosts")
    let now = 0
    const write = (text: string, at: number) => {
      writeFileSync(file, text)
      utimesSync(file, at, at)
    }
    write("192.0.2.1 a\n", 1)
    const read = readHostsFile(file, () => now)
    expect([...read().keys()]).toEqual(["a"])
    write("192.0.2.1 b\n", 2)
    expect([...read().keys()]).toEqual(["a"])
    now = 5_000
    expect([...read().keys()]).toEqual(["b"])
    rmSync(file)
    now = 10_000
    expect([...read().keys()]).toEqual([])
  })
})
