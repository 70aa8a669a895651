const SESSION = "/api/pybroker/session";
const state = document.getElementById("state");
const login = document.getElementById("login");
const logout = document.getElementById("logout");
let token = "";

async function show(answer) {
  const document = answer.status === 204 ? {} : await answer.json();
  token = document.csrf_token ?? "";
  const isIn = answer.ok && token !== "";
  login.hidden = isIn;
  logout.hidden = !isIn;
  state.textContent = isIn
    ? `Logged in as ${document.name} (${document.tags.join(", ") || "no tags"})`
    : answer.ok || answer.status === 401 ? "Not logged in" : document.reason;
  return isIn;
}

login.addEventListener("submit", async (event) => {
  event.preventDefault();
  const fields = Object.fromEntries(new FormData(login));
  const headers = { "Content-Type": "application/json" };
  const answer = await fetch(SESSION, { method: "POST", headers, body: JSON.stringify(fields) });
  const refused = !answer.ok;
  if (await show(answer)) login.reset();
  if (refused && answer.status === 401) state.textContent = "Login failed";
});

logout.addEventListener("click", async () => {
  await show(await fetch(SESSION, { method: "DELETE", headers: { "X-CSRF-Token": token } }));
});

await show(await fetch(SESSION));
