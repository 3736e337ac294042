// A text that fills in feature by feature beside the curve of what the model says. All of it is here already: moving,
// playing and switching ask nobody. tokens.js comes before it.

const SVG = "http://www.w3.org/2000/svg";
const ORDERS = { activation: "Best first", inverse_activation: "Worst first" };
const PLAY_MS = { step: 400, least: 60, whole: 12000 };
const views = new WeakMap();

/** Draws `data` (an ActivationScrubber) into `parentElement`; called again on every change. */
export default function ({ data, parentElement }) {
  let scrubber = views.get(parentElement);
  if (!scrubber) {
    scrubber = mountScrubber(parentElement, data);
    views.set(parentElement, scrubber);
  }
  const asked = [data.heatmap.key, ...data.methods.map((method) => method.name)].join("\n");
  const isNew = scrubber.asked !== asked;
  Object.assign(scrubber, { data, asked });
  stop(scrubber);
  if (isNew) fill(scrubber);
  drawReveal(scrubber);
  return () => {
    stop(scrubber);
    hideCard(scrubber.view);
  };
}

function mountScrubber(parentElement, data) {
  const root = parentElement.appendChild(element("div", "scrubber"));
  const scrubber = { root, direction: "activation", timer: null, ...controls(), ...side() };
  const text = element("div", "reading");
  scrubber.view = mount(text, { ...data.heatmap, picked: null });
  scrubber.view.pick = (index) => revealUpTo(scrubber, index);
  root.append(scrubber.panel, text, scrubber.aside);
  listenTo(scrubber);
  return scrubber;
}

function controls() {
  const panel = element("div", "steer");
  const method = element("select", "method");
  method.id = "method";
  const name = element("label", "name", "Order of");
  name.htmlFor = "method";
  const orders = element("div", "orders");
  orders.setAttribute("role", "group");
  orders.setAttribute("aria-label", "Which features come first");
  const playing = button("Play", null);
  const slider = element("input", "slider");
  Object.assign(slider, { type: "range", min: "0", step: "1", id: "slider" });
  slider.setAttribute("aria-label", "Features revealed");
  const count = element("output", "count");
  count.htmlFor = "slider";
  const newest = element("div", "newest-told");
  panel.append(name, method, orders, playing, slider, count, newest);
  return { panel, method, orders, playing, slider, count, newest };
}

function side() {
  const aside = element("div", "aside");
  const told = element("div", "curve-told");
  const plot = element("div", "plot");
  const picture = plot.appendChild(document.createElementNS(SVG, "svg"));
  picture.setAttribute("role", "img");
  picture.setAttribute("viewBox", "0 0 1000 1000");
  picture.setAttribute("preserveAspectRatio", "none");
  const [grid, area, past, flipped, line] = ["grid", "area", "past", "flipped", "curve"].map((name) => {
    const path = picture.appendChild(document.createElementNS(SVG, "path"));
    path.setAttribute("class", name);
    return path;
  });
  grid.setAttribute("d", "M0 0H1000M0 500H1000M0 1000H1000");
  const marker = plot.appendChild(element("div", "marker"));
  const scale = element("div", "heights");
  scale.append(...["1", "0.5", "0"].map((mark) => element("span", "", mark)));
  const drawing = element("div", "drawing");
  const ends = element("div", "ends");
  drawing.append(scale, plot, ends);
  const flip = element("div", "flip-told");
  const bars = element("div", "likely");
  bars.setAttribute("role", "list");
  bars.setAttribute("aria-label", "Class probabilities");
  aside.append(told, drawing, flip, bars);
  return { aside, told, plot, picture, area, past, flipped, line, marker, ends, flip, bars };
}

function listenTo(scrubber) {
  const { slider, playing, method, plot } = scrubber;
  slider.oninput = () => {
    stop(scrubber);
    drawStep(scrubber);
  };
  playing.onclick = () => (scrubber.timer ? stop(scrubber) : play(scrubber));
  method.onchange = () => drawReveal(scrubber);
  const drag = (event) => {
    if (event.type === "pointermove" && !plot.hasPointerCapture(event.pointerId)) return;
    const { left, width } = plot.getBoundingClientRect();
    stop(scrubber);
    moveTo(scrubber, Math.round(((event.clientX - left) / width) * Number(slider.max)));
  };
  plot.onpointerdown = (event) => {
    plot.setPointerCapture(event.pointerId);
    drag(event);
  };
  plot.onpointermove = drag;
}

/** Another text or other methods: their names, the order asked for last, and the step to open with. */
function fill(scrubber) {
  const { data, method, orders, slider } = scrubber;
  method.replaceChildren(...data.methods.map(({ label }, i) => new Option(label, String(i))));
  const buttons = Object.entries(ORDERS).map(([direction, label]) => {
    const node = button(label, () => {
      scrubber.direction = direction;
      drawReveal(scrubber);
    });
    node.dataset.direction = direction;
    return node;
  });
  orders.replaceChildren(...buttons);
  slider.max = String(data.methods[0].reveals[0].order.length);
  slider.value = String(data.start);
}

// ---- playing

function play(scrubber) {
  const { slider } = scrubber;
  const all = Number(slider.max);
  if (Number(slider.value) === all) moveTo(scrubber, 0);
  scrubber.playing.textContent = "Pause";
  scrubber.timer = setInterval(() => {
    moveTo(scrubber, Number(slider.value) + 1);
    if (Number(slider.value) === all) stop(scrubber);
  }, Math.max(PLAY_MS.least, Math.min(PLAY_MS.step, PLAY_MS.whole / all)));
}

function stop(scrubber) {
  clearInterval(scrubber.timer);
  scrubber.timer = null;
  scrubber.playing.textContent = "Play";
}

function moveTo(scrubber, k) {
  scrubber.slider.value = String(k);
  drawStep(scrubber);
}

/** A token that is pressed becomes the newest one; the newest, pressed, is hidden again. */
function revealUpTo(scrubber, index) {
  const { slider, places } = scrubber;
  stop(scrubber);
  if (index === null) moveTo(scrubber, Number(slider.value) - 1);
  else moveTo(scrubber, places.has(index) ? places.get(index) + 1 : Number(slider.value));
}

// ---- drawing

/** The map and the curve of the method and the order chosen. */
function drawReveal(scrubber) {
  const { data, method, orders, view } = scrubber;
  const chosen = data.methods[Number(method.value)];
  const { label, signed, limit_value, explained, special_share } = chosen;
  const reveal = chosen.reveals.find(({ direction }) => direction === scrubber.direction);
  scrubber.reveal = reveal;
  scrubber.places = new Map(reveal.order.map((feature, place) => [feature, place]));
  for (const node of orders.children) {
    node.setAttribute("aria-pressed", String(node.dataset.direction === scrubber.direction));
  }
  const tokens = data.heatmap.tokens.map((token, i) => ({ ...token, ...chosen.tokens[i] }));
  draw(view, { ...data.heatmap, method: label, signed, limit_value, explained, special_share, tokens, svg: "" });
  drawCurve(scrubber);
  drawBars(scrubber);
  drawStep(scrubber);
}

function drawCurve({ data, reveal, told, picture, area, flipped, line, ends, flip }) {
  const n = reveal.order.length;
  const target = data.classes[data.target];
  const points = reveal.probabilities.map((row, k) => point(k, n, row[data.target]));
  line.setAttribute("d", `M${points.join("L")}`);
  area.setAttribute("d", `M0 1000L${points.join("L")}L1000 1000Z`);
  flipped.setAttribute("d", reveal.flip ? `M${(1000 * reveal.flip) / n} 0V1000` : "");
  const words =
    reveal.flip === null
      ? `The whole text is not predicted as ${target}.`
      : `Predicted as ${target} from ${reveal.flip ? `${reveal.flip} of ${n}` : "the masked text"} on.`;
  flip.textContent = words;
  flip.classList.toggle("marked", Boolean(reveal.flip));
  told.replaceChildren(element("span", "", `Probability of ${target}`), element("span", "auc", reveal.auc));
  ends.replaceChildren(element("span", "", "all masked"), element("span", "", `all ${n} revealed`));
  picture.setAttribute("aria-label", `Probability of ${target} as features are revealed. ${reveal.auc}. ${words}`);
}

function point(k, n, p) {
  return `${((1000 * k) / n).toFixed(1)} ${(1000 * (1 - p)).toFixed(1)}`;
}

function drawBars(scrubber) {
  const { data, bars } = scrubber;
  scrubber.rows = data.classes.map((label, i) => {
    const row = element("div", i === data.target ? "row target" : "row");
    row.setAttribute("role", "listitem");
    const track = element("span", "track");
    const fill = track.appendChild(element("span", "fill"));
    const value = element("span", "value");
    row.append(element("span", "class-name", label), track, value);
    return { row, fill, value };
  });
  bars.replaceChildren(...scrubber.rows.map(({ row }) => row));
}

function drawStep(scrubber) {
  const { data, reveal, slider, view, places, rows, marker, past, count, newest } = scrubber;
  const n = reveal.order.length;
  const k = Number(slider.value);
  const row = reveal.probabilities[k];
  view.picked = k ? reveal.order[k - 1] : null;
  view.tokens.forEach((node, i) => veil(view, node, i, places.get(i) >= k));
  rows.forEach(({ fill, value }, i) => {
    fill.style.width = `${100 * row[i]}%`;
    value.textContent = `${(100 * row[i]).toFixed(1)}%`;
  });
  marker.style.left = `${(100 * k) / n}%`;
  marker.style.top = `${100 * (1 - row[data.target])}%`;
  past.setAttribute("d", `M0 1000L${reveal.probabilities.slice(0, k + 1).map((p, i) => point(i, n, p[data.target])).join("L")}V1000Z`);
  count.textContent = `${k} of ${n}`;
  const token = view.data.tokens[view.picked];
  newest.textContent = token ? `newest: \u2068${token.name}\u2069, ${token.value}` : "every feature is masked";
  const likely = `${data.classes[data.target]} ${(100 * row[data.target]).toFixed(1)}%`;
  slider.setAttribute("aria-valuetext", `${k} of ${n} revealed, ${newest.textContent}; ${likely}`);
}

/** Hides a token or shows it; the newest is the selected one. */
function veil(view, node, i, hidden) {
  const token = view.data.tokens[i];
  node.classList.toggle("veiled", hidden);
  node.setAttribute("aria-selected", String(i === view.picked));
  const words = hidden ? [token.name, "not revealed"] : [token.name, token.value, rankText(view, token)];
  node.setAttribute("aria-label", words.join(", "));
}
