// Ends sessions. No form can send a DELETE, and no other site's script may.
for (const button of document.querySelectorAll("[data-end]")) {
  button.disabled = false;
  button.addEventListener("click", async () => {
    button.disabled = true;
    const { end } = button.dataset;
    await fetch(end === "" ? "/devices" : `/devices?id=${encodeURIComponent(end)}`, { method: "DELETE" });
    location.reload();
  });
}
