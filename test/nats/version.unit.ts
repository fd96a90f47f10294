import { expect, it } from "@effect/vitest"
import { isOldNats, natsMinimum, natsVersion } from "../../src/nats/version.ts"

it.each([
  ["v2.14.0", "2.14.0"],
  ["2.12.3", "2.12.3"],
  ["v2.14.1-RC.2", "2.14.1"],
  ["2.15.0-dev", "2.15.0"],
  ["2.14", undefined],
  ["latest", undefined],
  ["", undefined]
])("reads %j as %j", (text, version) => {
  expect(natsVersion(text)).toBe(version)
})

it.each([
  [natsMinimum, false],
  ["2.12.2", true],
  ["2.12.10", false],
  ["2.9.10", true],
  ["2.14.0", false],
  ["3.0.0", false],
  ["1.99.99", true],
  ["not a version", true]
])("says of %s whether it is too old: %s", (version, old) => {
  expect(isOldNats(version)).toBe(old)
})
