/**
 * Words by which mail systems say why they refuse a mail. They are those of manuals and of real bounces: "SMTP error
 * reference" of Gmail, "NDR error codes" of Exchange Online, "SMTP Error Codes" of Yahoo Sender Hub, "Postmaster
 * information" of iCloud Mail, the manuals of relays (Amazon SES, SendGrid, Mailgun, Postmark, SparkPost, Resend), the
 * sources of Postfix, Exim, sendmail and qmail, and a public corpus of bounces. Patterns are for lower case, `~` stands
 * for up to four words, and nothing in them can try for long.
 */

const patternOf = (sources: ReadonlyArray<string>): RegExp =>
  new RegExp(sources.map((source) => source.replaceAll("~", "(?:[^ ]+ ){0,4}")).join("|"))

/** The account with which mail is sent, in words that nobody but the sender's own relay uses. */
export const ownAccountWords = patternOf([
  // not verified
  "\\b(?:address|identity|identities|domain|sender)(?: [^ ]+)? (?:is|are|was|has|have) not (?:been )?(?:yet )?verified",
  "address not verified - see",
  "(?:not|match|is|from) (?:a |an )?verified (?:sender|domain|address|identit)",
  "\\bverify (?:a|your) (?:sending )?(?:domain|sender|identity)",
  "not a sender signature|sender signature (?:is )?not|unconfigured sending domain",
  "only send test(?:ing)? emails|free accounts? (?:is|are) for test|sandbox (?:sub)?domains? (?:is|are)|authorized recipients",
  "pending approval",
  // not allowed to send as
  "send-?as-?denied|send as denied",
  "(?:permissions?|authori[sz]ed|authorized|allowed|permitted) to (?:send|submit) ~(?:as (?:this|the|that) |on behalf|from (?:this|that|the) ?(?:header|email|address|sender|mailbox|$))",
  "not owned by|not one of your addresses|not local sender over smtp|sender address is not allowed|no identity changes|not authorized to perform",
  "sender is not allowed to relay|cannot send on behalf|mailfrom must|from address (?:is )?not (?:allowed|authori[sz]ed)",
  "is not allowed to send: ",
  // quotas
  "(?:daily|hourly|monthly|outbound|outgoing|sending|submission|messaging|relay) ~(?:quota|limits?|allowance|credits?|rate) ~(?:exceed|reach|hit)",
  "(?:exceeded|reached|over|hit|used up) (?:your|the|its|his|all|a|allowed|plan)? ?(?:[^ ]+ )?(?:daily|hourly|monthly|outbound|outgoing|sending|messaging|submission|plan) ~(?:quota|limit|allowance|credit)",
  "reached a limit for sending|maximum sending rate|maximum credits? exceeded|out of credits?|not enough credits?|submissionquota",
  "exceeded the max (?:emails|defers and failures) per hour|max emails per hour",
  "tenant has exceeded|client blocked from sending from unregistered|exceeded messaging limits|message quota exceeded",
  // paused
  "sending (?:is |was |has been )?(?:paused|suspended|disabled|blocked) for (?:this|your) account",
  "your (?:[^ ]+ )?account (?:is|was|has been) ~(?:paused|suspended|disabled|blocked|deactivated|locked|restricted|activated|review)",
  "outgoing mail suspension|email outgoing blocked|unusual sending activity|bad outbound sender|mail sending denied",
  "sender account is|domain is not allowed to send|account is not allowed to send"
])

/** The same in words that servers of recipients use too, about any sender. */
export const relayingWords = patternOf([
  "relay(?:ing)?(?: mail| access)?(?: is| was)? (?:denied|prohibited|not |refused|forbidden)",
  "(?:unable|cannot|can't|not (?:allowed|permitted|authori[sz]ed)|attempt|do not|refuse) (?:to )?relay",
  "not relaying|list of allowed rcpthosts|credentials for relay|to relay|no relay|relay(?:ing)? denied",
  "authentication (?:is )?required|authentication requise|authenticate (?:first|before)|must (?:be )?(?:authenticat|login|log in|issue)",
  "please (?:log ?in|authenticate)|not (?:yet )?authenticated|not logged in|credentials|smtp auth",
  "sender (?:address )?(?:is |was )?(?:rejected|refused|denied|invalid|not )|invalid sender|emetteur invalide|unauthenticated sender",
  "(?:permissions?|allowed|authori[sz]ed|permitted) to send",
  "(?:sent|sending) ~too (?:many|much|fast)|too many (?:messages|mails|emails|recipients) ~(?:hour|day|minute)",
  "rate ?limit|hourly|daily|throttl|per (?:hour|day)\\b",
  "(?:ip|host|client) (?:address )?(?:is )?not (?:an )?(?:allowed|authori[sz]ed|registered)"
])

/** The message is larger than somebody takes. */
export const sizeWords = patternOf([
  "(?:message|mail|attachment|data|content)s? ~(?:too (?:big|large)|larger than|exceed[^ ]* ~(?:size|length|maximum))",
  "(?:message|mail|attachment|header) size|size limit|size exceed|message length|too large"
])

/** Temporary: full mailboxes. */
export const fullWords = patternOf([
  "(?:mail ?box|mail ?folder|inbox|folder|postfach|account|user|boite|quota|storage|disk) ~(?:full|is over|pleine|voll\\b)",
  "over ?quota|out of storage|quota (?:\\(|is |was |has been )?~(?:exceed|reach|violat|usage)|quotaexceeded|disk quota",
  "exceed[^ ]* ~(?:quota|storage|disk|mailbox size|mailbox limit|mailbox)|mailbox ~exceed|mailbox size limit|storage (?:allocation|quota)",
  "insufficient (?:system )?(?:storage|disk|space|quota)|not enough ~(?:space|storage)|no space left|mailbox_full|fullmailbox|too much mail|storequota"
])

/** Temporary: deadlines, networks, and servers that are busy. */
export const passingWords = patternOf([
  "expired|timed? ?out|retry time|too long in queue|in the queue|giving up|time limit",
  "connection (?:was |has been )?(?:refused|reset|timed|dropped|lost|closed|interrupted|failed|aborted|terminated|died)",
  "lost connection|(?:cannot|could not|couldn't|can't|unable to|failed to|wasn't able to) (?:be )?(?:connect|establish|contact|reach|lock|open|create|append|write)",
  "(?:host|network) (?:is )?(?:unreachable|down|unavailable)|no route to host|broken pipe|not respond|no answer from|did not respond",
  "try (?:it )?(?:again )?later|try again|temporar(?:y|ily)|greylist|deferred",
  "(?:system|server|service|host) (?:is )?(?:currently )?(?:too )?(?:busy|overload)|insufficient (?:system )?resources|out of memory|service refuse|internal error",
  "too many (?:concurrent )?(?:connections|sessions|hops)|hop count|(?:mail|routing|forwarding)[- ]?loop|loops back|receiving mail (?:too|at a)|receive limit",
  "(?:dns|name ?server|lookup)[: ] ?~(?:fail|error|timeout)|host name lookup failure|all relevant mx records|mail server .{0,40} no answer|lock failure|error (?:while )?writing|currently unavailable"
])

/**
 * The sender, the content or a policy: they win over words that speak of the address, which such answers often do too.
 */
export const reputationWords = patternOf([
  "\\bspam|unsolicited|junk|\\bbulk|black ?-?list|block ?-?list|deny ?-?list|whitelist|\\bbanned|reputation|rbl\\b|dnsbl",
  "block(?:ed|ing)? (?:using|by|for|ip|-|due|because|from|see)|(?<!account |mailbox |user )(?:been|was|is|are) (?:temporarily )?blocked",
  "(?:sender|sender's|from|return|reverse|envelope|originator|your|mailfrom)(?:[- ]address|[- ]domain|[- ]path)? ~(?:reject|not exist|unknown|invalid|denied|verif|refus|does not|listed|not found|unrout)",
  "local policy|polic(?:y|ies) (?:reason|violation|restriction|rejection|prohibit)|(?:security|organi[sz]ation|due to|by|for) policy|policy reasons?|administrative prohibition",
  "(?:content|message) (?:was |has been )?(?:rejected|denied|filter|contains|refused)|suspicious|suspected|virus|phish|malware|infected|abus|complain",
  "\\bspf\\b|\\bdkim\\b|\\bdmarc\\b|\\bptr\\b|authentication checks|unauthenticated|not authenticated|reverse (?:dns|host|lookup)|\\bhelo\\b|dns entries",
  "too many (?!hops|conn|sess)|too (?:fast|much)|has sent|rate limit|excessive|\\bdenied by|access denied|not allowed to (?:send|relay)|relay(?:ing)?(?: access)? (?:denied|not|prohibited)|unable to relay|authentication required",
  "not authori[sz]ed|unauthori[sz]ed|permission|restricted|prohibited|not accept(?:ing|ed)? (?:mail|messages|e-?mail)s? from|from (?:your|this) (?:ip|host|server|domain|address)",
  "challenge|moderat|members|subscribers|confirm|preferences|marked as|suppression|previously|rcpthosts|emetteur|authentifi|from: |refused due to|mail ?from"
])

/** The address, or its domain, does not exist, or not any more. */
export const nobodyWords = patternOf([
  "(?:user|recipient|mailbox|account|address|person|alias|addressee|local ?part|customer|box|name|destinataire|domain|host)(?:'s)?[: ] ?~(?:unknown|not (?:found|exist|known|listed|recognized|local|valid|here|active|available|present|enabled|in\\b)|n[o']t exist|isn't|non-?exist|no longer|notfound|undefined|unavailable|unavaiable|invalid|disabled|inactive|deactivated|suspended|deleted|closed|terminated|locked|archivee?|bloque|isblocked|could not be found|couldn't be found|wasn't found|was not found)",
  "(?:unknown|illegal|invalid|disabled|inactive|bad|undeliverable|incorrect|nonexistent|non-existent|unrouteable|expired|suspended)(?: or [^ ]+)?(?: e-?mail| local| virtual| mail| destination| final)? ?-?(?:user|recipient|mailbox|account|address|alias|local|customer|host|domain|receiver|rcpt|name|destinat|addressee|e-?mail|part)",
  "no (?:such|valid|longer|account|mail ?box|user|recipient|one|existe|person|addresse?|known|matching|active|mail drop)\\b",
  "(?:not|isn't|not) (?:a |an |our )?(?:valid|known|active|local|current|existing) ~(?:user|recipient|mailbox|account|address|customer)",
  "(?:does not|doesn't|do not|don't) (?:exist|have an? .{0,40}(?:account|mailbox)|like recipient)|not exist|nonexistent|badrcpt|badrecipient|validrcptto|recipient refuses",
  "resolver\\.adr\\.|recipnotfound|userunknown|user_unknown|inconnu|nessun utente|invalide|no existe|missing home directory|vdeliver",
  "(?:has|have) moved|moved to|changed (?:his|her|their|to)|left the|not our customer|not email addresses|recipient is not accepted|retired",
  "nxdomain|null mx|no mx|find ~recipient domain|can't accept user"
])

/** The same beside a code of a policy, which many servers have for every refusal of a recipient. */
export const unknownMailboxWords =
  /(?:user|recipient) unknown|unknown (?:user|recipient)|no such (?:user|recipient|mailbox)|(?:mailbox|user|recipient) not found/

/** The same where nothing else is said. */
export const vagueNobodyWords =
  /recipient address rejected|access denied|delivery to the following|^[\d #.-]*address rejected\.$/

/** Lists of hosts that are blocked name themselves in links and hosts, which else are not read. */
export const blockLists = /spamhaus|spamcop|sorbs|barracuda|uceprotect|dnsbl|proofpoint|cloudmark|senderbase/
