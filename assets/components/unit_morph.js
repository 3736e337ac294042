// The map of the model beside that of a model whose units are random, with a slider over the units. All maps are here
// already: moving and playing ask nobody. tokens.js comes before it.

const MODES = { cascading: "All from the top down", independent: "One at a time" };
const PLAY_MS = 900;
const views = new WeakMap();

/** Draws `data` (a UnitMorph) into `parentElement`; called again on every change. */
export default function ({ data, parentElement }) {
  let morph = views.get(parentElement);
  if (!morph) {
    morph = mountMorph(parentElement, data);
    views.set(parentElement, morph);
  }
  const asked = [data.heatmap.key, ...data.units, ...data.methods.map(({ name }) => name)].join("\n");
  const isNew = morph.asked !== asked;
  Object.assign(morph, { data, asked });
  stop(morph);
  if (isNew) fill(morph);
  drawFrame(morph);
  return () => {
    stop(morph);
    hideCard(morph.left);
    hideCard(morph.right);
  };
}

function mountMorph(parentElement, data) {
  const root = parentElement.appendChild(element("div", "unit-morph"));
  const morph = { mode: "cascading", timer: null, ...controls() };
  const sides = element("div", "sides");
  const [left, right] = ["The model itself", ""].map((title) => {
    const side = sides.appendChild(element("section", "side"));
    side.append(element("div", "side-title", title));
    return side;
  });
  Object.assign(morph, { title: right.firstChild, none: element("p", "none", "This random model gave no map.") });
  morph.left = mount(left.appendChild(element("div")), { ...data.heatmap, picked: null });
  const place = right.appendChild(element("div"));
  morph.right = mount(place, { ...data.heatmap, picked: null });
  morph.right.card.id = "card-right";
  right.append(morph.none);
  morph.place = place;
  morph.left.pick = morph.right.pick = () => {};
  root.append(morph.panel, sides);
  morph.slider.oninput = () => {
    stop(morph);
    drawFrame(morph);
  };
  morph.method.onchange = () => drawFrame(morph);
  morph.playing.onclick = () => (morph.timer ? stop(morph) : play(morph));
  return morph;
}

function controls() {
  const panel = element("div", "steer");
  const method = element("select", "method");
  method.id = "method";
  const name = element("label", "name", "Map by");
  name.htmlFor = "method";
  const modes = element("div", "orders");
  modes.setAttribute("role", "group");
  modes.setAttribute("aria-label", "Which units are random");
  const playing = button("Play", null);
  const slider = element("input", "slider");
  Object.assign(slider, { type: "range", min: "0", step: "1", id: "slider" });
  slider.setAttribute("aria-label", "Random units");
  const unit = element("output", "count");
  unit.htmlFor = "slider";
  const likeness = element("div", "newest-told");
  panel.append(name, method, modes, playing, slider, unit, likeness);
  return { panel, method, modes, playing, slider, unit, likeness };
}

/** Another text or other methods: their names, the modes that there are, and the slider at the model itself. */
function fill(morph) {
  const { data, method, modes, slider } = morph;
  method.replaceChildren(...data.methods.map(({ label }, i) => new Option(label, String(i))));
  const there = Object.keys(data.methods[0].frames);
  if (!there.includes(morph.mode)) morph.mode = there[0];
  const buttons = there.map((mode) => {
    const node = button(MODES[mode], () => {
      morph.mode = mode;
      drawFrame(morph);
    });
    node.dataset.mode = mode;
    return node;
  });
  modes.replaceChildren(...buttons);
  slider.max = String(data.units.length);
  slider.value = "0";
}

function play(morph) {
  const { slider } = morph;
  if (slider.value === slider.max) slider.value = "0";
  morph.playing.textContent = "Pause";
  drawFrame(morph);
  morph.timer = setInterval(() => {
    slider.value = String(Number(slider.value) + 1);
    drawFrame(morph);
    if (slider.value === slider.max) stop(morph);
  }, PLAY_MS);
}

function stop(morph) {
  clearInterval(morph.timer);
  morph.timer = null;
  morph.playing.textContent = "Play";
}

function drawFrame(morph) {
  const { data, method, modes, slider, unit, likeness } = morph;
  const chosen = data.methods[Number(method.value)];
  const place = Number(slider.value);
  const frame = place ? chosen.frames[morph.mode][place - 1] : { words: "the same map: ρ 1", map: chosen.original };
  for (const node of modes.children) node.setAttribute("aria-pressed", String(node.dataset.mode === morph.mode));
  unit.textContent = place ? `${place} of ${data.units.length}: ${data.units[place - 1]}` : "no unit";
  likeness.textContent = frame.words;
  morph.title.textContent = titleOf(data, morph.mode, place);
  slider.setAttribute("aria-valuetext", `${morph.title.textContent}; ${frame.words}`);
  drawMap(morph.left, data, chosen, chosen.original);
  morph.place.hidden = !frame.map;
  morph.none.hidden = Boolean(frame.map);
  if (frame.map) drawMap(morph.right, data, chosen, frame.map);
}

function titleOf(data, mode, place) {
  if (!place) return "Nothing random yet";
  const name = data.units[place - 1];
  if (mode === "independent" || place === 1) return `Random: ${name}`;
  return `Random: ${data.units[0]} down to ${name}`;
}

function drawMap(view, { heatmap }, { label, signed, explained }, { limit_value, special_share, tokens }) {
  const drawn = heatmap.tokens.map((token, i) => ({ ...token, ...tokens[i] }));
  draw(view, { ...heatmap, method: label, signed, explained, limit_value, special_share, tokens: drawn, svg: "" });
}
