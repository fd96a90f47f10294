/**
 * Names the addresses to which other mail systems send reports about domains, and the DNS records that ask for them
 * (docs/handoff.md, 6.4). Pure.
 */

/** Addresses below the domain of return paths. The listener takes either kind of report at both. */
export interface ReportAddresses {
  readonly dmarc: string
  readonly tls: string
}

export const reportAddressesAt = (bounceDomain: string): ReportAddresses => ({
  dmarc: `dmarc-reports@${bounceDomain.toLowerCase()}`,
  tls: `tls-reports@${bounceDomain.toLowerCase()}`
})

/** The addresses of a platform by its settings; undefined if it takes no mail. */
export const reportAddressesOf = ({
  bounceDomain,
  bouncePort
}: {
  readonly bounceDomain?: string | undefined
  readonly bouncePort?: number | undefined
}): ReportAddresses | undefined =>
  bounceDomain === undefined || bouncePort === undefined ? undefined : reportAddressesAt(bounceDomain)

/** The DMARC record to set where there is none; with an address it asks for reports. */
export const advisedDmarc = (addresses?: ReportAddresses | undefined): string =>
  addresses === undefined ? "v=DMARC1; p=none;" : `v=DMARC1; p=none; rua=mailto:${addresses.dmarc};`

/** The record that asks for reports about TLS, and its name (RFC 8460, 3). */
export const advisedTlsReports = ({ tls }: ReportAddresses): string => `v=TLSRPTv1; rua=mailto:${tls}`
export const tlsReportsName = (domain: string): string => `_smtp._tls.${domain}`
