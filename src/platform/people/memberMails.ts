/** Writes the mails with links for people (docs/platform.md, 2.13). Pure. */
import type { Role } from "../model.ts"
import type { PersonalMail } from "./MemberMail.ts"

/** Longest name of an organization that a mail shows. */
const shownName = 60

/**
 * The name of an organization in a mail to a stranger. Its customers choose it, so it must not become a link of theirs
 * in the platform's own mail.
 */
export const nameInMail = (name: string): string => {
  const plain = name.replace(/[\p{Cc}\p{Cf}<>]/gu, "").trim()
  const isAddress = /:\/\/|www\.|@|\/|\.\p{L}{2,}/iu.test(plain)
  if (plain === "" || isAddress) return "an organization"
  return plain.length > shownName ? `${plain.slice(0, shownName)}…` : plain
}

const rolesInWords: Readonly<Record<Role, string>> = {
  owner: "an owner, who may do everything",
  developer: "a developer, who may do everything but manage people and the plan",
  viewer: "a viewer, who reads and changes nothing"
}

type MailText = Pick<PersonalMail, "subject" | "text">

/** The mail of an invitation. */
export const invitationMail = (organization: string, role: Role, link: string): MailText => {
  const name = nameInMail(organization)
  return {
    subject: `Your invitation to ${name} on Sluice`,
    text: `You are invited to the console of ${name}, as ${rolesInWords[role]}.\n\nOpen this address to accept. It works once, for seven days:\n\n${link}\n\nIf you do not know who invites you, do nothing.\n`
  }
}

/** The mail of a link to sign in. */
export const signInMail = (link: string): MailText => ({
  subject: "Sign in to Sluice",
  text: `Open this address to sign in to your console. It works once, for 15 minutes:\n\n${link}\n\nIf you did not ask for it, do nothing: nobody else can sign in with it.\n`
})
