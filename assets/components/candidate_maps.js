// Many small maps of one text, each a button that opens it. tokens.js comes before it.

const grids = new WeakMap();

/** Draws `data` (SmallMaps with `picked`) into `parentElement`; called again on every change. */
export default function ({ data, parentElement, setTriggerValue }) {
  let root = grids.get(parentElement);
  if (!root) {
    root = parentElement.appendChild(element("div", "heatmap small-maps"));
    grids.set(parentElement, root);
  }
  const focused = [...root.children].indexOf(root.getRootNode().activeElement);
  root.replaceChildren(...data.maps.map((map) => small(map, data.picked, setTriggerValue)));
  paint({ root, data: data.maps[0].heatmap });
  if (focused >= 0) root.children[focused]?.focus();
}

function small({ candidate, name, value, heatmap }, picked, setTriggerValue) {
  const card = element("button", "small-map");
  card.type = "button";
  card.setAttribute("aria-pressed", String(candidate === picked));
  card.onclick = () => setTriggerValue("picked", candidate);
  const words = element("span", "small-words");
  heatmap.paragraphs.forEach(({ tail, cut }, part) => {
    const paragraph = element("span", "small-paragraph");
    for (const token of heatmap.tokens.filter((one) => one.part === part && !one.special)) {
      const sign = token.score > 0 ? "positive" : token.score < 0 ? "negative" : "";
      const node = element("span", `token ${heatmap.signed ? sign : "magnitude"}${token.joined ? " joined" : ""}`, token.shown);
      node.style.setProperty("--strength", token.strength);
      paragraph.append(token.before, node);
    }
    paragraph.append(cut ? " ✂" : tail);
    words.append(paragraph);
  });
  const scale = element("span", "small-value", `${value} · full colour at ${heatmap.limit_value} · ${heatmap.explained}`);
  card.append(element("span", "small-name", name), scale, words);
  return card;
}
