/**
 * Recognizes our environment variables. A name that begins with `SLUICE_` and is no setting is most likely a typing
 * error, unless it belongs to tests or to Kubernetes, which injects the addresses of each service of the namespace into
 * every container (docs/operating.md). Pure.
 */

type Variables = Readonly<Record<string, string | undefined>>

/** Variables that Kubernetes injects for a service whose name is `sluice` or begins with `sluice-`. */
const injected =
  /^SLUICE_(?:\w+_)?(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)$/

/** An address in place of a port. A service of the name `sluice` has it under the name of a setting. */
const injectedPort = /^(?:tcp|udp|sctp):\/\//

const isInjected = (name: string, value: string): boolean =>
  name.startsWith("SLUICE_") && (injected.test(name) || (name.endsWith("_PORT") && injectedPort.test(value)))

/** The value of a variable; undefined where there is none, it is empty, or it is not meant for us. */
export const givenIn = (environment: Variables, name: string): string | undefined => {
  const value = environment[name]
  return value === undefined || value === "" || isInjected(name, value) ? undefined : value
}

/** Variables with our prefix that are no settings and that nobody else sets, in alphabetical order. */
export const unknownVariables = (environment: Variables, known: ReadonlyArray<string>): ReadonlyArray<string> => {
  const settings = new Set(known)
  return Object.entries(environment)
    .filter(
      ([name, value]) =>
        name.startsWith("SLUICE_") &&
        !name.startsWith("SLUICE_TEST_") &&
        value !== undefined &&
        !settings.has(name) &&
        !isInjected(name, value)
    )
    .map(([name]) => name)
    .toSorted()
}
