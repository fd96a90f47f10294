/**
 * Expectations of the corpus' mails: read from them by a program of another make (line by line, without a parser of MIME), and by eye wherever it and the parser
 * differed and where a field is missing. Whether a refusal is one of the sender or the content was decided by reading each.
 */
import type { DeliveryAction, DeliveryKind } from "../../../../src/send/index.ts"

type ExpectedRecipient = readonly [
  recipient: string,
  action: DeliveryAction,
  status: string,
  kind: DeliveryKind,
  replyCode: number | null,
  isReputation: boolean
]

interface ExpectedReport {
  readonly file: string
  readonly messageId: string | null
  readonly recipients: ReadonlyArray<ExpectedRecipient>
}

export const expectedReports: ReadonlyArray<ExpectedReport> = [
  {
    file: "lhost-activehunter-01",
    messageId: "0000000000.00000000000@mx4.example.org",
    recipients: [["kijitora@example.org", "failed", "5.1.1", "permanent", 550, false]]
  },
  {
    file: "lhost-amavis-03",
    messageId: null,
    recipients: [["kijitora@example.com", "failed", "5.7.0", "permanent", 554, true]]
  },
  {
    file: "lhost-amazonses-01",
    messageId: "000001321defbd2a-788e31c8-2be1-422f-a8d4-cf7765cc9ed7-000000@email.amazonses.com",
    recipients: [["shironeko@example.co.jp", "failed", "5.0.0", "permanent", 550, true]]
  },
  {
    file: "lhost-amazonses-18",
    messageId: "0000000000000000-22222222-ffff-2222-2222-000000000000-000000@email.amazonses.com",
    recipients: [["kijitora@neko.nyaan.example.edu", "failed", "5.4.4", "temporary", 550, false]]
  },
  {
    file: "lhost-amazonses-21",
    messageId: "0000000000000000-22222222-eeee-ffff-ffff-000000000000-000000@email.amazonses.com",
    recipients: [["kijitora@example.com", "failed", "5.7.1", "permanent", 554, true]]
  },
  {
    file: "lhost-barracuda-01",
    messageId: "ad4be1052982bf7aa5558be760abbf74@neko.example.com",
    recipients: [["kijitora@example.org", "failed", "5.7.1", "permanent", 550, true]]
  },
  {
    file: "lhost-bigfoot-02",
    messageId: null,
    recipients: [["kijitora@example.org", "failed", "5.7.1", "permanent", 553, true]]
  },
  {
    file: "lhost-courier-01",
    messageId: null,
    recipients: [["kijitora@example.co.jp", "failed", "5.0.0", "permanent", 550, false]]
  },
  {
    file: "lhost-domino-03",
    messageId: "FF00EE22AA.AA0AFFE2-NEKO000222.002DDADA-B0000304.00222002A@example.edu",
    recipients: [["kijitora@neko.example.org", "failed", "5.0.0", "temporary", null, false]]
  },
  {
    file: "lhost-exchange2007-04",
    messageId: "78f44d2b2ea5763064d21edacd9d8d18@example.net",
    recipients: [["neko-nyaan@example.jp", "failed", "5.7.1", "permanent", 550, true]]
  },
  {
    file: "lhost-exim-29",
    messageId: "EEEEEEE-222222-00@example.co.jp",
    recipients: [["kijitora@example.co.jp", "failed", "5.0.0", "permanent", 550, true]]
  },
  {
    file: "lhost-exim-44",
    messageId: "22ee2222222ffff00@nyaan.example.com",
    recipients: [["kijitora@example.com", "failed", "5.0.0", "permanent", null, true]]
  },
  {
    file: "lhost-ezweb-02",
    messageId: "20110000000000.F000000@lsean.ezweb.ne.jp",
    recipients: [
      ["this-local-part-does-not-exist-on-the-server@ezweb.ne.jp", "failed", "5.0.0", "permanent", null, true]
    ]
  },
  {
    file: "lhost-mcafee-04",
    messageId: "000000000010.0000.1111111111111111AA0@NEKO.NYAAN",
    recipients: [["kijitora@example.com", "failed", "5.0.0", "permanent", 550, false]]
  },
  {
    file: "lhost-messagingserver-02",
    messageId: "00000000000000000000000000000000@example.com",
    recipients: [["kijitora@server", "failed", "5.2.0", "temporary", 522, false]]
  },
  {
    file: "lhost-messagingserver-03",
    messageId: "000000000000000000@example.org",
    recipients: [
      ["sabineko@example.org", "failed", "5.0.0", "permanent", 550, false],
      ["mikeneko@example.org", "failed", "5.0.0", "permanent", 550, false]
    ]
  },
  {
    file: "lhost-messagingserver-12",
    messageId: "neko-nyaan.2.2.22_12afde0517e7661cc3bf31aa5c2dc7ef@example.net",
    recipients: [["pseudo-local-part-kijitora-neko-nyaan@mac.com", "failed", "4.2.2", "temporary", null, false]]
  },
  {
    file: "lhost-mimecast-02",
    messageId: null,
    recipients: [["sabatora@example.net", "failed", "5.0.0", "permanent", 550, true]]
  },
  {
    file: "lhost-office365-03",
    messageId: null,
    recipients: [["kijitora@example.com", "failed", "5.1.0", "permanent", 550, true]]
  },
  {
    file: "lhost-opensmtpd-15",
    messageId: "74f4e3a292556888@df.example.jp",
    recipients: [["neko@nyaan.jp", "delayed", "4.4.7", "temporary", null, false]]
  },
  {
    file: "lhost-opensmtpd-17",
    messageId: "74f4ebf4e64e4266@df.example.jp",
    recipients: [
      ["userunknown@libsisimai.net", "failed", "5.0.0", "permanent", null, true],
      ["mailboxfull@libsisimai.net", "failed", "5.0.0", "permanent", null, true]
    ]
  },
  {
    file: "lhost-outlook-06",
    messageId: "BAY182-W4180385B0DABF89EB94B34A9300@phx.gbl",
    recipients: [["kijitora@example.com", "delayed", "4.4.7", "temporary", null, false]]
  },
  {
    file: "lhost-postfix-01",
    messageId: null,
    recipients: [["r@p351355.pool.example.ne.jp", "failed", "5.1.1", "temporary", null, false]]
  },
  {
    file: "lhost-postfix-10",
    messageId: "20150213024544.6666920BF0@vagrant-centos65.vagrantup.com",
    recipients: [["kijitora@example.jp", "failed", "5.1.8", "permanent", 553, true]]
  },
  {
    file: "lhost-postfix-65",
    messageId: "43f4KX6WR7z1xcMG@neko.example.jp",
    recipients: [["nyaan@example.org", "failed", "5.0.0", "permanent", 550, true]]
  },
  {
    file: "lhost-powermta-02",
    messageId: "9210c1b0586589ee5c061c50527e4d49@example.net",
    recipients: [["kijitora@example.com", "failed", "5.0.0", "permanent", 554, false]]
  },
  {
    file: "lhost-receivingses-03",
    messageId: "C2B0DB40-CCC2-4F15-8C0B-B77A4054C2FF@example.co.jp",
    recipients: [["temperror@neko.example.jp", "failed", "4.0.0", "temporary", 450, false]]
  },
  {
    file: "lhost-receivingses-05",
    messageId: "2DDCFF5A-1711-422F-AE94-54E6E4496366@example.co.jp",
    recipients: [["exceedlimit@neko.example.jp", "failed", "5.3.4", "permanent", 552, true]]
  },
  {
    file: "lhost-sendgrid-03",
    messageId: "1373048289.4959893235684211@mf36.sendgrid.net",
    recipients: [["kijitora@example.org", "failed", "4.4.7", "temporary", null, false]]
  },
  {
    file: "lhost-sendmail-02",
    messageId: "C6625D0F-A302-4980-BEAB-2AF883EA0116@example.jp",
    recipients: [
      ["userunknown@example.org", "failed", "5.1.1", "permanent", 550, false],
      ["filtered@example.com", "failed", "5.2.1", "permanent", 550, false]
    ]
  },
  {
    file: "lhost-sendmail-15",
    messageId: "00000000000000000000000000@example.or.jp",
    recipients: [["kijitora@example.org", "failed", "5.1.2", "permanent", null, false]]
  },
  {
    file: "lhost-sendmail-18",
    messageId: "200904292334.00000000000000@mx356.example.jp",
    recipients: [["kijitora@example.jp", "failed", "5.0.0", "permanent", null, true]]
  },
  {
    file: "lhost-sendmail-35",
    messageId: "F8B07F6B-E1C6-43A7-BE54-71B1F71ADC8B@nyaan.example.co.jp",
    recipients: [["kijitora@example.org", "failed", "5.7.13", "permanent", 525, false]]
  },
  {
    file: "lhost-sendmail-48",
    messageId: "8EC9A623-6663-44B2-A947-3B370B040645@cr.example.co.jp",
    recipients: [["pseudo-local-part-kijitora-nyaan@sfr.fr", "failed", "5.7.1", "permanent", 550, false]]
  },
  {
    file: "lhost-surfcontrol-01",
    messageId: "20100429233445.00000000000@mx4.example.co.jp",
    recipients: [["kijitora@example.com", "failed", "5.0.0", "permanent", 550, false]]
  },
  { file: "lhost-x3-06", messageId: null, recipients: [["xxxx@xxxx.net", "failed", "5.1.1", "temporary", 552, false]] },
  {
    file: "lhost-yandex-02",
    messageId: "28011417886669@web21h.yandex.ru",
    recipients: [
      ["mikeneko@example.jp", "failed", "5.2.1", "permanent", 550, false],
      ["sabineko@example.jp", "failed", "5.2.2", "temporary", 550, false]
    ]
  },
  {
    file: "rfc3464-01",
    messageId: "E1C50F1B-1C83-4820-BC36-AC6FBFBE8568@example.org",
    recipients: [["userunknown@bouncehammer.jp", "failed", "5.1.1", "permanent", 550, false]]
  },
  {
    file: "rfc3464-28",
    messageId: "20151025071802.22CC00222233@neko-222-2222.vs.example.ne.jp",
    recipients: [["kijitora@neko.example.jp", "delivered", "2.1.5", "delivered", 250, false]]
  },
  {
    file: "rfc3464-35",
    messageId: null,
    recipients: [
      ["kijitora@nyaan.example.com", "failed", "5.0.0", "permanent", 550, true],
      ["sabatora@cat.example.net", "delayed", "4.0.0", "temporary", null, false],
      ["mikeneko@neko.example.or.jp", "failed", "5.0.0", "permanent", 550, false]
    ]
  },
  {
    file: "rfc3464-09",
    messageId: "00000000000000000000000000000000000000000@example.org",
    recipients: [["kijitora-cat@mx4.gr3.example.jp", "delayed", "4.3.0", "temporary", null, false]]
  },
  {
    file: "rhost-apple-02",
    messageId: "20201113004724.3574FC0196A@smtp.example.jp",
    recipients: [["kijitora@apple.example.com", "failed", "5.7.1", "permanent", 554, true]]
  },
  {
    file: "rhost-cloudflare-01",
    messageId: "QtF9aH-aSDIzG-WP@mx.example.jp",
    recipients: [["kijitora-neko@example.com", "failed", "4.3.0", "temporary", 421, false]]
  },
  {
    file: "rhost-facebook-04",
    messageId: null,
    recipients: [["kijitora@facebook.com", "failed", "5.1.1", "permanent", 550, false]]
  },
  {
    file: "rhost-franceptt-05",
    messageId: "1576566821.xxxx@xxxx.com",
    recipients: [["xxxx@laposte.net", "failed", "5.5.0", "permanent", 550, false]]
  },
  {
    file: "rhost-franceptt-07",
    messageId: "1576612562.xxxx@xxxx.com",
    recipients: [["xxxx@wanadoo.fr", "failed", "4.0.0", "temporary", 421, false]]
  },
  {
    file: "rhost-franceptt-11",
    messageId: "1576577162.xxxx@xxxx.net",
    recipients: [["xxxx@laposte.net", "failed", "4.2.1", "temporary", 421, false]]
  },
  {
    file: "rhost-google-02",
    messageId: "2018042233445.A95F8E533589@mail.example.co.jp",
    recipients: [["neko-nyaan@example.org", "failed", "5.1.1", "permanent", 550, false]]
  },
  {
    file: "rhost-google-06",
    messageId: "222222EA-20C2-2200-EEEE-2222CEEEEA21@example.jp",
    recipients: [["michitsuna@google.example.com", "failed", "5.7.25", "permanent", 550, true]]
  },
  {
    file: "rhost-microsoft-01",
    messageId: "00000000000000000000000000000000000000000000000@example.net",
    recipients: [["kijitora@example.com", "failed", "5.7.606", "permanent", 550, true]]
  },
  {
    file: "rhost-microsoft-02",
    messageId: "222222222000.2222.2222222222220000000@NEKO-Nyaan",
    recipients: [["kijitora@example.org", "failed", "5.4.1", "temporary", 550, false]]
  },
  {
    file: "rhost-tencent-01",
    messageId: "20180429233445.1BFAC0EE7C9F@mail.example.net",
    recipients: [["nekochan@qq.example.cn", "failed", "5.0.0", "permanent", 550, true]]
  },
  {
    file: "rhost-yahooinc-02",
    messageId: "9UK8P757b8z3ZQM@u1.em.example.jp",
    recipients: [["kijitora@y.example.ca", "failed", "4.7.0", "temporary", 421, true]]
  },
  {
    file: "rhost-zoho-03",
    messageId: "6E83AE85-5AF4-4E9B-8B33-64683EF86603@example.org",
    recipients: [["kijitora@zoho.example.com", "failed", "5.7.1", "permanent", 554, true]]
  }
]
