// A test text as each measure masks it, with a slider over the ratios and filters over the texts. All texts are here
// already: moving and filtering ask nobody. tokens.js comes before it. All words enter through textContent.

const KINDS = { all: "All texts", right: "Right with nothing masked", first: "First wrong at", never: "Never wrong" };
const SIGNS = "Struck out: masked; framed: masked from here on. Below: ✓ right and ✕ wrong, from nothing to all masked.";
const views = new WeakMap();

/** Draws `data` (a MaskedTexts) into `parentElement`; called again on every change. */
export default function ({ data, parentElement }) {
  let view = views.get(parentElement);
  if (!view) {
    view = mountTexts(parentElement);
    views.set(parentElement, view);
  }
  const asked = JSON.stringify([data.ratios, data.measures, data.texts.map(({ row, pieces }) => [row, pieces])]);
  const isNew = view.asked !== asked;
  Object.assign(view, { data, asked });
  if (isNew) fill(view);
  filter(view);
}

// ---- what there is to press

function mountTexts(parentElement) {
  const root = parentElement.appendChild(element("div", "masked-texts"));
  const view = { root, place: 0, shown: [], ...controls() };
  view.head = element("div", "text-head");
  view.head.id = "text-head";
  view.head.setAttribute("aria-live", "polite");
  view.cards = element("div", "masks");
  view.pair = element("p", "pair");
  view.legend = element("p", "signs", SIGNS);
  root.append(view.panel, view.head, view.cards, view.pair, view.legend);
  view.slider.oninput = () => showText(view);
  view.filter.onchange = () => {
    const [kind, ratio] = view.filter.value.split(":");
    if (kind === "first") view.slider.value = ratio;
    view.place = 0;
    filter(view);
  };
  view.by.onchange = () => {
    view.place = 0;
    filter(view);
  };
  view.before.onclick = () => step(view, -1);
  view.after.onclick = () => step(view, 1);
  root.addEventListener("keydown", (event) => walkTexts(view, event));
  return view;
}

function controls() {
  const panel = element("div", "choices");
  const [filter, filterBox] = choice("filter", "Texts");
  const [by, byBox] = choice("by", "by");
  const slider = element("input", "slider");
  Object.assign(slider, { type: "range", min: "0", step: "1", value: "0", id: "slider" });
  slider.setAttribute("aria-label", "Share masked");
  slider.setAttribute("aria-describedby", "keys");
  const name = element("label", "name", "Masked");
  name.htmlFor = "slider";
  const ratio = element("output", "ratio");
  ratio.htmlFor = "slider";
  const before = button("Text before", null);
  const after = button("Next text", null);
  const keys = element("span", "keys", "← → more or less masked, ↑ ↓ another text");
  keys.id = "keys";
  const filters = element("div", "filters");
  filters.append(filterBox, byBox);
  const moves = element("div", "moves");
  moves.append(before, after, keys);
  const sliding = element("div", "sliding");
  sliding.append(name, slider, ratio);
  panel.append(filters, sliding, moves);
  return { panel, filter, by, slider, ratio, before, after };
}

function choice(id, words) {
  const select = element("select", "method");
  select.id = id;
  const label = element("label", "name", words);
  label.htmlFor = id;
  const box = element("div", "choice");
  box.append(label, select);
  return [select, box];
}

/** Arrow keys up and down go through the texts; a list of choices keeps its own. */
function walkTexts(view, event) {
  const moves = { ArrowUp: -1, ArrowDown: 1 };
  if (!(event.key in moves) || event.composedPath()[0].tagName === "SELECT") return;
  event.preventDefault();
  step(view, moves[event.key]);
}

function step(view, by) {
  const last = view.shown.length - 1;
  view.place = Math.min(Math.max(view.place + by, 0), Math.max(last, 0));
  showText(view);
}

// ---- which texts

/** Other texts: the choices of the filters, and a slider that begins where a few words are masked. */
function fill(view) {
  const { data, filter, by, slider } = view;
  const wrong = data.ratios.map((ratio, i) => new Option(`${KINDS.first} ${ratio}`, `first:${i}`)).slice(1);
  filter.replaceChildren(new Option(KINDS.all, "all"), new Option(KINDS.right, "right"));
  filter.append(...wrong, new Option(KINDS.never, "never"));
  by.replaceChildren(new Option("any measure", ""), ...data.measures.map((name, i) => new Option(name, String(i))));
  slider.max = String(data.ratios.length - 1);
  slider.value = String(Math.round(0.3 * (data.ratios.length - 1)));
  view.place = 0;
}

function filter(view) {
  const [kind, ratio] = view.filter.value.split(":");
  const fits = {
    all: () => true,
    right: (text, mask) => mask.predicted[0] === text.label,
    first: (text, mask) => firstWrong(text, mask) === Number(ratio),
    never: (text, mask) => firstWrong(text, mask) === null && mask.predicted.every((known) => known !== null),
  }[kind];
  const masks = (text) => (view.by.value === "" ? text.masks : [text.masks[Number(view.by.value)]]);
  view.shown = view.data.texts.filter((text) => masks(text).some((mask) => fits(text, mask)));
  view.place = Math.min(view.place, Math.max(0, view.shown.length - 1));
  showText(view);
}

/** The place of the first ratio at which the prediction is wrong; null where it never is. */
function firstWrong(text, { predicted }) {
  const place = predicted.findIndex((label) => label !== null && label !== text.label);
  return place < 0 ? null : place;
}

// ---- one text

function showText(view) {
  const { data, shown, slider, ratio, head, cards, pair, before, after } = view;
  const at = Number(slider.value);
  const text = shown[view.place];
  ratio.textContent = data.ratios[at];
  slider.setAttribute("aria-valuetext", `${data.ratios[at]} masked`);
  before.disabled = view.place === 0;
  after.disabled = view.place >= shown.length - 1;
  pair.hidden = !text || text.pair === null;
  if (!text) {
    head.textContent = "No text is like this.";
    cards.replaceChildren();
    return;
  }
  const count = `Text ${view.place + 1} of ${shown.length}, row ${text.row}, is `;
  head.replaceChildren(document.createTextNode(count), element("strong", "", data.labels[text.label]));
  pair.textContent = text.pair === null ? "" : `Second text, never masked: ${text.pair}`;
  cards.replaceChildren(...data.measures.map((name, i) => drawMask(view, name, text, text.masks[i], at)));
}

/** A measure: the text as it masks it, the prediction now, and a sign for that at each ratio. */
function drawMask(view, name, text, mask, at) {
  const card = element("section", "mask");
  const title = element("div", "mask-head");
  title.append(element("span", "mask-name", name), drawPrediction(view.data, text, mask, at));
  const words = element("p", "words");
  words.dir = "auto";
  words.append(...text.pieces.map((piece) => drawPiece(piece, mask, at)));
  card.append(title, words, drawTrack(view, text, mask, at));
  return card;
}

function drawPiece({ text, token }, mask, at) {
  if (token === null) return document.createTextNode(text);
  const masked = mask.at[token] <= at;
  const node = element(masked ? "del" : "bdi", masked ? "masked" : "kept", text);
  if (masked && mask.at[token] === at) node.classList.add("newest");
  return node;
}

function drawPrediction(data, text, mask, at) {
  return element("span", `prediction ${verdictOf(text, mask, at)}`, predictionWords(data, text, mask, at));
}

function predictionWords(data, text, mask, at) {
  const predicted = mask.predicted[at];
  if (predicted === null) return "no prediction yet";
  const sign = { right: "✓", wrong: "✕" }[verdictOf(text, mask, at)];
  const share = mask.probability[at] === null ? "" : `, own class ${(100 * mask.probability[at]).toFixed(0)}%`;
  return `${sign} ${data.labels[predicted]}${share}`;
}

function verdictOf(text, mask, at) {
  const predicted = mask.predicted[at];
  return predicted === null ? "unknown" : predicted === text.label ? "right" : "wrong";
}

/** A sign for the prediction at each ratio; a press moves the slider there. */
function drawTrack(view, text, mask, at) {
  const track = element("div", "track");
  track.setAttribute("role", "img");
  const words = view.data.ratios.map((ratio, i) => `${ratio}: ${predictionWords(view.data, text, mask, i)}`);
  track.setAttribute("aria-label", words.join("; "));
  for (const [i, label] of words.entries()) {
    const verdict = verdictOf(text, mask, i);
    const cell = element("span", `cell ${verdict}`, { right: "✓", wrong: "✕", unknown: "·" }[verdict]);
    cell.title = label;
    if (i === at) cell.classList.add("now");
    cell.onclick = () => {
      view.slider.value = String(i);
      showText(view);
    };
    track.append(cell);
  }
  return track;
}
