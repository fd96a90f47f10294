/**
 * Three machines on one switch, as network namespaces on a bridge of this one: each with an address of its own, a port that can be pulled, and
 * rules and losses that can be put on it. Needs root and `ip`; cuts in one direction need `nft`, losses `tc` with netem.
 */
import { execFile } from "node:child_process"
import { promisify } from "node:util"

const run = promisify(execFile)

/** Runs a program of the system; its output. */
const system = async (program: string, ...args: ReadonlyArray<string>): Promise<string> =>
  (await run(program, [...args])).stdout

const quietly = async (program: string, ...args: ReadonlyArray<string>): Promise<boolean> =>
  system(program, ...args).then(
    () => true,
    () => false
  )

export interface Machine {
  readonly name: string
  readonly namespace: string
  readonly address: string
  /** Pulls its cable, or puts it back. */
  readonly cable: (isIn: boolean) => Promise<void>
  /** Lets nothing of one direction through, or everything. */
  readonly cut: (direction: "in" | "out" | "none") => Promise<void>
  /** Loses this share of what it sends, in percent; false where the kernel cannot. */
  readonly lose: (percent: number) => Promise<boolean>
}

export interface Network {
  /** The address of this machine's end of the switch. */
  readonly gateway: string
  readonly machines: ReadonlyArray<Machine>
  readonly close: () => Promise<void>
}

/** Makes the switch and three machines. The names hold the process id, so that runs beside each other do not meet. */
export const openNetwork = async (): Promise<Network> => {
  const id = process.pid.toString(36)
  const subnet = `10.${77 + (process.pid % 100)}.${process.pid % 250}`
  const bridge = `slb${id}`
  await system("ip", "link", "add", bridge, "type", "bridge")
  await system("ip", "address", "add", `${subnet}.1/24`, "dev", bridge)
  await system("ip", "link", "set", bridge, "up")
  const machines: Array<Machine> = []
  for (const [index, name] of ["a", "b", "c"].entries()) {
    const namespace = `sl${id}${name}`
    const port = `slp${id}${name}`
    const address = `${subnet}.${11 + index}`
    await system("ip", "netns", "add", namespace)
    await system("ip", "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", namespace)
    await system("ip", "link", "set", port, "master", bridge, "up")
    const inside = (...args: ReadonlyArray<string>) => system("ip", "-n", namespace, ...args)
    await inside("link", "set", "lo", "up")
    await inside("address", "add", `${address}/24`, "dev", "eth0")
    await inside("link", "set", "eth0", "up")
    const nft = (...args: ReadonlyArray<string>) => quietly("ip", "netns", "exec", namespace, "nft", ...args)
    machines.push({
      name,
      namespace,
      address,
      cable: async (isIn) => void (await system("ip", "link", "set", port, isIn ? "up" : "down")),
      cut: async (direction) => {
        await nft("delete", "table", "inet", "cut")
        if (direction === "none") return
        const [hook, match] = direction === "in" ? ["input", "iifname"] : ["output", "oifname"]
        const isCut =
          (await nft("add", "table", "inet", "cut")) &&
          (await nft(`add chain inet cut c { type filter hook ${hook} priority 0; }`)) &&
          (await nft("add", "rule", "inet", "cut", "c", match!, "eth0", "drop"))
        if (!isCut) throw new Error("nft does not take the rule")
      },
      lose: async (percent) => {
        await quietly("tc", "-n", namespace, "qdisc", "del", "dev", "eth0", "root")
        if (percent === 0) return true
        return quietly("tc", "-n", namespace, "qdisc", "add", "dev", "eth0", "root", "netem", "loss", `${percent}%`)
      }
    })
  }
  return {
    gateway: `${subnet}.1`,
    machines,
    close: async () => {
      for (const { namespace } of machines) await quietly("ip", "netns", "delete", namespace)
      await quietly("ip", "link", "delete", bridge)
    }
  }
}
