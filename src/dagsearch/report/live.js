/* Steering */

let sent = ""; // what became of the last request; it stays when the page is updated
function say(text) {
  sent = text;
  document.getElementById("sent")?.replaceChildren(visible(sent));
}
async function steer(action, value = null) {
  say("Sending …");
  try {
    const answer = await fetch("steer", { method: "POST", headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ run: chosen, action, value }) });
    const told = await answer.json();
    say(answer.ok ? "Sent. The search takes it at its next step." : `Not sent: ${told.error}`);
  } catch { say("Not sent: the page's server does not answer."); }
}
/* A leaf in the form of the log. Where numbers stand for names, it is written by names: as JSON, or with commas. */
function asLeaf(text, labels) {
  let found;
  try { found = JSON.parse(text); } catch {
    if (!labels) throw new Error("the leaf must be JSON, as in the example");
    found = text.split(",").map((name) => name.trim());
  }
  if (!labels || !Array.isArray(found)) return found;
  return found.map((one) => {
    const place = labels.map(visible).indexOf(visible(String(one)));
    if (place < 0) throw new Error(`there is no ${one}`);
    return place;
  });
}
/* A leaf as a drop-down for every choice, or as text; both begin with the best leaf. */
function leafFields(run) {
  const best = run.best_encoded;
  if (run.choices) {
    const python = { null: "None", true: "True", false: "False" };
    const shown = (value) => (typeof value === "string" ? value : python[value] ?? JSON.stringify(value));
    const option = (value, text, now) => html("option", { value, ...(now ? { selected: "" } : {}) }, text);
    // A choice that some leaves do not make may be left out, which is not the same as None.
    return run.choices.map(({ name, options, optional, made, best: now }, at) => html("label", {}, name,
      html("select", { name: `proposed-${at}` }, optional ? option("", "–", !made) : null,
        options.map((value, i) => option(i, shown(value), made && JSON.stringify(value) === JSON.stringify(now))))));
  }
  const items = best?.set ?? best;
  const text = !known(best) ? "" : run.labels && Array.isArray(items) ? items.map((one) => run.labels[one] ?? one).join(", ") : JSON.stringify(best);
  return html("label", { class: "wide" }, `A ${run.words.leaf}, ${run.labels ? "by names" : "as JSON"}`,
    html("input", { name: "proposed", type: "text", required: "", autocomplete: "off", value: text }));
}
function leafOf(run, values) {
  if (!run.choices) return asLeaf(values.proposed, run.labels);
  const chosen = run.choices.map(({ name, options }, at) => [name, values[`proposed-${at}`], options])
    .filter(([, place]) => place !== "").map(([name, place, options]) => [name, options[Number(place)]]);
  return Array.isArray(run.best_encoded) ? chosen : Object.fromEntries(chosen);
}
function steerSection(run) {
  const requests = run.requests.length ? table([{ name: "Time" }, { name: "Request", kind: "long" }, { name: "Answer", kind: "long" }],
    run.requests.map((one) => [clock(one.at), one.what, one.refused ? html("span", { class: "refused" }, `refused: ${one.answer}`) : one.answer ?? "not taken yet"]), { label: "Requests", class: "cards" }) : null;
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
      form("Propose", leafFields(run), (values) => steer("propose", leafOf(run, values)))),
    html("p", { id: "sent", role: "status" }, sent), requests);
}

/* The page */

let held = false;
const main = html("main");
function sections() {
  chosen = Math.min(chosen, content.runs.length - 1);
  const run = content.runs[chosen];
  document.title = visible(`${run.name} · ${number(run.best)} · dagsearch`);
  const found = run.selection ?? null;
  const own = (make, when = true) => (found && when ? make(found) : null);
  return [headline(run), content.runs.length > 1 ? comparisonSection() : null, own(warningsSection, found?.warnings.length), content.steer ? steerSection(run) : null, progressSection(run), calibrationSection(run), own(inclusionSection),
    own(sizesSection, found?.by_size.length), gainSection(run), run.effects ? effectsSection(run) : null, own(codeSection, found?.code), dagSection(run),
    leavesSection(run), own(comparisonsSection, found?.comparisons.length), pendingSection(run), own(settingsSection)].filter(known);
}
/* On a wide screen, sections of half its width stand in two columns of about the same height, without holes. Each keeps
   its column when the page is updated, unless that would leave much room empty; tables that were opened do not count. */
const columns = new Map(); // of sections, by their ids
const uneven = (group, sides) => Math.abs(group.reduce((sum, { weight }, i) => sum + (sides[i] ? weight : -weight), 0));
function sidesOf(group) {
  const before = group.map(({ id }) => columns.get(id));
  const all = Array.from({ length: 2 ** (group.length - 1) }, (_, which) => group.map((_, i) => (which >> (i - 1)) & (i ? 1 : 0)));
  const best = all.reduce((one, other) => (uneven(group, other) < uneven(group, one) ? other : one));
  return before.every(known) && uneven(group, before) < uneven(group, best) + 120 ? before : best;
}
function arrange() {
  if (getComputedStyle(main).gridTemplateColumns.split(" ").length < 2) return;
  main.classList.add("measured");
  const [row, gap] = [4, 20];
  const measured = [...main.children].map((element) => ({ element, id: element.id, height: element.offsetHeight + gap,
    half: getComputedStyle(element).gridColumnEnd !== "-1" }));
  main.classList.remove("measured");
  const opened = ({ element }) => [...element.querySelectorAll("details[open] > .sideways")].reduce((sum, one) => sum + one.offsetHeight, 0);
  for (const one of measured) one.weight = one.height - opened(one);
  const rows = (height) => Math.ceil(height / row);
  const put = ({ element }, begin, end) => {
    element.style.setProperty("--rows", `${begin + 1} / ${end - gap / row + 1}`);
    element.style.setProperty("--least", `${(end - begin) * row - gap}px`);
  };
  let top = 0;
  while (measured.length) {
    const full = measured.findIndex((one) => !one.half);
    const group = measured.splice(0, full < 0 ? measured.length : full);
    if (group.length) {
      const sides = sidesOf(group);
      const ends = [top, top];
      const spots = group.map((one, i) => [ends[sides[i]], (ends[sides[i]] += rows(one.height))]);
      const bottom = Math.max(...ends);
      group.forEach((one, i) => {
        columns.set(one.id, sides[i]);
        one.element.style.setProperty("--column", sides[i] + 1);
        put(one, spots[i][0], sides.lastIndexOf(sides[i]) === i ? bottom : spots[i][1]); // the last one fills its column
      });
      top = bottom;
    }
    for (const one of measured.splice(0, 1)) put(one, top, (top += rows(one.height)));
  }
}
const observer = new ResizeObserver(arrange);
main.addEventListener("toggle", arrange, true); // a table that is closed leaves its section as high as it was

/* Only what has changed is replaced, and never what the reader is using. */
const shownAs = new Map();
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
    if ((focus?.matches("input, select") && fresh.id !== "headline") || old.querySelector(".held")) continue;
    const place = focus ? [...old.querySelectorAll(focusable)].indexOf(focus) : -1;
    const opened = [...old.querySelectorAll("details")].map((one) => one.open);
    const scrolled = [...old.querySelectorAll(".sideways")].map((one) => one.scrollLeft);
    old.replaceWith(fresh);
    [...fresh.querySelectorAll("details")].forEach((one, i) => { one.open = opened[i] ?? false; });
    [...fresh.querySelectorAll(".sideways")].forEach((one, i) => { one.scrollLeft = scrolled[i] ?? 0; });
    shownAs.set(fresh.id, place);
  }
  whenPlaced.forEach((draw) => draw());
  arrange();
  observer.disconnect();
  [...main.children].forEach((one) => observer.observe(one));
  for (const [id, place] of shownAs)
    if (place >= 0) document.getElementById(id).querySelectorAll(focusable)[place]?.focus({ preventScroll: true });
  shownAs.clear();
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
    const answer = held ? null : await fetch(`data?seen=${encodeURIComponent(content.version)}`, { cache: "no-store" });
    if (answer?.status === 200) { content = await answer.json(); render(); }
    document.getElementById("connection")?.replaceChildren(answer && !answer.ok && answer.status !== 204 ? "The server refuses to answer." : "");
  } catch { document.getElementById("connection")?.replaceChildren("The page's server has ended."); }
  setTimeout(poll, 1000 * content.live.every);
}
if (live) setTimeout(poll, 1000 * content.live.every);
