/* The sections, in the order of the page */

const fact = (name, value, note = null) =>
  html("div", {}, html("dt", {}, name), html("dd", {}, html("span", { class: "value" }, value), note ? html("small", {}, note) : null));

function searchFacts(run) {
  return [
    fact(run.game ? capital(run.words["so far"]) : run.noisy ? "Best mean" : `${run.minimized ? "Smallest" : "Best"}${run.settled && run.state === "ended" ? "" : " so far"}`, number(run.best)),
    fact("Evaluations", known(run.budget) ? `${count(run.evaluations)}${run.lost ? ` and ${count(run.lost)} failed` : ""} of ${count(run.budget)}` : count(run.evaluations)),
    run.pending_count ? fact("Pending", count(run.pending_count)) : null,
    run.failure_count ? fact("Failed", count(run.failure_count)) : null,
    fact("Time", duration(run.seconds)),
    fact("State", run.state),
  ].filter(known);
}

function headline(run) {
  const runs = content.runs;
  const which = html("select", { id: "run", change: (event) => { chosen = Number(event.target.value); render(); } },
    runs.map((one, i) => html("option", { value: i, ...(i === chosen ? { selected: "" } : {}) }, one.name)));
  const hold = html("button", { type: "button", id: "hold", "aria-pressed": String(held), click: () => { held = !held; render(); } },
    held ? "Update again" : "Hold updates");
  const tools = [
    runs.length > 1 ? html("label", { for: "run" }, "Run shown in detail", which) : null,
    live ? hold : null,
    live ? html("span", { class: "unseen", role: "status", id: "connection" }) : null,
  ].filter(known);
  return html("section", { id: "headline", "aria-labelledby": "title" },
    html("p", { class: "source" }, run.source.join(" · ")),
    html("h1", { id: "title" }, run.sentence.replace(/(\d) (s|min|h|days|%)(?!\p{L})/gu, "$1\u00a0$2")),
    run.best_leaf ? list("chips", run.best_leaf.slice(0, 40)) : null,
    html("dl", { class: "facts" }, run.selection ? selectionFacts(run.selection) : searchFacts(run)),
    run.selection ? simplerChoice(run.selection) : null,
    run.words.leaf === "subset" && !run.selection
      ? html("p", { class: "remark" }, "This is the highest score so far. The selection may choose another subset in the end; its report says which and why.") : null,
    tools.length ? html("div", { class: "tools" }, tools) : null,
    run.problem_text ? html("p", { class: "refused" }, run.problem_text) : null);
}

function progressSection(run) {
  const { history, forecast, failed, words } = run;
  const belief = run.selection?.belief ?? [];
  const heading = `${capital(words.reward)}s over time`;
  if (!history.length) return section("progress", heading, `No ${words.reward} is known yet.`);
  const last = Math.max(history.at(-1).step, forecast.at(-1)?.step ?? 1, failed.at(-1) ?? 1, 2);
  const draw = (width) => plot(width, {
    label: `${capital(words.reward)} of each ${words.evaluation}, the ${words["so far"]}${forecast.length ? ", and its forecast" : ""}`,
    xs: [1, last], xName: `${words.evaluation}s`, whole: true,
    ys: spanned([...extent(history.map((one) => one.reward)), ...history.slice(-1).map((one) => one.best),
      ...forecast.flatMap((one) => [one.low, one.high]), ...extent(belief.flatMap((one) => [one.low, one.high]))]),
    points: history.map((one) => [one.step, one.reward, [
      capital(words.reward) + ` ${number(one.reward)}` + (known(one.deviation) ? ` ± ${number(one.deviation)}` : ""),
      `${capital(words.evaluation)} ${one.step}, ${words["so far"]} ${number(one.best)}`, shorten(one.leaf, 300)]]),
    marks: (x, y, floor) => {
      const steps = [];
      for (const one of history) {
        if (steps.length) steps.push([x(one.step), steps.at(-1)[1]]);
        steps.push([x(one.step), y(one.best)]);
      }
      const band = [...forecast.map((one) => [x(one.step), y(one.high)]), ...forecast.map((one) => [x(one.step), y(one.low)]).reverse()];
      const thought = [...belief.map((one) => [x(one.step), y(one.high)]), ...belief.map((one) => [x(one.step), y(one.low)]).reverse()];
      return [
        svg("path", { class: "band", d: path(band) }),
        svg("path", { class: "belief-band", d: path(thought) }),
        svg("path", { class: "belief-line", d: path(belief.map((one) => [x(one.step), y(one.mean)])) }),
        svg("path", { class: "failed", d: failed.map((step) => `M${(x(step) - 3).toFixed(1)} ${floor - 7}l6 6m0 -6l-6 6`).join("") }),
        dots(history.map((one) => [x(one.step), y(one.reward)]), history.length > 300),
        svg("path", { class: "ahead", d: path(forecast.map((one) => [x(one.step), y(one.mean)])) }),
        svg("path", { class: "best-line", d: path(steps) }),
      ];
    },
  });
  const legend = [
    [sample(svg("circle", { cx: 12, cy: 6, r: 4, fill: "var(--point)" })), `a ${words.leaf}`],
    [sample(svg("path", { class: "best-line", d: "M0 6h24" })), words["so far"]],
    forecast.length ? [sample(svg("rect", { class: "band", width: 24, height: 12 }), svg("path", { class: "ahead", d: "M0 6h24" })),
      "forecast of the best, with its 90% interval"] : null,
    belief.length ? [sample(svg("rect", { class: "belief-band", width: 24, height: 12 }), svg("path", { class: "belief-line", d: "M0 6h24" })),
      `belief about the best possible ${words.reward}`] : null,
    failed.length ? [sample(svg("path", { class: "failed", d: "M9 3l6 6m0 -6l-6 6" })), "failed"] : null,
  ].filter(known);
  const heads = [{ name: "Number" }, { name: capital(words.reward), kind: "figure" }, { name: capital(words["so far"]), kind: "figure" }, { name: capital(words.leaf), kind: "long" }];
  const thinned = run.evaluations > history.length ? `${count(history.length)} of ${count(run.evaluations)} evaluations are shown, all improvements among them.` : null;
  return section("progress", heading, thinned, list("legend", legend), drawn(draw),
    asTable(heads, () => history.map((one) => [String(one.step), number(one.reward), number(one.best), one.leaf])));
}

function calibrationSection(run) {
  const { calibration, words } = run;
  const heading = `Predicted and actual ${words.reward}s`;
  const told = run.selection && modelText(run.selection.model) ? html("p", {}, modelText(run.selection.model)) : null;
  const points = run.history.filter((one) => one.predicted).slice(-400);
  if (!points.length) return section("calibration", heading, `There are no predictions to compare with ${words.reward}s.`, told);
  const skill = !run.selection && known(calibration?.skill) ? `; the predictions explain ${percent(Math.max(calibration.skill, 0))} of their variance` : "";
  const text = calibration
    ? `${percent(Object.fromEntries(calibration.covered)[0.9])} of the last ${count(calibration.count)} ${words.reward}s were inside the 90% interval that was predicted for them${skill}.`
    : "There are too few predictions to tell how often they hold.";
  const draw = (width) => {
    const ys = spanned(extent(points.map((one) => one.reward)));
    // No interval goes beyond what a reward can be; wide ones end at the frame: they must not squeeze what was predicted well.
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
    [sample(svg("path", { class: "whisker", d: "M0 6h24" }), svg("circle", { cx: 12, cy: 6, r: 4, fill: "var(--point)" })), `a ${words.leaf}, with its predicted 90% interval`],
  ];
  const heads = [{ name: "Interval" }, { name: `${capital(words.reward)}s inside`, kind: "figure" }];
  return section("calibration", heading, text, told, list("legend", legend), drawn(draw),
    calibration ? asTable(heads, () => calibration.covered.map(([level, share]) => [percent(level), percent(share)])) : null);
}

function gainSection(run) {
  const heads = [{ name: capital(`${run.words.evaluation}s`) }, { name: "Expected gain", kind: "figure" }, { name: "90% interval", kind: "figure" }, { name: "Chance of any", kind: "figure" }];
  const scale = Math.max(...run.history.map((one) => one.reward)) - Math.min(...run.history.map((one) => one.reward));
  const rows = run.gain.map((one) => [`${count(one.n)} more${one.rest ? " (all that are left)" : ""}`, beside(one.gain[0], scale),
    `${beside(one.gain[1], scale)} to ${beside(one.gain[2], scale)}`, percent(one.chance)]);
  const rules = run.rules.map((one) => html("tr", {},
    html("th", { scope: "row" }, one.rule),
    html("td", {}, one.text,
      known(one.share) ? html("div", { class: "meter", role: "meter", "aria-label": one.rule, "aria-valuemin": 0, "aria-valuemax": 100, "aria-valuenow": Math.round(100 * one.share) },
        html("div", { style: { width: `${100 * one.share}%` } })) : null)));
  return section("gain", "Gain of going on", rows.length ? `How much the ${run.noisy ? "largest reward, noise included," : `best ${run.words.reward}`} is expected to improve, from the record of this search.`
    : run.game ? "The value of a game may rise or fall: going on makes it more certain."
    : run.settled ? `Every ${run.words.leaf} has been evaluated: there is nothing left to gain.` : "Too little is known to say what going on would gain.",
    rows.length ? table(heads, rows, { label: "Gain of going on", class: "cards" }) : null,
    rules.length ? [html("h3", {}, "Rules for stopping"), html("table", { class: "rules" }, html("tbody", {}, rules))] : null);
}

function effectsSection(run) {
  const { effects, pairs, words } = run;
  const heading = `What each ${words.item} is worth`;
  const none = run.evaluations < 10 ? "Too few evaluations to tell." : `No ${words.item} can be told from having no effect.`;
  const ends = [...effects, ...pairs].flatMap((one) => [one.low, one.high, 0]);
  const span = [ends.reduce((a, b) => Math.min(a, b), 0), ends.reduce((a, b) => Math.max(a, b), 0)];
  const scale = Math.max(...span.map(Math.abs));
  const change = (value) => (beside(value, scale) === "0" ? "0" : signed(value));
  const entry = (one) => ({
    ...one, value: one.effect, text: change(one.effect), heard: `90% interval ${change(one.low)} to ${change(one.high)}`, seen: count(one.count),
    lines: [one.label + (one.chosen ? ` (in the ${words.best})` : ""), `${change(one.effect)}, 90% interval ${change(one.low)} to ${change(one.high)}`,
      `In ${count(one.count)} of the ${words.leaves} looked at`],
  });
  const drawnAs = (key, name, all) => bars(key, [name, "effect", words.leaves], all.map(entry), span, `in the ${words.best}`);
  return section("effects", heading,
    effects.length ? `Expected change of the ${words.reward} when a ${words.leaf} has it, compared with the average of what it could have instead; ` +
      "the thin line is the 90% interval. Only what can be told from having no effect is shown." : none,
    effects.length ? [list("legend", [[html("span", { class: "swatch chosen" }), `in the ${words.best}`], [html("span", { class: "swatch bar" }), "not"]]),
      drawnAs("effects", capital(words.item), effects)] : null,
    pairs.length ? [html("h3", {}, "Pairs"), html("p", {}, "What two are worth together beyond the sum of both. All pairs were compared, and only those that are clear in spite of that are shown."),
      drawnAs("pairs", "Pair", pairs)] : null);
}

/* What the drawing shows of a state: what was evaluated below it. */
function evaluatedNode(node, { words }, byMean) {
  const value = byMean ? node.mean : node.reward;
  return { ...node, title: node.label, value, small: `${number(value)} · ${count(node.count)}`,
    facts: [[`Best ${words.reward} below`, number(node.reward)], [`Mean ${words.reward} below`, number(node.mean)], [`${capital(words.leaves)} below`, count(node.count)]] };
}

function dagSection(run) {
  const heading = "The best part of what was explored";
  const { words } = run;
  const { dag } = run;
  if (!dag || dag.nodes.length < 2) return section("explored", heading, "There is nothing to show yet.");
  // In a game, and where the best below is the same nearly everywhere, only means tell states apart.
  const best = dag.nodes.filter((node) => number(node.reward) === number(dag.nodes[0].reward)).length;
  const byMean = run.game || best > 0.7 * dag.nodes.length;
  const nodes = dag.nodes.map((node) => evaluatedNode(node, run, byMean));
  const text = `From left to right the parts of the ${words.best}, each with the alternatives that ${run.game ? "were evaluated most" : `led to the next best ${words.reward}s`}. ` +
      `Numbers: ${byMean ? "mean" : "best"} ${words.reward} below, and number of ${words.leaves}${run.evaluations > 3000 ? " among the best 3,000" : ""}.`;
  const heads = [{ name: "Step" }, { name: "State after it", kind: "long" }, ...nodes[0].facts.map(([name]) => ({ name, kind: "figure" }))];
  return section("explored", heading, text + (dag.more ? ` ${count(dag.more)} further parts are not drawn.` : ""),
    list("legend", [
      [html("span", { class: "swatch path" }), `the ${words.best}`],
      [html("span", { class: "swatch promise" }), `${byMean ? "mean " : ""}${words.reward}, bad to good`],
      html("span", { class: "by-hand" }, "Drag to move; zoom with the buttons, two fingers, or the wheel after a click."),
    ]),
    explorer(run.name, nodes, dag.edges, run.minimized),
    asTable(heads, () => nodes.map((node) => [String(node.depth), node.title + (node.best ? ` (${words.best})` : ""), ...node.facts.map(([, value]) => value)])));
}

function leavesSection(run) {
  const { words } = run;
  const intervals = run.leaves.some((leaf) => leaf.interval);
  const heads = [{ name: "Rank" }, { name: capital(words.reward), kind: "figure" }, ...(intervals ? [{ name: "90% interval", kind: "figure" }] : []),
    { name: "Number", kind: "figure" }, { name: capital(words.leaf), kind: "long" }];
  const rows = run.leaves.map((leaf, i) => {
    // Of a long leaf, what it has in common with the first one is only counted.
    const brief = i && leaf.parts.length > 8 && !run.game;
    const shown = leaf.parts.filter(([, different]) => different || !brief);
    return [String(i + 1), number(leaf.reward), ...(intervals ? [range(leaf.interval)] : []), count(leaf.step), html("span", {},
      shown.map(([name, different]) => html("span", { class: different ? "part plus" : "part" }, different ? html("span", { class: "unseen" }, "different: ") : null, name)),
      leaf.lacks.map((name) => html("span", { class: "part minus" }, html("span", { class: "unseen" }, "without "), name)),
      brief ? html("span", { class: "part soft" }, `${shown.length || leaf.lacks.length ? "and " : ""}${count(leaf.parts.length - shown.length)} in common`) : null,
    )];
  });
  const lower = run.selection && run.leaves.some((leaf) => leaf.reward > run.leaves[0].reward)
    ? " The chosen subset comes first. Another one has a higher score on these folds, but the lead is not larger than chance explains, or other folds of the same rows did not confirm it." : "";
  return section("leaves", run.game ? `The latest ${words.leaves}` : `The best ${words.leaves} side by side`,
    rows.length ? `What differs from the ${words.best} is marked; what is struck out is missing.${lower}` : `No ${words.reward} is known yet.`,
    rows.length ? table(heads, rows, { label: `The best ${words.leaves}`, class: "cards" }) : null);
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
    marks: (x, y) => runs.map((run, i) => {
      const steps = [];
      for (const one of run.history) {
        if (steps.length) steps.push([x(one.step), steps.at(-1)[1]]);
        steps.push([x(one.step), y(one.best)]);
      }
      return svg("path", { ...line(i), d: path(steps) });
    }),
  });
  const heads = [{ name: "Run", kind: "long" }, { name: "State" }, { name: "Evaluations", kind: "figure" }, { name: "Best", kind: "figure" }, { name: "Expected with the rest", kind: "figure" }, { name: "Time", kind: "figure" }];
  const rows = runs.map((run) => [run.name, run.state, count(run.evaluations), number(run.best), number(run.gain.find((one) => one.rest)?.best), duration(run.seconds)]);
  return section("comparison", "The runs compared", null,
    list("legend", runs.map((run, i) => [sample(svg("path", { ...line(i), d: "M0 6h24" })), run.name])),
    drawn(draw), table(heads, rows, { label: "The runs compared", class: "cards" }));
}
