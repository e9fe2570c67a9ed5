// Whatever posts to /auth must carry the CSRF token that belongs to the browser's cookie. The pages are the same for
// all users, so this asks for the token and puts it into their forms, whose buttons wait for it.
const forms = document.querySelectorAll('form[method="post"][action^="/auth/"]');

if (forms.length > 0) {
  const response = await fetch("/auth/csrf");
  const { csrfToken } = await response.json();
  for (const form of forms) {
    form.elements.csrfToken.value = csrfToken;
    for (const button of form.querySelectorAll("button")) button.disabled = false;
  }
}
