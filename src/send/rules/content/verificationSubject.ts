/**
 * Recognizes subjects in the manner of an account verification: an account to be verified, a password that ends, an
 * unusual sign-in (docs/platform.md, 9.4). It looks for words that follow one another closely, in the languages with
 * Latin letters in which such mail is frequent. Pure.
 */

/** Longest beginning of a subject that is looked at, in UTF-16 units; a subject has at most 500 characters. */
const maximumSubject = 1_000

const words = (text: string): ReadonlySet<string> => new Set(text.split(" "))

/** Letters of other scripts, and digits inside words, that are taken for Latin letters. */
const lookalikes: Readonly<Record<string, string>> = Object.fromEntries([
  ...Array.from("аεеіοоорсухѕјαікмтвнζ", (from, at) => [from, "aeeiooopcyxsjaikmtbhz"[at]!]),
  ...Array.from("01345", (from, at) => [from, "oieas"[at]!])
])

/** Words that look like nothing else. */
const isPlain = /^(?:\d+|[a-z]+)$/

/**
 * The words of a subject: lower-cased, without accents and invisible characters, with Latin letters for what looks like
 * them.
 */
const wordsOf = (subject: string): ReadonlyArray<string> => {
  const plain = subject
    .slice(0, maximumSubject)
    .normalize("NFKD")
    .replace(/[\p{M}\p{Cf}]/gu, "")
    .toLowerCase()
  return (plain.match(/[\p{L}\p{N}]+/gu) ?? []).map((word) =>
    isPlain.test(word) ? word : Array.from(word, (letter) => lookalikes[letter] ?? letter).join("")
  )
}

const verify = words(
  "verify reverify confirm validate revalidate authenticate unlock reactivate " +
    "bestatigen bestatige verifizieren verifiziere uberprufen uberprufe entsperren reaktivieren " +
    "verifier verifiez confirmer confirmez valider validez " +
    "verificar verifica verifique confirmar confirma confirme validar valide conferma confermare verificare " +
    "bevestig bevestigen verifieer verifieren controleer"
)
const infinitives = words(
  "bestatigen verifizieren uberprufen entsperren reaktivieren aktualisieren bevestigen verifieren controleren"
)
const verification = words(
  "verification validation reactivation verifizierung bestatigung verificacion verificacao verifica"
)
const account = words(
  "account accounts konto konten kontos benutzerkonto compte cuenta conta conto rekening mailbox postfach"
)
const credential = words(
  "identity password passwd login signin credentials mail email mailbox phone profile billing " +
    "identitat passwort kennwort anmeldung zugang zugangsdaten mailadresse emailadresse " +
    "identite passe courriel identidad contrasena correo identidade senha identita " +
    "identiteit wachtwoord mailadres emailadres"
)
const owned = new Set([...account, ...credential])
const stopped = words(
  "suspended suspension locked limited disabled restricted blocked deactivated frozen hold terminated closed " +
    "gesperrt eingeschrankt deaktiviert suspendu bloque limite suspendida bloqueada suspensa sospeso bloccato geblokkeerd opgeschort"
)
const unusual = words(
  "unusual suspicious unauthorized unauthorised unrecognized unrecognised unknown new " +
    "ungewohnliche verdachtige neue inhabituelle suspecte sospechosa inusual suspeita sospetta nieuwe"
)
const access = words(
  "signin login logon sign attempt anmeldung anmeldeversuch connexion acceso acesso accesso aanmelding inlogpoging"
)
const activity = words("activity aktivitat activite actividad atividade attivita activiteit")
const harmless = words("new unknown neue nieuwe")
const suspicious = new Set([...unusual].filter((word) => !harmless.has(word)))
const password = words("password passwd passwort kennwort passe contrasena senha wachtwoord credentials")
const ending = words(
  "expire expires expired expiring expiration expiry lauft abgelaufen caduca expira vencida scade scaduta verloopt verlopen"
)
const your = words("your ihr ihre ihren dein deine deinen votre vos su tu sua seu tua je uw")

/** Words one after the other, each close behind the one before. */
type Phrase = ReadonlyArray<{ readonly within: number; readonly of: ReadonlySet<string> }>

const phrase = (...parts: ReadonlyArray<ReadonlySet<string> | string | number>): Phrase => {
  let within = 1
  return parts.flatMap((part) => {
    if (typeof part === "number") {
      within = part
      return []
    }
    const step = { within, of: typeof part === "string" ? words(part) : part }
    within = 1
    return [step]
  })
}

const phrases: ReadonlyArray<Phrase> = [
  phrase(verify, 5, owned),
  phrase(verify, "it", "s", "you"),
  phrase(verify, "its", "you"),
  phrase(owned, 4, infinitives),
  phrase(owned, verification),
  phrase(verification, 4, owned),
  phrase(verification, "code required needed pending"),
  phrase("onetime security login signin", "code passcode pin"),
  phrase("one", "time", "code passcode pin password"),
  phrase(account, 6, stopped),
  phrase(stopped, account),
  phrase(unusual, 2, access),
  phrase(suspicious, 2, activity),
  phrase(password, 5, ending),
  phrase("reset change", your, 2, password),
  phrase("update secure restore recover actualisez actualice actualiza atualize aggiorna", your, 3, owned),
  phrase(your, "payment", "method information details"),
  phrase("action attention response", "required needed", 5, owned),
  phrase("security", "alert warning notice")
]

/** Whether the rest of a phrase follows the word at a place. */
const follows = (given: ReadonlyArray<string>, at: number, rest: Phrase): boolean => {
  const [next, ...further] = rest
  if (next === undefined) return true
  const gap = given.slice(at + 1, at + 1 + next.within).findIndex((word) => next.of.has(word))
  return gap !== -1 && follows(given, at + 1 + gap, further)
}

/** An offer for a limited time limits no account. */
const withoutOffers = (given: ReadonlyArray<string>): ReadonlyArray<string> =>
  given.filter((word, at) => !(word === "limited" && /^(time|edition|offer|seats|stock)$/.test(given[at + 1] ?? "")))

/** The possible continuations, by the words that a phrase begins with. */
const followers = new Map<string, Array<Phrase>>()
for (const [first, ...rest] of phrases)
  for (const word of first?.of ?? []) followers.set(word, [...(followers.get(word) ?? []), rest])

export const isVerificationSubject = (subject: string): boolean => {
  const given = withoutOffers(wordsOf(subject))
  return given.some((word, at) => followers.get(word)?.some((rest) => follows(given, at, rest)) === true)
}
