/* A drawing of states and decisions that can be moved and zoomed, with what is known of one state beside it. */

const box = { width: 152, height: 40, between: 44, row: 50 };
const narrowest = { width: 86, between: 22 }; // of many states in a row
const least = 0.72; // scale at which labels can be read
const letter = 7.2; // width of a letter of a state's name, on average
const seen = { run: null, view: null, node: null }; // kept when the page is updated

/* The best path is a straight line on top; below it, nodes are placed near their parents. */
function place(nodes, edges) {
  const parents = new Map(nodes.map((node) => [node.id, []]));
  for (const [from, to] of edges) parents.get(to)?.push(from);
  const layers = new Map();
  for (const node of nodes) layers.set(node.depth, [...(layers.get(node.depth) ?? []), node]);
  const places = new Map();
  [...layers.keys()].sort((a, b) => a - b).forEach((depth, column) => {
    const wish = (node) => {
      const rows = parents.get(node.id).filter((id) => places.has(id)).map((id) => places.get(id).y);
      return node.best ? -1 : rows.length ? rows.reduce((a, b) => a + b) / rows.length : Infinity;
    };
    const wishes = new Map(layers.get(depth).map((node) => [node, wish(node)]));
    const value = (node) => node.value ?? -Infinity;
    // Infinity − Infinity is NaN, so compare instead of subtracting.
    const order = (a, b) => (a === b ? 0 : a < b ? -1 : 1);
    layers.get(depth)
      .sort((a, b) => order(wishes.get(a), wishes.get(b)) || order(value(b), value(a)))
      .forEach((node, row) => places.set(node.id, { x: column * (box.width + box.between), y: row * box.row }));
  });
  return places;
}

function drawEdge(from, to, best) {
  const [x, y, end] = [from.x + box.width, from.y + box.height / 2, to.y + box.height / 2];
  const bend = Math.max((to.x - x) / 2, 20);
  return svg("path", { class: best ? "edge on-best" : "edge", d: `M${x} ${y}C${x + bend} ${y} ${to.x - bend} ${end} ${to.x} ${end}` });
}

/* Of a choice with its value, the name is cut before the value. */
function shortenPart(title, length) {
  const [place, ...values] = title.split(": ");
  const value = values.join(": ");
  if (title.length <= length || !value) return shorten(title, length);
  const room = length - value.length - 2;
  return room > 1 ? `${shorten(place, room)}: ${value}` : shorten(value, length);
}

function drawNode(node, at, strength) {
  const facts = [node.title, ...node.facts.map((fact) => fact.join(" ")), ...(node.best ? ["on the best path"] : [])];
  return svg("g", { class: node.best ? "node on-best" : "node", role: "img", "aria-label": facts.join("; "),
      transform: `translate(${at.x} ${at.y})`, style: { "--strength": strength } },
    svg("rect", { width: box.width, height: box.height, rx: 6 }),
    svg("text", { x: 10, y: 17, "aria-hidden": "true" }, shortenPart(node.title, Math.floor((box.width - 16) / letter))),
    svg("text", { class: "small", x: 10, y: 32, "aria-hidden": "true" }, node.small));
}

/* Zoom and pan of a drawing in a frame; returns what the buttons and keys do. */
const margin = 20;
function movable(drawing, inner, world, kept) {
  const state = kept ?? { scale: 1, x: 0, y: 0, moved: false };
  const size = () => ({ width: drawing.clientWidth, height: drawing.clientHeight });
  const whole = () => Math.min(size().width / (world.width + 2 * margin), size().height / (world.height + 2 * margin));
  const apply = () => {
    // Some of the content always stays visible.
    const { width, height } = size();
    state.x = clamp(state.x, 80 - world.width * state.scale, width - 80);
    state.y = clamp(state.y, 40 - world.height * state.scale, height - 40);
    inner.setAttribute("transform", `translate(${state.x.toFixed(2)} ${state.y.toFixed(2)}) scale(${state.scale.toFixed(4)})`);
  };
  const zoom = (factor, at = { x: size().width / 2, y: size().height / 2 }) => {
    const scale = clamp(state.scale * factor, Math.min(whole(), 0.5), 3);
    state.x = at.x - ((at.x - state.x) * scale) / state.scale;
    state.y = at.y - ((at.y - state.y) * scale) / state.scale;
    [state.scale, state.moved] = [scale, true];
    apply();
  };
  const pan = (dx, dy) => {
    [state.x, state.y, state.moved] = [state.x + dx, state.y + dy, true];
    apply();
  };
  const reset = () => {
    const { width } = size();
    // Labels stay readable; what does not fit can be dragged into view.
    state.scale = clamp(width / (world.width + 2 * margin), least, 1);
    state.x = Math.max(margin, (width - world.width * state.scale) / 2);
    [state.y, state.moved] = [margin, false];
    apply();
  };
  const reveal = (at) => {
    const { width, height } = size();
    const [x, y] = [at.x * state.scale + state.x, at.y * state.scale + state.y];
    const hidden = (place, length, end) => (place < 0 ? margin - place : Math.min(0, end - margin - place - length));
    pan(hidden(x, box.width * state.scale, width), hidden(y, box.height * state.scale, height));
  };
  const settle = () => (state.moved ? apply() : reset());
  return { state, zoom, pan, reset, reveal, settle };
}

function handle(drawing, view) {
  const fingers = new Map();
  const local = (event) => {
    const at = drawing.getBoundingClientRect();
    return { x: event.clientX - at.left, y: event.clientY - at.top };
  };
  // The wheel scrolls the page until the figure is in use.
  drawing.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !drawing.contains(document.activeElement)) return;
    event.preventDefault();
    const pinch = event.ctrlKey && Math.abs(event.deltaY) < 50;
    view.zoom(Math.exp(-clamp(event.deltaY, -100, 100) * (pinch ? 0.01 : 0.003)), local(event));
  }, { passive: false });
  drawing.addEventListener("pointerdown", (event) => { fingers.set(event.pointerId, local(event)); });
  drawing.addEventListener("pointermove", (event) => {
    const before = fingers.get(event.pointerId);
    if (!before) return;
    const now = local(event);
    const other = [...fingers].find(([id]) => id !== event.pointerId)?.[1];
    if (other)
      view.zoom(Math.hypot(now.x - other.x, now.y - other.y) / Math.max(Math.hypot(before.x - other.x, before.y - other.y), 1), other);
    else {
      view.pan(now.x - before.x, now.y - before.y);
      // Captured only when dragging: a captured click would not reach the node.
      drawing.setPointerCapture(event.pointerId);
      drawing.classList.add("held");
    }
    fingers.set(event.pointerId, now);
  });
  for (const end of ["pointerup", "pointercancel", "pointerleave"])
    drawing.addEventListener(end, (event) => {
      fingers.delete(event.pointerId);
      drawing.classList.remove("held");
    });
  drawing.addEventListener("keydown", (event) => {
    const act = { "+": () => view.zoom(1.3), "=": () => view.zoom(1.3), "-": () => view.zoom(1 / 1.3), 0: view.reset }[event.key];
    if (!act || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    act();
  });
}

/* Up and down within a layer, left and right to the nearest node of the next one. */
const inLayers = (spots) => (index, key) => {
  const here = spots[index];
  const sideways = { ArrowLeft: -1, ArrowRight: 1 }[key];
  const vertical = { ArrowUp: -1, ArrowDown: 1 }[key];
  if (!sideways && !vertical) return { Home: 0, End: spots.length - 1 }[key];
  const wanted = (spot) => (sideways ? Math.sign(spot.x - here.x) === sideways : spot.x === here.x && Math.sign(spot.y - here.y) === vertical);
  const away = (spot) => Math.abs(spot.x - here.x) * spots.length + Math.abs(spot.y - here.y);
  return spots.reduce((best, spot, i) => (wanted(spot) && (best === undefined || away(spot) < away(spots[best])) ? i : best), undefined);
};

function describeNode(panel, node) {
  panel.replaceChildren(
    html("h3", {}, node.depth ? `+ ${node.title}` : node.title),
    html("dl", {}, node.facts.map(([name, value]) => [html("dt", {}, name), html("dd", {}, value)])));
}

/* `nodes` have id, depth, best, title, small, value and facts. */
function explorer(run, nodes, edges, smallIsGood) {
  box.width = clamp(16 + letter * Math.max(...nodes.map((node) => node.title.length)), 110, innerWidth < 560 ? 156 : 216);
  box.between = 44;
  // On a wide screen the whole way to the best leaf is seen at once.
  const columns = Math.max(...nodes.map((node) => node.depth)) + 1;
  const room = (main.clientWidth - 390) / least - 2 * margin; // without the panel and the edges
  if (innerWidth >= 820 && columns * (box.width + box.between) > room) {
    box.between = narrowest.between;
    box.width = clamp(room / columns - box.between, narrowest.width, box.width);
  }
  const places = place(nodes, edges);
  const sorted = [...nodes].sort((a, b) => places.get(a.id).x - places.get(b.id).x || places.get(a.id).y - places.get(b.id).y);
  const [low, high] = extent(nodes.map((node) => node.value));
  const share = (value) => (smallIsGood ? high - value : value - low) / (high - low);
  const strength = (node) => (known(node.value) && high > low ? clamp(share(node.value), 0, 1).toFixed(3) : 0);
  const spots = sorted.map((node) => places.get(node.id));
  const marks = sorted.map((node, i) => drawNode(node, spots[i], strength(node)));
  const isBest = new Map(nodes.map((node) => [node.id, node.best]));
  const lines = edges.filter(([from, to]) => places.has(from) && places.has(to))
    .map(([from, to]) => [isBest.get(from) && isBest.get(to), from, to])
    .sort((a, b) => a[0] - b[0])
    .map(([best, from, to]) => drawEdge(places.get(from), places.get(to), best));
  const inner = svg("g", {}, svg("g", { "aria-hidden": "true" }, lines), marks);
  const world = { width: Math.max(...spots.map((spot) => spot.x)) + box.width, height: Math.max(...spots.map((spot) => spot.y)) + box.height };
  // The group can have the focus, so that after a click on empty space the wheel zooms.
  const drawing = svg("svg", { role: "group", tabindex: -1, "aria-label": "What was explored; arrow keys move between states, plus and minus zoom" }, inner);
  if (seen.run !== run) [seen.run, seen.view, seen.node] = [run, null, null];
  const view = movable(drawing, inner, world, seen.view);
  seen.view = view.state;
  const panel = html("div", { class: "panel", "aria-live": "polite" });
  const show = (index) => {
    seen.node = sorted[index].id;
    describeNode(panel, sorted[index]);
    marks.forEach((mark, i) => mark.classList.toggle("shown", i === index));
  };
  marks.forEach((mark, index) => {
    mark.addEventListener("pointerenter", () => show(index));
    mark.addEventListener("focus", () => {
      show(index);
      if (mark.matches(":focus-visible")) view.reveal(spots[index]);
    });
  });
  rove(marks, inLayers(spots));
  handle(drawing, view);
  const before = sorted.findIndex((node) => node.id === seen.node);
  show(before >= 0 ? before : Math.max(sorted.findLastIndex((node) => node.best), 0));
  const button = (name, text, click) => html("button", { type: "button", "aria-label": name, title: name, click }, text);
  whenPlaced.push(view.settle);
  return html("div", { class: "dag" },
    html("div", { class: "view", style: { height: `${clamp(world.height + 88, 240, 520)}px` } }, drawing,
      html("div", { class: "zoom" }, button("Zoom in", "+", () => view.zoom(1.3)), button("Zoom out", "−", () => view.zoom(1 / 1.3)),
        button("Reset view", "Reset", view.reset))),
    panel);
}
