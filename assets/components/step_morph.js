// The map at every step count: a slider moves between frames that are all here already. tokens.js comes before it.

const SVG = "http://www.w3.org/2000/svg";
const views = new WeakMap();

/** Draws `data` (a StepMorph with `picked`) into `parentElement`; called again on every change. */
export default function ({ data, parentElement, setStateValue }) {
  let morph = views.get(parentElement);
  if (!morph) {
    morph = mountMorph(parentElement, data);
    views.set(parentElement, morph);
  }
  const asked = [data.heatmap.key, data.rule, data.frames.length].join();
  if (morph.asked !== asked) morph.slider.value = "0";
  morph.asked = asked;
  morph.data = data;
  morph.view.pick = (index) => setStateValue("picked", index === null ? null : { key: data.heatmap.key, index });
  drawFrame(morph);
  return () => hideCard(morph.view);
}

function mountMorph(parentElement, data) {
  const panel = parentElement.appendChild(element("div", "panel"));
  const morph = { panel, label: element("output", "frame"), error: element("span", "error") };
  morph.slider = element("input", "slider");
  Object.assign(morph.slider, { type: "range", min: "0", max: String(data.frames.length - 1), step: "1", id: "slider" });
  const name = element("label", "name", "Steps");
  name.htmlFor = "slider";
  morph.label.htmlFor = "slider";
  const told = element("div", "told");
  told.append(morph.label, morph.error);
  morph.axis = element("div", "axis");
  morph.points = pointsOn(morph.axis);
  panel.append(name, morph.slider, told, morph.axis);
  morph.view = mount(parentElement, { ...data.heatmap, picked: data.picked });
  morph.slider.oninput = () => drawFrame(morph);
  return morph;
}

/** The path from baseline to text as a line; returns the mark that the sampled points are drawn with. */
function pointsOn(axis) {
  const picture = axis.appendChild(document.createElementNS(SVG, "svg"));
  picture.setAttribute("role", "img");
  picture.setAttribute("viewBox", "0 0 1000 16");
  picture.setAttribute("preserveAspectRatio", "none");
  const line = picture.appendChild(document.createElementNS(SVG, "path"));
  line.setAttribute("class", "line");
  line.setAttribute("d", "M0 8H1000");
  const points = picture.appendChild(document.createElementNS(SVG, "path"));
  points.setAttribute("class", "points");
  const ends = axis.appendChild(element("div", "ends"));
  ends.append(element("span", "", "baseline, α = 0"), element("span", "", "text, α = 1"));
  return points;
}

function drawFrame(morph) {
  const { slider, data, view } = morph;
  slider.max = String(data.frames.length - 1);
  const frame = data.frames[Number(slider.value)];
  morph.label.textContent = frame.label;
  morph.error.textContent = `${frame.within ? "✓" : "✗"} ${frame.error}`;
  morph.error.classList.toggle("within", frame.within);
  slider.setAttribute("aria-valuetext", `${frame.label}, ${frame.error}`);
  morph.points.setAttribute("d", frame.alphas.map((alpha) => `M${1000 * alpha} 1V15`).join(""));
  morph.axis.firstChild.setAttribute("aria-label", `${frame.alphas.length} points sampled between baseline and text`);
  const tokens = data.heatmap.tokens.map((token, i) => ({ ...token, ...frame.tokens[i] }));
  draw(view, { ...data.heatmap, tokens, svg: frame.svg });
}
