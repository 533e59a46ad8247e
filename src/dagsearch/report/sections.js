/* The sections, in the order of the page */

function headline(run) {
  const runs = content.runs;
  const which = html("select", { id: "run", change: (event) => { chosen = Number(event.target.value); render(); } },
    runs.map((one, i) => html("option", { value: i, ...(i === chosen ? { selected: "" } : {}) }, one.name)));
  const tile = ([name, value, remark]) => html("div", {}, html("dt", {}, name),
    html("dd", {}, html("span", { class: "value" }, value), remark ? html("small", {}, remark) : null));
  return html("section", { id: "headline", "aria-labelledby": "title" },
    html("p", { class: "source" }, run.source.join(" · ")),
    html("h1", { id: "title" }, run.sentence.replace(/(\d) (s|min|h|days|%)(?!\p{L})/gu, "$1\u00a0$2")),
    run.best_leaf ? list("chips", run.best_leaf.slice(0, 40)) : null,
    html("dl", { class: "facts" }, run.tiles.map(tile)),
    run.selection ? simplerChoice(run.selection) : null,
    runs.length > 1 ? html("label", { for: "run" }, "Run shown in detail", which) : null,
    live ? html("span", { class: "refused", role: "status", id: "connection" }) : null,
    run.problem_text ? html("p", { class: "refused" }, run.problem_text) : null);
}

function progressSection(run) {
  const { history, failed, forecast, words } = run;
  const heading = `${capital(words.reward)}s over time`;
  if (!history.length) return section("progress", heading, `No ${words.reward} is known yet.`);
  const last = Math.max(history.at(-1).step, forecast.at(-1)?.step ?? 1, failed.at(-1) ?? 1, 2);
  const draw = (width) => plot(width, {
    label: `${capital(words.reward)} of each ${words.evaluation}, the ${words["so far"]}${forecast.length ? ", and its forecast" : ""}`,
    xs: [1, last], xName: `${words.evaluation}s`, whole: true,
    ys: spanned([...extent(history.map((one) => one.reward)), ...history.slice(-1).map((one) => one.best),
      ...forecast.flatMap((one) => [one.low, one.high])]),
    points: history.map((one) => [one.step, one.reward, [
      capital(words.reward) + ` ${number(one.reward)}` + (known(one.deviation) ? ` ± ${number(one.deviation)}` : ""),
      `${capital(words.evaluation)} ${one.step}, ${words["so far"]} ${number(one.best)}`, shorten(one.leaf.join(", "), 300)]]),
    marks: (x, y, floor) => {
      const band = [...forecast.map((one) => [x(one.step), y(one.high)]), ...forecast.map((one) => [x(one.step), y(one.low)]).reverse()];
      return [
        svg("path", { class: "band", d: path(band) }),
        svg("path", { class: "failed", d: failed.map((step) => `M${(x(step) - 3).toFixed(1)} ${floor - 7}l6 6m0 -6l-6 6`).join("") }),
        dots(history.map((one) => [x(one.step), y(one.reward)]), history.length > 300),
        svg("path", { class: "ahead", d: path(forecast.map((one) => [x(one.step), y(one.mean)])) }),
        svg("path", { class: "best-line", d: stairs(history, x, y) }),
      ];
    },
  });
  const legend = [
    [sample(svg("circle", { cx: 12, cy: 6, r: 4, fill: "var(--point)" })), `a ${words.leaf}`],
    [sample(svg("path", { class: "best-line", d: "M0 6h24" })), words["so far"]],
    forecast.length ? [sample(svg("rect", { class: "band", width: 24, height: 12 }), svg("path", { class: "ahead", d: "M0 6h24" })),
      "forecast of the best, 90 % interval"] : null,
    failed.length ? [sample(svg("path", { class: "failed", d: "M9 3l6 6m0 -6l-6 6" })), "failed"] : null,
  ].filter(known);
  const thinned = run.rewards > history.length ? `${count(history.length)} of ${count(run.rewards)} evaluations are shown, including every improvement.` : null;
  return section("progress", heading, thinned, list("legend", legend), drawn(draw));
}

function calibrationSection(run) {
  const { calibration, words } = run;
  const heading = `Predicted and actual ${words.reward}s`;
  const points = run.history.filter((one) => one.predicted).slice(-400);
  if (!points.length) return null;
  const text = calibration
    ? `${percent(calibration.covered)} of the last ${count(calibration.count)} ${words.reward}s were inside their predicted 90 % interval` +
      `${known(calibration.r2) ? `; R² of the predictions: ${calibration.r2.toFixed(2).replace("-", "−")}` : ""}.`
    : "Too few predictions for a calibration.";
  const draw = (width) => {
    const ys = spanned(extent(points.map((one) => one.reward)));
    // No interval exceeds the range of rewards; wide ones end at the frame so that they do not squeeze good predictions.
    const [lowest, highest] = run.bounds.map((end, i) => end ?? (i ? Infinity : -Infinity));
    const possible = (value) => clamp(value, lowest, highest);
    const end = (one, side) => possible(one.predicted[0] + side * 1.645 * one.predicted[1]);
    const framed = (value) => clamp(value, 2 * ys[0] - ys[1], 2 * ys[1] - ys[0]);
    const xs = spanned(points.flatMap((one) => [one.reward, framed(end(one, -1)), framed(end(one, 1))]));
    return plot(width, {
      label: `Predicted against actual ${words.reward}`, xs, ys, xName: `predicted ${words.reward}`,
      points: points.map((one) => [possible(one.predicted[0]), one.reward, [
        `${capital(words.reward)} ${number(one.reward)}`, `Predicted ${number(one.predicted[0])} ± ${number(one.predicted[1])}`,
        `${capital(words.evaluation)} ${one.step}`]]),
      marks: (x, y) => [
        svg("path", { class: "axis", fill: "none", d: path([[x(ys[0]), y(ys[0])], [x(ys[1]), y(ys[1])]]) }),
        svg("path", { class: "whisker", d: points.map((one) =>
          `M${x(end(one, -1)).toFixed(1)} ${y(one.reward).toFixed(1)}H${x(end(one, 1)).toFixed(1)}`).join("") }),
        dots(points.map((one) => [x(possible(one.predicted[0])), y(one.reward)]), points.length > 150),
      ],
    });
  };
  const legend = [
    [sample(svg("path", { class: "axis", d: "M4 12L20 0" })), "a perfect prediction"],
    [sample(svg("path", { class: "whisker", d: "M0 6h24" }), svg("circle", { cx: 12, cy: 6, r: 4, fill: "var(--point)" })), `a ${words.leaf}, with its predicted 90 % interval`],
  ];
  return section("calibration", heading, text, list("legend", legend), drawn(draw));
}

function gainSection(run) {
  const heads = [{ name: capital(`${run.words.evaluation}s`) }, { name: "Expected gain", kind: "figure" }, { name: "90 % interval", kind: "figure" }, { name: "Probability of any gain", kind: "figure" }];
  const found = run.forecast.filter((one) => [1, 10, 100, 1000].includes(one.n) || (run.left && one === run.forecast.at(-1)));
  const gain = (value) => Math.abs(value - run.forecast[0].mean);
  const text = alike(found.flatMap((one) => [one.mean, one.low, one.high].map(gain)));
  const rows = found.map((one) => [`${count(one.n)} more${one.n === run.left ? " (the rest)" : ""}`, text(gain(one.mean)),
    range([one.low, one.high].map(gain), text), percent(one.chance)]);
  if (!rows.length) return null;
  return section("gain", "Is it worth continuing?", `Expected improvement of the ${run.noisy ? "largest reward, noise included" : `best ${run.words.reward}`}.`,
    table(heads, rows, { label: "Expected gain", class: "cards" }));
}

function effectsSection(run) {
  const { effects, words } = run;
  if (!effects?.length) return null;
  const ends = effects.slice(0, shownAtFirst).flatMap((one) => [one.low, one.high, 0]);
  const text = alike(effects.flatMap((one) => [one.worth, one.low, one.high]));
  const entries = effects.map((one) => ({
    ...one, value: one.worth, text: signed(text(one.worth), one.worth), more: percent(one.probability),
    lines: [one.label + (one.chosen ? ` (in the ${words.best})` : ""), `${signed(text(one.worth), one.worth)}, 90 % interval ${text(one.low)} to ${text(one.high)}`,
      `In ${count(one.count)} evaluated ${words.leaves}`],
  }));
  return section("effects", `Importance of each ${words.item}`,
    `Best ${words.reward} with it minus best ${words.reward} without it, with the 90 % interval, and the probability that the difference is positive.`,
    list("legend", [[html("span", { class: "swatch chosen" }), `in the ${words.best}`], [html("span", { class: "swatch bar" }), "not"]]),
    bars("effects", [capital(words.item), "Importance", "Probability"], entries, [Math.min(...ends), Math.max(...ends)], `in the ${words.best}`));
}

function pathSection(run) {
  const { path: steps, words, noisy: means } = run;
  if (!steps.length) return null;
  const value = (one) => (means ? one.mean : one.best);
  const text = alike(steps.flatMap((one) => [one, ...one.others].map(value)));
  const heads = [{ name: "Decision" }, { name: `${means ? "Mean" : "Best"} ${words.reward}`, kind: "figure" }, { name: capital(words.leaves), kind: "figure" }, { name: "Alternatives evaluated", kind: "long" }];
  const rows = steps.map((one) => [one.label, text(value(one)), count(one.count),
    one.others.length ? one.others.map((other) => `${other.label} (${text(value(other))})`).join(", ") : "–"]);
  return section("path", "Path to the best solution",
    `Each decision with the alternatives after the same earlier decisions, and the ${means ? "mean" : "best"} ${words.reward} found there.`,
    table(heads, rows, { label: "Path", class: "cards" }));
}

/* All evaluations; a click on a column's name sorts by it. */
const sorted = { by: null, down: true, rows: 20 };
function evaluationsSection(run) {
  const { history, words } = run;
  if (!history.length) return null;
  const best = run.best_leaf;
  const differs = (name, i) => best && (run.ordered ? best[i] !== name : !best.includes(name));
  const parts = ({ leaf }) => leaf.map((name, i) => html("span", { class: differs(name, i) ? "part plus" : "part" }, name));
  const columns = [
    { name: "Number", value: (one) => one.step, text: () => count },
    { name: capital(words.reward), value: (one) => one.reward, text: alike },
    ...(history.some((one) => one.predicted) ? [{ name: "Predicted", value: (one) => one.predicted?.[0], text: alike }] : []),
    { name: "Time", value: (one) => one.seconds, text: () => duration },
  ];
  const holder = html("div");
  const fill = () => {
    const by = columns[sorted.by ?? 1];
    const down = sorted.by === null ? !run.minimized : sorted.down;
    const all = [...history].sort((a, b) => ((by.value(a) ?? -Infinity) - (by.value(b) ?? -Infinity)) * (down ? -1 : 1) || a.step - b.step);
    const texts = columns.map((column) => column.text(history.map(column.value)));
    const rows = all.slice(0, sorted.rows).map((one) => [...columns.map((column, i) => texts[i](column.value(one))), parts(one)]);
    const head = (column, i) => html("button", { type: "button", class: "sort", click: () => {
      [sorted.down, sorted.by] = [by === column ? !down : true, i];
      fill();
      holder.querySelectorAll(".sort")[i].focus();
    } }, column.name, by === column ? html("span", { class: "arrow" }, down ? " ↓" : " ↑") : null);
    const heads = [...columns.map((column, i) => ({ name: head(column, i), label: column.name, kind: "figure", sort: by === column ? (down ? "descending" : "ascending") : "none" })), { name: capital(words.leaf), kind: "long" }];
    const more = html("button", { type: "button", click: () => { sorted.rows += 200; fill(); } }, "Show more");
    holder.replaceChildren(table(heads, rows, { label: "Evaluations", class: "cards" }), ...(all.length > sorted.rows ? [more] : []));
  };
  fill();
  return section("evaluations", `All ${words.evaluation}s`, `${best ? `Differences from the ${words.best} are marked. ` : ""}Select a column to sort by it.`, holder);
}

function pendingSection(run) {
  const leaf = { name: capital(run.words.leaf), kind: "long" };
  const heads = [leaf, { name: "Age", kind: "figure" }, { name: "Evaluated by" }];
  const rows = run.pending.map((one) => [one.leaf, duration(one.age), one.by ?? "–"]);
  const failures = run.failures.map((one) => [known(one.at) ? clock(one.at) : `${run.words.evaluation} ${one.step}`, one.leaf, one.text]);
  if (!rows.length && !failures.length) return null;
  const parts = [rows.length ? "Pending" : null, failures.length ? "failed" : null].filter(known);
  return section("pending", capital(`${parts.join(" and ")} evaluations`), null,
    rows.length ? [html("h3", {}, `${count(run.pending_count)} pending`), table(heads, rows, { label: "Pending evaluations", class: "cards" })] : null,
    failures.length ? html("h3", {}, `${count(run.failure_count)} failed`) : null,
    failures.length ? table([{ name: "Time" }, leaf, { name: "Error", kind: "long" }], failures, { label: "Failed evaluations", class: "cards" }) : null);
}

function comparisonSection() {
  const runs = content.runs;
  const dash = ["", "7 3", "2 3", "9 3 2 3", "4 4", "12 4"];
  const line = (i) => ({ class: "run-line", "stroke-dasharray": dash[i % 6], style: { stroke: `var(--run-${i % 6})` } });
  const draw = (width) => plot(width, {
    label: "Best reward so far of every run", xName: "evaluations", whole: true, points: [],
    xs: [1, Math.max(2, ...runs.map((run) => run.evaluations))],
    ys: spanned(runs.flatMap((run) => extent(run.history.map((one) => one.best)))),
    marks: (x, y) => runs.map((run, i) => svg("path", { ...line(i), d: stairs(run.history, x, y) })),
  });
  const heads = [{ name: "Run", kind: "long" }, { name: "State" }, { name: "Evaluations", kind: "figure" }, { name: "Best", kind: "figure" }, { name: "Expected at the end", kind: "figure" }, { name: "Time", kind: "figure" }];
  const end = (run) => (run.left ? run.forecast.find((one) => one.n === run.left)?.mean : null);
  const text = alike(runs.flatMap((run) => [run.best, end(run)]));
  const rows = runs.map((run) => [run.name, run.state, count(run.evaluations), text(run.best), text(end(run)), duration(run.seconds)]);
  return section("comparison", "Runs compared", null,
    list("legend", runs.map((run, i) => [sample(svg("path", { ...line(i), d: "M0 6h24" })), run.name])),
    drawn(draw), table(heads, rows, { label: "Runs compared", class: "cards" }));
}
