/**
 * The texts of the pages in English. Every other language has the same keys.
 *
 * Words in braces, such as `{provider}`, are filled in when the page is rendered.
 */
/** English. */
export const en = {
  "signIn.title": "Sign in",
  "signIn.site": "to continue to {site}",
  "signIn.with": "Sign in with {provider}",
  "signIn.email": "E-mail me a sign-in link",
  "signIn.credentials": "Sign in",
  "signIn.password": "Sign in with a password",
  "signIn.passkey": "Sign in with a passkey",
  "signIn.securityKey": "Sign in with a security key",
  "signIn.or": "or",
  "signIn.none": "This site has no sign-in method to choose here.",
  "field.email": "E-mail address",
  "field.username": "User name",
  "field.password": "Password",
  "passkey.script": "Passkeys need JavaScript, which this browser does not run here.",
  "passkey.unsupported": "This browser cannot use passkeys here.",
  "passkey.waiting": "Follow the steps that your browser shows.",
  "passkey.cancelled": "No passkey was used. Try again, or choose another sign-in method.",
  "passkey.exists": "This device already has a passkey for this account.",
  "passkey.failed": "The passkey could not be used. Try again, or choose another sign-in method.",
  "redirect.title": "Continuing to {provider}",
  "redirect.link": "Continue",
  "signOut.title": "Sign out",
  "signOut.question": "Are you sure you want to sign out of {site}?",
  "signOut.button": "Sign out",
  "signOut.cancel": "Stay signed in",
  "verifyRequest.title": "Check your e-mail",
  "verifyRequest.text": "A sign-in link has been sent to your e-mail address. Open it to sign in to {site}.",
  "verifyRequest.hint":
    "Nothing arrived? It can take a few minutes. Look in the spam folder, too, or ask for another link.",
  "verifyRequest.back": "Back to sign-in",
  "confirm.title": "Confirm your sign-in",
  "confirm.text": "You are signing in to {site}.",
  "confirm.textAs": "You are signing in to {site} as {email}.",
  "confirm.hint":
    "You did not ask for this? Then close this page: without your confirmation nothing happens.",
  "confirm.button": "Confirm sign-in",
  "error.signIn": "Sign in again",
  "error.continue": "Continue to {site}",
  "error.AccessDenied.title": "You do not have access",
  "error.AccessDenied.text":
    "You do not have permission to sign in. Use another account, or ask the people who run this site for access.",
  "error.AccountNotLinked.title": "This account belongs to someone else",
  "error.AccountNotLinked.text":
    "It is linked to another user of this site. Sign in the way you did before, or use another account.",
  "error.BadRequest.title": "That did not work",
  "error.BadRequest.text":
    "Your browser sent something that this page cannot use. Go back to sign-in and start again.",
  "error.Callback.title": "The sign-in was not completed",
  "error.Callback.text": "Try signing in again, or with a different account.",
  "error.Configuration.title": "Signing in does not work right now",
  "error.Configuration.text":
    "The problem is on our side, not yours. Please tell the people who run this site.",
  "error.CredentialsSignin.title": "Sign in failed",
  "error.CredentialsSignin.text": "Sign in failed. Check the details you provided are correct.",
  "error.Default.title": "Unable to sign in",
  "error.Default.text": "Unable to sign in. Please try again.",
  "error.EmailCreateAccount.title": "No account could be made",
  "error.EmailCreateAccount.text":
    "No account could be made for this e-mail address. Try signing in with a different account.",
  "error.EmailSignin.title": "The e-mail could not be sent",
  "error.EmailSignin.text": "The e-mail could not be sent. Check the address, or try again later.",
  "error.MissingCSRF.title": "This page was open for too long",
  "error.MissingCSRF.text":
    "Try again. If it happens again, allow this site to set cookies: signing in needs them.",
  "error.NotFound.title": "This page does not exist",
  "error.NotFound.text": "The address may be mistyped, or the link may be old.",
  "error.OAuthAccountNotLinked.title": "Sign in with the account you used before",
  "error.OAuthAccountNotLinked.text":
    "There is already a user with this e-mail address. To confirm your identity, sign in with the same account you used originally.",
  "error.OAuthCallbackError.title": "The sign-in was cancelled or refused",
  "error.OAuthCallbackError.text":
    "The sign-in was cancelled or refused. Try again, or try signing in with a different account.",
  "error.OAuthCreateAccount.title": "No account could be made",
  "error.OAuthCreateAccount.text":
    "No account could be made from this sign-in. Try signing in with a different account.",
  "error.OAuthSignin.title": "The sign-in could not be started",
  "error.OAuthSignin.text":
    "The sign-in could not be started. Try again, or try signing in with a different account.",
  "error.SessionRequired.title": "Please sign in",
  "error.SessionRequired.text": "Please sign in to access this page.",
  "error.SessionTooLarge.title": "Signing in does not work for this account",
  "error.SessionTooLarge.text":
    "This account has more data than a session can hold. Please tell the people who run this site.",
  "error.SessionUnreadable.title": "This page cannot be shown right now",
  "error.SessionUnreadable.text":
    "The problem is on our side, not yours. Try again in a moment, or sign in again.",
  "error.Signin.title": "The sign-in was not completed",
  "error.Signin.text": "Try signing in again, or with a different account.",
  "error.SignInExpired.title": "Your sign-in has expired",
  "error.SignInExpired.text":
    "It took too long, or was started in another tab or browser. Please start again.",
  "error.TooManyRequests.title": "Too many attempts",
  "error.TooManyRequests.text": "There were too many attempts. Wait a while, then try again.",
  "error.TooManyRequests.wait": "Try again {when}.",
  "error.Unavailable.title": "Please try again in a moment",
  "error.Unavailable.text": "A service that signing in needs does not answer at the moment.",
  "error.Verification.title": "This link no longer works",
  "error.Verification.text":
    "The sign-in link is no longer valid. It may have been used already, or it may have expired. Ask for a new one.",
  "error.WebAuthnVerificationError.title": "The passkey was not accepted",
  "error.WebAuthnVerificationError.text":
    "It may have been removed here, or the answer took too long. Try again, or choose another sign-in method.",
  "email.subject": "Sign in to {site}",
  "email.text": "Open this link to sign in to {site}:",
  "email.expires": "The link works once, until {date}.",
  "email.ignore": "If you did not ask for this e-mail, you can ignore it.",
} as const;
