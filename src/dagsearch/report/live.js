/* Steering */

let sent = ""; // the status of the last request; it stays when the page is updated
function say(text) {
  sent = text;
  document.getElementById("sent")?.replaceChildren(sent);
}
async function steer(action, value = null) {
  say("Sending …");
  try {
    const answer = await fetch("steer", { method: "POST", headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ run: chosen, action, value }) });
    const reply = await answer.json();
    say(answer.ok ? "Sent. The search reads it before its next evaluation." : `Not sent: ${reply.error}`);
  } catch { say("Not sent: the page's server does not answer."); }
}
/* A leaf in the form of the log. If numbers stand for names, users write names: as JSON, or with commas. */
function asLeaf(text, labels) {
  let found;
  try { found = JSON.parse(text); } catch {
    if (!labels) throw new Error("the leaf must be JSON, as in the example");
    found = text.split(",").map((name) => name.trim());
  }
  if (!labels || !Array.isArray(found)) return found;
  return found.map((one) => {
    const place = labels.indexOf(String(one));
    if (place < 0) throw new Error(`there is no item ${one}`);
    return place;
  });
}
/* The best leaf as editable text. */
function leafField(run) {
  const best = run.best_encoded;
  const items = best?.set ?? best;
  const text = !known(best) ? "" : run.labels && Array.isArray(items) ? items.map((one) => run.labels[one] ?? one).join(", ") : JSON.stringify(best);
  return html("label", { class: "wide" }, `A ${run.words.leaf}, ${run.labels ? "by names" : "as JSON"}`,
    html("input", { name: "proposed", type: "text", required: "", autocomplete: "off", value: text }));
}
function steerSection(run) {
  const requests = run.requests.length ? table([{ name: "Time" }, { name: "Request", kind: "long" }, { name: "Answer", kind: "long" }],
    run.requests.map((one) => [clock(one.at), one.what, one.answer?.startsWith("refused") ? html("span", { class: "refused" }, one.answer) : one.answer ?? "pending"]), { label: "Requests", class: "cards" }) : null;
  if (!["running", "paused", "stopping"].includes(run.state)) return section("steer", "Steer", "The search is no longer running.", requests);
  const button = (name, act) => html("button", { type: "button", click: act }, name);
  const total = html("label", {}, "Total evaluations",
    html("input", { name: "budget", type: "number", required: "", autocomplete: "off", step: "any", value: run.budget }));
  const form = (name, fields, act) => html("form", { submit: (event) => {
    event.preventDefault();
    const values = Object.fromEntries(new FormData(event.target));
    try { act(values); } catch (error) { say(`Not sent: ${error.message}`); }
  } }, fields, html("button", { type: "submit" }, name));
  return section("steer", "Steer", "Every request is written to the log of the run.",
    html("div", { class: "tools" },
      run.state === "paused" ? button("Continue", () => steer("continue")) : button("Pause", () => steer("pause")),
      button("Finish running evaluations, then stop", () => steer("stop"))),
    form("Set budget", total, (values) => steer("budget", Number(values.budget))),
    html("details", {}, html("summary", {}, `Propose a ${run.words.leaf} to evaluate next`),
      form("Propose", leafField(run), (values) => steer("propose", asLeaf(values.proposed, run.labels)))),
    html("p", { id: "sent", role: "status" }, sent), requests);
}

/* The page */

const main = html("main");
function sections() {
  chosen = Math.min(chosen, content.runs.length - 1);
  const run = content.runs[chosen];
  document.title = `${run.name} · ${number(run.best)} · dagsearch`;
  const found = run.selection ?? null;
  const own = (make, when = true) => (found && when ? make(found) : null);
  return [headline(run), content.runs.length > 1 ? comparisonSection() : null, own(warningsSection, found?.warnings.length),
    content.live?.steer ? steerSection(run) : null, progressSection(run), calibrationSection(run), effectsSection(run), pathSection(run), gainSection(run),
    own(sizesSection, found?.by_size.length), own(codeSection, found?.code),
    own(comparisonsSection, found?.comparisons.length), pendingSection(run), evaluationsSection(run), own(settingsSection)].filter(known);
}

/* Elements in use are not replaced. */
const focusable = "a, button, input, select, summary, [tabindex]";
function render() {
  whenPlaced.length = 0;
  const all = sections();
  const ids = new Set(all.map((one) => one.id));
  [...main.children].filter((one) => !ids.has(one.id)).forEach((one) => one.remove()); // of another run
  for (const [at, fresh] of all.entries()) {
    const old = document.getElementById(fresh.id);
    if (!old) { main.insertBefore(fresh, main.children[at] ?? null); continue; }
    const focus = old.contains(document.activeElement) ? document.activeElement : null;
    if (focus?.matches("input, select") && fresh.id !== "headline") continue;
    const place = [...old.querySelectorAll(focusable)].indexOf(focus);
    const opened = [...old.querySelectorAll("details")].map((one) => one.open);
    const scrolled = [...old.querySelectorAll(".sideways")].map((one) => one.scrollLeft);
    old.replaceWith(fresh);
    [...fresh.querySelectorAll("details")].forEach((one, i) => { one.open = opened[i] ?? false; });
    [...fresh.querySelectorAll(".sideways")].forEach((one, i) => { one.scrollLeft = scrolled[i] ?? 0; });
    fresh.querySelectorAll(focusable)[place]?.focus({ preventScroll: true });
  }
  whenPlaced.forEach((draw) => draw());
}
document.body.append(main, html("footer", {}, `dagsearch ${content.runs[0].dagsearch}`), tip);
render();
let width = document.documentElement.clientWidth;
addEventListener("resize", () => {
  if (width === document.documentElement.clientWidth) return;
  width = document.documentElement.clientWidth;
  whenPlaced.forEach((draw) => draw());
});

async function poll() {
  try {
    const answer = await fetch(`data?seen=${encodeURIComponent(content.live.version)}`, { cache: "no-store" });
    if (answer.status === 200) { content = await answer.json(); render(); }
    document.getElementById("connection")?.replaceChildren(!answer.ok ? "The server refused the request." : "");
  } catch { document.getElementById("connection")?.replaceChildren("The page's server has stopped."); }
  setTimeout(poll, 1000 * content.live.every);
}
if (live) setTimeout(poll, 1000 * content.live.every);
