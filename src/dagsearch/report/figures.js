"use strict";
let content = JSON.parse(document.getElementById("content").textContent);
let chosen = 0; // the run shown in detail
const live = content.live !== null;

/* Elements. Data of a search enters as text or as a label, never as markup. */

function equip(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (name === "style") for (const [property, set] of Object.entries(value)) element.style.setProperty(property, set);
    else if (value !== null) element.setAttribute(name, value);
  }
  element.append(...children.flat(3).filter((child) => child !== null));
  return element;
}
const html = (tag, attributes = {}, ...children) => equip(document.createElement(tag), attributes, children);
const svg = (tag, attributes = {}, ...children) =>
  equip(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
const list = (kind, entries) => html("ul", { class: kind }, entries.map((entry) => html("li", {}, entry)));

function table(heads, rows, attributes = {}) {
  const kind = (head) => head.kind ?? null;
  const cell = (value, column) => column
    ? html("td", { class: kind(heads[column]), "data-label": heads[column].label ?? heads[column].name }, value)
    : html("th", { class: kind(heads[column]), scope: "row" }, value);
  return html("div", { class: "sideways", tabindex: 0, role: "region", "aria-label": attributes.label ?? "Table" },
    html("table", { class: attributes.class ?? null },
      html("thead", {}, html("tr", {}, heads.map((head) => html("th", { class: kind(head), scope: "col", "aria-sort": head.sort ?? null }, head.name)))),
      html("tbody", {}, rows.map((row) => html("tr", {}, row.map(cell))))));
}

const section = (id, title, text, ...children) =>
  html("section", { id, "aria-labelledby": `${id}-title` },
    html("h2", { id: `${id}-title` }, title), text ? html("p", {}, text) : null, ...children);

/* Numbers and words */

const known = (value) => value !== null && value !== undefined;
const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
function number(value) {
  if (!known(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  const decimals = size < 1 ? 4 : Math.max(0, 3 - Math.floor(Math.log10(size)));
  const text = size < 5e-5 || size >= 1e12 ? value.toExponential(1) : size >= 1e4 ? Math.round(value).toLocaleString("en") : value.toFixed(decimals);
  return text.replaceAll("-", "−");
}
/* Numbers of one table, all with the same number of decimals. */
function alike(values) {
  const found = values.filter((value) => known(value) && Number.isFinite(value));
  const spread = found.reduce((a, b) => Math.max(a, b), -Infinity) - found.reduce((a, b) => Math.min(a, b), Infinity);
  const most = found.reduce((a, b) => Math.max(a, Math.abs(b)), 0);
  const scale = spread > 0 ? spread : most;
  if (most >= 1e12 || (most && scale < 1e-6)) return (value) => (known(value) ? value.toExponential(1).replaceAll("-", "−") : "–");
  const decimals = found.every(Number.isInteger) ? 0 : clamp(2 - Math.floor(Math.log10(scale)), 0, 8);
  const format = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
  return (value) => (known(value) ? value.toLocaleString("en", format).replace(/^-(?=[0.,]*$)/, "").replaceAll("-", "−") : "–");
}
const signed = (text, value) => (value > 0 && /[1-9]/.test(text) ? `+${text}` : text);
const count = (value) => (known(value) ? value.toLocaleString("en") : "–");
function percent(value) {
  if (!known(value)) return "–";
  if (value > 0 && value < 0.005) return "< 1\u00a0%";
  return value < 1 && value > 0.995 ? "> 99\u00a0%" : `${Math.round(100 * value)}\u00a0%`;
}
function duration(seconds) {
  if (!known(seconds)) return "–";
  if (seconds < 90) return seconds < 0.05 ? "0 s" : `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}
const range = (interval, text = number) => (interval?.every(known) ? `${text(interval[0])} to ${text(interval[1])}` : "–");
const capital = (text) => text[0].toUpperCase() + text.slice(1);
const clock = (at) => new Date(1000 * at).toLocaleString();
/* A name may be broken after these characters, rather than anywhere. */
const breakable = (text) => text.split(/(?<=[_\-./:,=])/).flatMap((part, i) => (i ? [html("wbr"), part] : [part]));
const shorten = (text, length) => (text.length > length ? text.slice(0, length - 1) + "…" : text);

/* The meaning of a mark, on hover and by arrow keys; screen readers announce it, too. */

const tip = html("div", { id: "tip", role: "status", hidden: "" });
function showTip(box, lines) {
  tip.replaceChildren(...lines.map((line) => html("div", {}, line)));
  tip.hidden = false;
  const right = document.documentElement.clientWidth - tip.offsetWidth - 8;
  const above = box.top - tip.offsetHeight - 12;
  tip.style.left = `${clamp(box.left - tip.offsetWidth / 2, 8, Math.max(right, 8))}px`;
  tip.style.top = `${above > 8 ? above : box.top + 14}px`;
}
const hideTip = () => { tip.hidden = true; };
document.addEventListener("keydown", (event) => { if (event.key === "Escape") hideTip(); });
addEventListener("scroll", hideTip, { passive: true });

/* Axes */

function ticks(low, high, wanted) {
  const rough = (high - low) / Math.max(wanted, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= rough * (1 - 1e-9)) * power;
  const first = Math.ceil(low / step - 1e-9);
  return Array.from({ length: Math.floor(high / step + 1e-9) - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}
/* The extent of values without outliers: a few very bad leaves must not flatten all others. */
function extent(values) {
  const sorted = values.filter(known).sort((a, b) => a - b);
  if (!sorted.length) return [];
  const quantile = (part) => sorted[Math.round(part * (sorted.length - 1))];
  const reach = 3 * (quantile(0.75) - quantile(0.25)) || Infinity;
  return [Math.max(sorted[0], quantile(0.25) - reach), Math.min(sorted.at(-1), quantile(0.75) + reach)];
}
function spanned(values) {
  const found = values.filter((value) => known(value) && Number.isFinite(value));
  if (!found.length) return [0, 1];
  const [low, high] = [found.reduce((a, b) => Math.min(a, b)), found.reduce((a, b) => Math.max(a, b))];
  const room = (high - low) * 0.06 || Math.abs(high) * 0.05 || 0.5;
  return [low - room, high + room];
}
const path = (points) => points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
/* The best so far, or the value, as a line with steps. */
const stairs = (history, x, y) => path(history.filter((one) => known(one.best)).flatMap((one, i, all) =>
  [...(i ? [[x(one.step), y(all[i - 1].best)]] : []), [x(one.step), y(one.best)]]));

/* A frame with axes; `marks` draws into it, `points` can be pointed at: [x, y, lines of text]. */
function plot(width, { label, xs, ys, xName, points, marks, whole = false }) {
  const height = clamp(width * 0.56, 240, 380);
  const edge = { left: 58, right: 12, top: 10, bottom: 44 };
  const floor = height - edge.bottom;
  const x = (value) => edge.left + 6 + ((value - xs[0]) / (xs[1] - xs[0] || 1)) * (width - edge.left - edge.right - 12);
  const y = (value) => floor - ((value - ys[0]) / (ys[1] - ys[0] || 1)) * (floor - edge.top);
  const values = ticks(ys[0], ys[1], height / 60);
  const steps = ticks(xs[0], xs[1], width / 90).filter((step) => !whole || Number.isInteger(step));
  const text = (all) => {
    const decimals = clamp(Math.ceil(-Math.log10(all.length > 1 ? all[1] - all[0] : 1) - 1e-9), 0, 8);
    return (value) => (Math.abs(value) >= 1e6 ? value.toExponential(0) : value.toFixed(decimals)).replaceAll("-", "−");
  };
  const clip = `clip-${label.length}-${Math.round(width)}-${points.length}`;
  const cursor = svg("circle", { class: "cursor", r: 6, visibility: "hidden" });
  const drawing = svg("svg", {
      viewBox: `0 0 ${width} ${height}`, role: "application", tabindex: points.length ? 0 : null,
      "aria-roledescription": "figure", "aria-label": `${label}. ${points.length ? "Arrow keys move between points." : ""}`,
    },
    svg("clipPath", { id: clip }, svg("rect", { x: edge.left, y: 0, width: Math.max(width - edge.left - edge.right, 0), height: floor + 1 })),
    svg("g", { "aria-hidden": "true" },
      values.map((value) => [
        svg("line", { class: "grid", x1: edge.left, x2: width - edge.right, y1: y(value), y2: y(value) }),
        svg("text", { x: edge.left - 8, y: y(value) + 4, "text-anchor": "end" }, text(values)(value)),
      ]),
      steps.map((step) => svg("text", { x: x(step), y: floor + 20, "text-anchor": "middle" }, text(steps)(step))),
      svg("line", { class: "axis", x1: edge.left, x2: width - edge.right, y1: floor, y2: floor }),
      svg("text", { x: (edge.left + width - edge.right) / 2, y: height - 4, "text-anchor": "middle" }, xName)),
    svg("g", { "clip-path": `url(#${clip})`, "aria-hidden": "true" }, marks(x, y, floor)),
    cursor);
  const places = points.map(([px, py]) => [x(px), clamp(y(py), edge.top, floor - 2)]);
  let at = points.length - 1;
  const show = (index) => {
    at = index;
    cursor.setAttribute("cx", places[index][0]);
    cursor.setAttribute("cy", places[index][1]);
    cursor.setAttribute("visibility", "visible");
    showTip(cursor.getBoundingClientRect(), points[index][2]);
  };
  const leave = () => { cursor.setAttribute("visibility", "hidden"); hideTip(); };
  drawing.addEventListener("pointermove", (event) => {
    const box = drawing.getBoundingClientRect();
    const scale = width / box.width;
    const [px, py] = [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
    let best = -1, away = 30;
    places.forEach(([qx, qy], i) => {
      const distance = Math.hypot(qx - px, qy - py);
      if (distance < away) [best, away] = [i, distance];
    });
    if (best < 0) leave(); else show(best);
  });
  drawing.addEventListener("pointerleave", leave);
  drawing.addEventListener("blur", leave);
  drawing.addEventListener("keydown", (event) => {
    const goal = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: points.length - 1 }[event.key];
    if (goal === undefined) return;
    event.preventDefault();
    show(clamp(goal, 0, points.length - 1));
  });
  return drawing;
}

/* A figure, drawn when its width is known and again when it changes. */
const whenPlaced = [];
function drawn(draw) {
  const frame = html("div");
  whenPlaced.push(() => { if (frame.clientWidth) frame.replaceChildren(draw(frame.clientWidth)); });
  return frame;
}

/* A table with a bar in every row: { label, chosen, value, low, high, text, more, lines }. */
const shownAtFirst = 16;
const unfolded = new Set(); // tables that show all rows, also after an update
function bars(key, heads, entries, [low, high], mark) {
  const share = (value) => (100 * (clamp(value, low, high) - low)) / (high - low || 1);
  const row = (one) => {
    const [from, to] = [Math.min(0, one.value), Math.max(0, one.value)].map(share);
    return html("tr", { class: one.chosen ? "chosen" : null, title: one.lines.join("\n") },
      html("th", { class: "name", scope: "row" }, breakable(one.label), one.chosen ? html("span", { class: "unseen" }, ` (${mark})`) : null),
      html("td", {}, html("div", { class: "track", "aria-hidden": "true" },
        html("div", { class: "fill", style: { left: `${from}%`, width: `${to - from}%` } }),
        html("div", { class: "zero", style: { left: `${share(0)}%` } }),
        html("div", { class: "interval", style: { left: `${share(one.low)}%`, width: `${share(one.high) - share(one.low)}%` } }))),
      html("td", { class: "value figure" }, one.text), html("td", { class: "value figure" }, one.more));
  };
  const body = html("tbody", {}, entries.slice(0, unfolded.has(key) ? entries.length : shownAtFirst).map(row));
  const more = html("button", { type: "button", click: () => {
    unfolded.add(key);
    more.remove();
    body.append(...entries.slice(shownAtFirst).map(row));
  } }, `Show all ${count(entries.length)}`);
  const [name, value, other] = heads;
  return [
    html("table", { class: "bars" },
      html("thead", {}, html("tr", {}, html("th", { class: "name", scope: "col" }, name),
        html("th", { scope: "col" }, html("span", { class: "unseen" }, `${value}, drawn`)),
        html("th", { class: "value figure", scope: "col" }, value), html("th", { class: "value figure", scope: "col" }, other))),
      body),
    entries.length > body.rows.length ? more : null,
  ];
}

const sample = (...shapes) => svg("svg", { viewBox: "0 0 24 12", "aria-hidden": "true" }, shapes);
const dots = (points, many) =>
  svg("path", { class: many ? "dots many" : "dots", d: points.map(([x, y]) => `M${x.toFixed(1)} ${y.toFixed(1)}h0`).join("") });
