/** The settings of sending (docs/platform.md, 9; docs/handoff.md), for the table in `settings.ts`. */
import { integer, url } from "./kinds.ts"
import { nameServers } from "./roomKinds.ts"

export const mailSettings = {
  upgradeUrl: url(
    "http:",
    "https:"
  )({
    env: "SLUICE_UPGRADE_URL",
    description:
      "Where an account that has sent its month's emails finds a larger plan; default: the documentation of this platform"
  }),
  nameServers: nameServers({
    env: "SLUICE_NAME_SERVERS",
    description: "Name servers that are asked about domains of senders, as address:port; default: the system's"
  }),
  contentsMaxBytes: integer(
    67_108_864,
    1_099_511_627_776
  )({
    env: "SLUICE_CONTENTS_MAX_BYTES",
    description:
      "Most bytes of contents of emails; NATS sets as much aside; default: 4294967296, less at first where its store has no room for so many"
  })
} as const
