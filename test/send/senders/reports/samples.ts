/** Reports about domains in the forms in which large mail systems send them, packed and in a mail. */
import { crc32, deflateRawSync, gzipSync } from "node:zlib"
import type { DmarcRecord, DmarcReport } from "../../../../src/send/senders/reports/model.ts"

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;")

const word = (isAligned: boolean): string => (isAligned ? "pass" : "fail")

const recordXml = ({ count, disposition, isDkimAligned, isSpfAligned, source }: DmarcRecord, from: string): string => `
  <record>
    <row>
      <source_ip>${source}</source_ip>
      <count>${count}</count>
      <policy_evaluated>
        <disposition>${disposition}</disposition>
        <dkim>${word(isDkimAligned)}</dkim>
        <spf>${word(isSpfAligned)}</spf>
      </policy_evaluated>
    </row>
    <identifiers>
      <header_from>${from}</header_from>
    </identifiers>
    <auth_results>
      <dkim><domain>${from}</domain><result>pass</result><selector>s1</selector></dkim>
      <spf><domain>other.example</domain><result>pass</result></spf>
    </auth_results>
  </record>`

/** A report as Google writes it: no namespace, times in seconds, a record for each source. */
export const dmarcXml = ({
  beginsAt,
  domain,
  endsAt,
  records,
  reportId,
  reporter
}: Omit<DmarcReport, "kind">): string =>
  `<?xml version="1.0" encoding="UTF-8" ?>
<feedback>
  <version>1.0</version>
  <report_metadata>
    <org_name>${escaped(reporter)}</org_name>
    <email>noreply-dmarc@${domain}</email>
    <extra_contact_info>https://reporter.example/a?b=1&amp;c=2</extra_contact_info>
    <report_id>${escaped(reportId)}</report_id>
    <date_range>
      <begin>${beginsAt / 1000}</begin>
      <end>${endsAt / 1000}</end>
    </date_range>
  </report_metadata>
  <policy_published>
    <domain>${domain}</domain>
    <adkim>r</adkim>
    <aspf>r</aspf>
    <p>none</p>
    <sp>none</sp>
    <pct>100</pct>
  </policy_published>${records.map((one) => recordXml(one, domain)).join("")}
</feedback>
`

/** As Microsoft writes it: on one line, namespaces of XML Schema, and more elements of its own. */
export const microsoftXml = `<?xml version="1.0"?><feedback xmlns:xsd="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><version>1.0</version><report_metadata><org_name>Enterprise Outlook</org_name><email>dmarcreport@one.example</email><report_id>5d0c1d4a0b4e4f6f</report_id><date_range><begin>1795737600</begin><end>1795824000</end></date_range></report_metadata><policy_published><domain>Acme.Example</domain><adkim>r</adkim><aspf>r</aspf><p>reject</p><sp>reject</sp><pct>100</pct><fo>0</fo></policy_published><record><row><source_ip>2001:DB8:0:0::19</source_ip><count>12</count><policy_evaluated><disposition>none</disposition><dkim>pass</dkim><spf>fail</spf></policy_evaluated></row><identifiers><envelope_to>two.example</envelope_to><envelope_from>bounces.example</envelope_from><header_from>acme.example</header_from></identifiers><auth_results><dkim><domain>acme.example</domain><selector>s1</selector><result>pass</result></dkim><spf><domain>bounces.example</domain><scope>mfrom</scope><result>pass</result></spf></auth_results></record></feedback>`

/** As Yahoo writes it: with a stylesheet, an override with its reason, and no result of SPF. */
export const yahooXml = `<?xml version="1.0"?>
<?xml-stylesheet type="text/xsl" href="none.xsl"?>
<!-- made by a program -->
<feedback>
  <report_metadata>
    <org_name>Yahoo</org_name>
    <email>dmarchelp@yahooinc.example</email>
    <report_id><![CDATA[1795824612.519]]></report_id>
    <date_range><begin>1795737600</begin><end>1795823999</end></date_range>
  </report_metadata>
  <policy_published><domain>acme.example</domain><p>quarantine</p><pct>100</pct></policy_published>
  <record>
    <row>
      <source_ip>198.51.100.7</source_ip><count>3</count>
      <policy_evaluated>
        <disposition>quarantine</disposition><dkim>fail</dkim>
        <reason><type>mailing_list</type><comment>a &lt;list&gt;</comment></reason>
      </policy_evaluated>
    </row>
    <identifiers><header_from>acme.example</header_from></identifiers>
    <auth_results><spf><domain>acme.example</domain><result>none</result></spf></auth_results>
  </record>
</feedback>`

/** By the newer draft: a namespace with a prefix, and mail that passed. */
export const draftXml = `<?xml version="1.0" encoding="UTF-8"?>
<d:feedback xmlns:d="urn:ietf:params:xml:ns:dmarc-2.0">
  <d:version>1.0</d:version>
  <d:report_metadata><d:org_name>Reporter</d:org_name><d:report_id>r-1@reporter.example</d:report_id>
    <d:date_range><d:begin>1795737600</d:begin><d:end>1795823999</d:end></d:date_range><d:generator>g 1.0</d:generator>
  </d:report_metadata>
  <d:policy_published><d:domain>acme.example</d:domain><d:p>reject</d:p><d:discovery_method>treewalk</d:discovery_method></d:policy_published>
  <d:extension/>
  <d:record><d:row><d:source_ip>::ffff:192.0.2.1</d:source_ip><d:count>7</d:count>
    <d:policy_evaluated><d:disposition>pass</d:disposition><d:dkim>pass</d:dkim><d:spf>pass</d:spf></d:policy_evaluated></d:row>
    <d:identifiers><d:header_from>acme.example</d:header_from></d:identifiers></d:record>
</d:feedback>`

/** A report about TLS as Google writes it. */
export const tlsJson = (domain: string, day: string, reportId = `${day}_${domain}`): string =>
  JSON.stringify({
    "organization-name": "Google Inc.",
    "date-range": { "start-datetime": `${day}T00:00:00Z`, "end-datetime": `${day}T23:59:59Z` },
    "contact-info": "smtp-tls-reporting@one.example",
    "report-id": reportId,
    policies: [
      {
        policy: {
          "policy-type": "sts",
          "policy-string": ["version: STSv1", "mode: enforce", `mx: mx.${domain}`, "max_age: 86400"],
          "policy-domain": domain,
          "mx-host": [`mx.${domain}`]
        },
        summary: { "total-successful-session-count": 5_326, "total-failure-session-count": 303 },
        "failure-details": [
          { "result-type": "certificate-expired", "sending-mta-ip": "192.0.2.1", "failed-session-count": 100 },
          { "result-type": "starttls-not-supported", "failed-session-count": 200 },
          { "result-type": "certificate-expired", "failed-session-count": 2 }
        ]
      },
      {
        policy: { "policy-type": "no-policy-found", "policy-domain": domain.toUpperCase() },
        summary: { "total-successful-session-count": 4, "total-failure-session-count": 0 }
      }
    ]
  })

/** One file of a zip archive, as its parts say it; they may lie about its size. */
export const zipOf = (
  files: ReadonlyArray<{ readonly name: string; readonly content: Buffer; readonly claimed?: number }>
): Buffer => {
  const locals: Array<Buffer> = []
  const entries: Array<Buffer> = []
  let at = 0
  for (const { claimed, content, name } of files) {
    const packed = deflateRawSync(content)
    const head = Buffer.alloc(26)
    head.writeUInt16LE(20, 0)
    head.writeUInt16LE(8, 4)
    head.writeUInt32LE(crc32(content), 10)
    head.writeUInt32LE(packed.length, 14)
    head.writeUInt32LE(claimed ?? content.length, 18)
    head.writeUInt16LE(name.length, 22)
    const local = Buffer.concat([Buffer.from("PK\x03\x04", "latin1"), head, Buffer.from(name), packed])
    const place = Buffer.alloc(14)
    place.writeUInt32LE(at, 10)
    entries.push(Buffer.concat([Buffer.from("PK\x01\x02\x14\x00", "latin1"), head, place, Buffer.from(name)]))
    locals.push(local)
    at += local.length
  }
  const directory = Buffer.concat(entries)
  const end = Buffer.alloc(18)
  end.writeUInt16LE(files.length, 4)
  end.writeUInt16LE(files.length, 6)
  end.writeUInt32LE(directory.length, 8)
  end.writeUInt32LE(at, 12)
  return Buffer.concat([...locals, directory, Buffer.from("PK\x05\x06", "latin1"), end])
}

const encoded = (content: Buffer): string => content.toString("base64").replaceAll(/.{76}/g, "$&\r\n")

/** A mail whose body is the attachment, as Google sends it. */
export const bareMail = (type: string, content: Buffer): string =>
  [
    "From: noreply@reporter.example",
    "Subject: Report domain: acme.example",
    `Content-Type: ${type}; name="report"`,
    "Content-Transfer-Encoding: base64",
    "",
    encoded(content),
    ""
  ].join("\r\n")

/** A mail with words for people before the attachment. */
export const mailWith = (type: string, content: Buffer): string =>
  [
    "From: noreply@reporter.example",
    "Subject: Report domain: acme.example",
    "MIME-Version: 1.0",
    'Content-Type: multipart/mixed; boundary="part"',
    "",
    "--part",
    "Content-Type: text/plain",
    "",
    "This is a report.",
    "--part",
    `Content-Type: ${type}`,
    'Content-Disposition: attachment; filename="report"',
    "Content-Transfer-Encoding: base64",
    "",
    encoded(content),
    "--part--",
    ""
  ].join("\r\n")

/** A mail with a packed report. */
export const gzipMail = (text: string): string => mailWith("application/gzip", gzipSync(text))
