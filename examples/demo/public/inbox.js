// Keeps the panel up to date: mail arrives while another window signs in.
const panel = document.querySelector(".inbox");
if (panel) setInterval(update, 2000);

async function update() {
  if (document.hidden) return;
  const response = await fetch("/inbox/panel").catch(() => undefined);
  if (!response?.ok) return;
  const fresh = new DOMParser().parseFromString(await response.text(), "text/html").querySelector(
    ".inbox ol",
  );
  const list = panel.querySelector("ol");
  if (fresh && fresh.textContent !== list.textContent) list.replaceWith(fresh);
}
