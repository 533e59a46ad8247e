/* The sections that only a feature selection has. `selection` is the content of result.json. */

const named = (features) => (features.length ? features.join(", ") : "no features");
function simplerChoice({ result }) {
  if (!result.simpler) return null;
  const { features, score } = result.simpler;
  return html("p", { id: "simpler" },
    `A simpler choice scores ${number(score)}, within one standard error: ${named(features)}.`);
}

const warningsSection = ({ warnings }) => section("warnings", warnings.length > 1 ? "Warnings" : "Warning", null, list(null, warnings));

function sizesSection({ by_size: sizes, result }) {
  const reach = (entry) => entry.error ?? 0;
  const size = (entry) => entry.features.length;
  const best = sizes.reduce((one, other) => (other.score > one.score ? other : one));
  const draw = (width) => plot(width, {
    label: "Best score by number of features", xName: "number of features", whole: true,
    xs: [size(sizes[0]) - 0.2, size(sizes.at(-1)) + 0.2],
    ys: spanned(sizes.flatMap((entry) => [entry.score - reach(entry), entry.score + reach(entry)])),
    points: sizes.map((entry) => [size(entry), entry.score, [`${count(size(entry))} features: score ${number(entry.score)}`,
      `Standard error ${number(entry.error)}, best of ${count(entry.subsets)} subsets`, named(entry.features)]]),
    marks: (x, y) => [
      svg("path", { class: "within", d: `M0 ${y(best.score - reach(best)).toFixed(1)}H${width}` }),
      svg("path", { class: "size-line", d: path(sizes.map((entry) => [x(size(entry)), y(entry.score)])) }),
      svg("path", { class: "size-error", d: sizes.map((entry) => `M${x(size(entry)).toFixed(1)} ${y(entry.score - reach(entry)).toFixed(1)}V${y(entry.score + reach(entry)).toFixed(1)}`).join("") }),
      sizes.map((entry) => svg("circle", { class: size(entry) === result.features.length ? "size-mark chosen" : "size-mark",
        cx: x(size(entry)), cy: y(entry.score), r: size(entry) === result.features.length ? 6 : 4.5 })),
    ],
  });
  return section("sizes", "Score against number of features",
    "Best cross-validated score of each size, with its standard error; the chosen size is blue. The dashed line is one standard error below the best score.",
    drawn(draw));
}

function comparisonsSection({ comparisons, result }) {
  const heldOut = [result, ...comparisons].some((row) => known(row.holdout_score));
  const ranged = [result, ...comparisons].some((row) => row.holdout_interval);
  const heads = [{ name: "Method" }, ...["Features", "Subsets", "Score", "Expected (90 % CI)", ...(heldOut ? ["Hold-out"] : []), ...(ranged ? ["Hold-out (90 % CI)"] : [])]
    .map((name) => ({ name, kind: "figure" }))];
  const own = { ...result, name: html("strong", {}, "this selection"), features: result.features.length, subsets: result.evaluations, interval: result.score_interval };
  const text = alike([own, ...comparisons].flatMap((row) => [row.score, row.holdout_score, ...(row.interval ?? []), ...(row.holdout_interval ?? [])]));
  const rows = [own, ...comparisons].map((row) => [row.name, count(row.features), count(row.subsets), text(row.score), range(row.interval, text),
    ...(heldOut ? [text(row.holdout_score)] : []), ...(ranged ? [range(row.holdout_interval, text)] : [])]);
  return section("comparisons", "Compared with other methods", null, table(heads, rows, { class: "cards", label: "Comparisons" }));
}

function codeSection({ code }) {
  const shown = html("pre", { tabindex: 0, role: "region", "aria-label": "Code" }, code);
  const button = html("button", { type: "button", click: copy }, "Copy");
  async function copy() {
    try {
      await navigator.clipboard.writeText(code);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(shown); // without permission the reader copies the selection
    }
  }
  return section("code", "In Python", null, shown, button);
}

function settingsSection({ settings, notes }) {
  const rows = Object.entries(settings).map(([name, value]) => [name, known(value) ? String(value) : "–"]);
  return section("settings", "Settings", null, table([{ name: "Setting" }, { name: "Value", kind: "long" }], rows, { label: "Settings" }),
    notes.length ? [html("h3", {}, "Changes to the table"), list("notes", notes)] : null);
}
