/** Chooses the encoding of a stored file that a client gets. Pure. */

export type Encoding = "br" | "gzip" | "identity"

/** The first encoding that the client accepts. One that it forbids (`q=0`) counts as not named. */
export const encodingFor = (acceptEncoding: string | undefined): Encoding => {
  const accepted = (acceptEncoding ?? "")
    .split(",")
    .flatMap((part) => (/;\s*q=0(\.0*)?\s*$/.test(part) ? [] : [part.split(";")[0]!.trim().toLowerCase()]))
  return (["br", "gzip"] as const).find((one) => accepted.includes(one)) ?? "identity"
}
