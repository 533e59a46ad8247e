/* The sections that only a feature selection has. `selection` is the content of result.json. */

const named = (features) => (features.length ? features.join(", ") : "no features");
const stops = {
  budget: "Budget spent", target: "Target reached", patience: "No improvement", seconds: "Time limit",
  exhausted: "All subsets scored", callback: "By a callback", interrupted: "Interrupted", steered: "By request",
};

function selectionFacts({ result, data, honest }) {
  const within = (interval) => (interval?.every(known) ? `90% interval ${range(interval)}` : null);
  const join = (...notes) => notes.filter(known).join(", ") || null;
  const facts = [
    result.signal === false ? null : fact("Expected on new rows", number(result.expected_score), within(result.score_interval)),
    fact("Cross-validated score", number(result.score),
      known(result.optimism) ? `about ${number(result.optimism)} too high, because it was used to choose` : "too high, because it was used to choose"),
  ];
  if (known(result.holdout_score))
    facts.push(fact("Hold-out score", number(result.holdout_score),
      join(known(data.holdout_rows) ? `on ${count(data.holdout_rows)} rows set aside` : null, within(result.holdout_interval))));
  if (honest)
    facts.push(fact("Nested cross-validation", number(honest.score),
      join(within(honest.interval), known(honest.baseline) ? `without any feature ${number(honest.baseline)}` : null,
        `subsets of two folds overlap by ${percent(honest.stability)}`)));
  facts.push(fact("Subsets scored", count(result.evaluations),
    join(known(result.seconds) ? `in ${duration(result.seconds)}` : null, result.failed ? `${count(result.failed)} failed` : null)));
  facts.push(fact("Stopped", stops[result.stopped] ?? result.stopped ?? "–"));
  return facts;
}

function simplerChoice({ result }) {
  if (!result.simpler) return null;
  const { features, score } = result.simpler;
  return html("p", { id: "simpler" },
    `A simpler choice scores ${number(score)}, within one standard error of the difference, fold by fold: ${named(features)}.`);
}

/* How far the model's predictions count; how often they held is told by the section itself. */
function modelText(model) {
  if (!model || model.reason) return ""; // the reason is in the headline
  const predicted = known(model.skill) ? `The model predicted ${percent(Math.max(model.skill, 0))} of the variance of the latter half of the scores beforehand. ` : "";
  return `${predicted}Weight of the model in the probabilities below: ${percent(model.trust)}.`;
}

const warningsSection = ({ warnings }) => section("warnings", warnings.length > 1 ? "Warnings" : "Warning", null, list(null, warnings));

function inclusionSection({ features, model }) {
  const chance = (value) => (known(value) && value < 0.005 ? "< 1%" : percent(value)); // none of the samples does not mean impossible
  const certain = features.filter((feature) => known(feature.inclusion)).sort((a, b) => b.inclusion - a.inclusion || b.selected - a.selected);
  if (!certain.length) return section("inclusion", "Features by inclusion probability", model ? `${model.sentence}.` : "The probabilities are not known.");
  const entries = certain.map((feature) => {
    const interval = feature.interval?.every(known) ? feature.interval : null;
    const between = interval ? `, between ${chance(interval[0])} and ${chance(interval[1])}` : "";
    return {
      label: feature.name, chosen: feature.selected, value: feature.inclusion, low: interval?.[0], high: interval?.[1],
      text: chance(feature.inclusion), seen: count(feature.evaluated_in),
      lines: [feature.name + (feature.selected ? " (chosen)" : ""), `Inclusion ${chance(feature.inclusion)}${between}`,
        `In ${count(feature.evaluated_in)} of the subsets scored`],
    };
  });
  const unknown = certain.length < features.length && model ? ` Of ${count(features.length - certain.length)} features it is not known. ${model.sentence}.` : "";
  return section("inclusion", "Features by inclusion probability",
    `Probability that each feature is part of the best subset; the thin line is its 90% interval.${unknown}`,
    list("legend", [[html("span", { class: "swatch chosen" }), "chosen"], [html("span", { class: "swatch bar" }), "not chosen"]]),
    bars("inclusion", ["Feature", "probability", "subsets"], entries, [0, 1], "chosen"));
}

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
  const heads = [{ name: "Number of features" }, { name: "Best score", kind: "figure" }, { name: "Standard error", kind: "figure" },
    { name: "Subsets", kind: "figure" }, { name: "Features", kind: "long" }];
  return section("sizes", "Score against number of features",
    "The best cross-validated score of each size, with its standard error; the chosen size is blue. The dashed line is the best score " +
      "less its standard error. Sizes for which few subsets were scored may do better than shown.",
    drawn(draw),
    asTable(heads, () => sizes.map((entry) => [String(size(entry)), number(entry.score), number(entry.error), count(entry.subsets), named(entry.features)])));
}

/* Three digits fit a cell: +.012 rather than +0.0120. */
function shortChange(change) {
  const size = Math.abs(change);
  const text = size < 0.0005 ? "0" : size < 1 ? size.toFixed(3).replace(/^0/, "") : Number(size.toPrecision(2)).toString();
  return (text === "0" ? "" : change > 0 ? "+" : "−") + text;
}
function heatCell(change, row, column, most, roomy) {
  const cell = html("td", {
    class: known(change) ? null : "unknown",
    style: { "--strength": known(change) && most ? Math.abs(change) / most : 0, "--side": `var(--${change > 0 ? "gain" : "loss"})` },
  }, html("span", { class: roomy ? null : "unseen" }, known(change) ? shortChange(change) : "–"));
  explain(cell, [known(change) ? `${signed(change)} expected` : "Unknown", `${column} instead of ${row}`]);
  return cell;
}
function drawSubstitutes(width, { selected, candidates, change }) {
  const most = change.flat().filter(known).reduce((largest, value) => Math.max(largest, Math.abs(value)), 0);
  const names = clamp(width * 0.36, 90, 190);
  const above = clamp(7 * Math.max(...candidates.map((name) => name.length)), 40, 190);
  const cell = clamp((width - names) / candidates.length - 2, 14, 56);
  const cells = selected.map((row, i) => candidates.map((column, j) => heatCell(change[i]?.[j] ?? null, row, column, most, cell >= 40 && most >= 0.001)));
  rove(cells.flat(), inGrid(selected.length * candidates.length, candidates.length));
  const total = names + candidates.length * (cell + 2) + 4;
  return html("div", {},
    html("p", { class: "legend" }, html("span", {}, `worse by ${number(most)}`, html("span", { class: "ramp" }), `better by ${number(most)}`)),
    html("div", { class: "sideways" },
      html("table", { class: "heat", style: { "--cell": `${cell}px`, "--names": `${names}px`, "--above": `${above}px`, width: `${total}px` } },
        html("thead", {}, html("tr", {}, html("th", { scope: "col" }, "chosen ↓  instead →"),
          candidates.map((name) => html("th", { scope: "col" }, html("div", { class: "cut" }, name))))),
        html("tbody", {}, selected.map((name, i) => html("tr", {}, html("th", { scope: "row" }, breakable(name)), cells[i]))))));
}
function substitutesSection({ substitutes }) {
  const heading = "How features substitute for each other";
  if (!substitutes.selected.length || !substitutes.candidates.length) return section("substitutes", heading, "There are no substitutes to show.");
  return section("substitutes", heading,
    "Expected change of the score if the feature of a row is replaced by that of a column. Near zero, the two features can replace each other.",
    drawn((width) => drawSubstitutes(width, substitutes)));
}

function comparisonsSection({ comparisons, result }) {
  const heldOut = [result, ...comparisons].some((row) => known(row.holdout_score));
  const ranged = [result, ...comparisons].some((row) => row.holdout_interval);
  const heads = [{ name: "Method" }, ...["Features", "Subsets", "Score", "On new rows, 90%", ...(heldOut ? ["Hold-out"] : []), ...(ranged ? ["Hold-out, 90%"] : [])]
    .map((name) => ({ name, kind: "figure" }))];
  const own = { ...result, name: html("strong", {}, "this selection"), features: result.features.length, subsets: result.evaluations, interval: result.score_interval };
  const rows = [own, ...comparisons].map((row) => [row.name, count(row.features), count(row.subsets), number(row.score), range(row.interval),
    ...(heldOut ? [number(row.holdout_score)] : []), ...(ranged ? [range(row.holdout_interval)] : [])]);
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
      getSelection().selectAllChildren(shown); // without permission, for the reader to copy
    }
  }
  return section("code", "In Python", null, shown, button);
}

function settingsSection({ settings, notes }) {
  const rows = Object.entries(settings).map(([name, value]) => [name, known(value) ? String(value) : "–"]);
  return section("settings", "Settings", null, table([{ name: "Setting" }, { name: "Value", kind: "long" }], rows, { label: "Settings" }),
    notes.length ? [html("h3", {}, "What was done to the table"), list("notes", notes)] : null);
}
