/** Subjects in the manner of an account verification, and subjects that only use its words. */
import { describe, expect, it } from "vitest"
import { riskySignalsOf } from "../../../../src/send/index.ts"

const hits = [
  "Verify your account",
  "Please verify your email address",
  "Confirm your identity to continue",
  "Action required: verify your account now",
  "Action required for your account",
  "Your account has been suspended",
  "Your PayPal account has been temporarily limited",
  "Your mailbox will be deactivated today",
  "Unusual sign-in activity detected",
  "Suspicious login attempt from a new device",
  "New sign-in to your account",
  "Your password expires in 24 hours",
  "Reset your password immediately",
  "Security alert: someone has your password",
  "Account verification needed",
  "Verification required",
  "Your verification code is 442911",
  "Your one-time code",
  "Update your billing information",
  "Please update your account details",
  "Unlock your account",
  "Confirm it's you",
  "Re: VALIDATE YOUR MAILBOX!!!",
  "V\u0435rify y\u043eur acc\u043eunt",
  "Ver1fy your acc0unt",
  "Ve\u200brify your ac\u00adcount",
  "Ｖｅｒｉｆｙ your account",
  "Bitte bestätigen Sie Ihr Konto",
  "Ihr Konto wurde gesperrt",
  "Ihr Passwort läuft morgen ab",
  "Ungewöhnliche Aktivität in Ihrem Konto",
  "Vérifiez votre compte",
  "Votre compte a été suspendu",
  "Verifique su cuenta",
  "Su cuenta ha sido bloqueada",
  "Confirme sua senha",
  "Verifica il tuo account",
  "Bevestig je e-mailadres"
]

const misses = [
  "",
  "Welcome to our newsletter",
  "Your invoice for June",
  "Confirm your booking for Friday",
  "Please confirm your attendance",
  "Your order has been shipped",
  "Account statement for May",
  "Meet your new account manager",
  "Limited time offer for account holders",
  "Your account: limited edition prints are here",
  "Five tips for a better password",
  "Update: the meeting begins at ten",
  "Update on your order",
  "Review of the year",
  "Security is our mission",
  "How we secure our data centres",
  "New features this month",
  "Sign up for the summer camp",
  "Suspended ceilings: our new catalogue",
  "The locked room: a crime novel",
  "Unusual ideas for your garden",
  "Activity report of the club",
  "Your receipt from the coffee shop",
  "We have received your payment",
  "Payment method tips for travellers",
  "Minutes of the verification workshop",
  "Access code for the webinar on gardening",
  "Your identity as a brand: a workshop",
  "Restore old furniture in five steps",
  "Email marketing in 2026",
  "Happy birthday!",
  "Confirm which of the two dates in May suits you by email",
  "New sheds for your garden, and a sign of spring",
  "Einladung zum Sommerfest",
  "Ihre Rechnung für Juni",
  "Wir bestätigen Ihre Bestellung",
  "Votre facture de juin",
  "Su pedido está en camino",
  "Il tuo ordine è confermato",
  "Conto alla rovescia per l'estate"
]

const signalsOf = (subject: string) => riskySignalsOf({ senderDomain: "own.com", subject })

describe("[platform 9.4] a subject", () => {
  it.each(hits)("is in the manner of a verification: %s", (subject) => {
    expect(signalsOf(subject)).toEqual(["verification_subject"])
  })

  it.each(misses)("is not: %j", (subject) => {
    expect(signalsOf(subject)).toEqual([])
  })

  it("is looked at as far as one may be long", () => {
    expect(signalsOf(`${"word ".repeat(190)}verify your account`)).toEqual(["verification_subject"])
    expect(signalsOf(`${"word ".repeat(200)}verify your account`)).toEqual([])
  })

  it("is shown to enough examples", () => {
    expect(Math.min(new Set(hits).size, new Set(misses).size)).toBeGreaterThanOrEqual(30)
  })
})
