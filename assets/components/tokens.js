// What every drawing of scored tokens shares: legend, the text with its scores, and one card that tells about the token
// pointed at. It is put before the script of a component. All user text enters through textContent and setAttribute.

function element(tag, className, text) {
  const node = document.createElement(tag);
  node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

function button(label, onPress) {
  const node = element("button", "button", label);
  node.type = "button";
  node.onclick = onPress;
  return node;
}

function toggle(label, root, state) {
  const node = button(label, () => {
    const on = root.classList.toggle(state);
    node.setAttribute("aria-pressed", String(on));
  });
  node.setAttribute("aria-pressed", "false");
  return node;
}

function mount(parentElement, data) {
  const root = parentElement.appendChild(element("div", "heatmap"));
  const view = { root, tokens: [], data: null, current: 0, picked: data.picked, shown: null };
  view.legend = element("div", "legend");
  view.text = element("div", "text");
  view.text.setAttribute("role", "listbox");
  view.unread = element("details", "cut");
  view.notes = element("div", "notes");
  view.card = element("div", "card");
  view.card.id = "card";
  view.card.setAttribute("role", "tooltip");
  view.card.setAttribute("popover", "manual");
  view.special = toggle("Special tokens", root, "specials");
  view.prompt = toggle("Prompt", root, "prompts");
  const tools = element("div", "tools");
  view.pictures = [
    button("SVG", () => save(svgBlob(view), `${view.data.file_name}.svg`)),
    button("PNG", () => savePng(view)),
  ];
  tools.append(toggle("Numbers", root, "numbers"), view.special, view.prompt, ...view.pictures);
  const head = element("div", "head");
  head.append(view.legend, tools);
  root.append(head, view.text, view.unread, view.notes, view.card);
  listen(view);
  return view;
}

// ---- drawing

function draw(view, data) {
  const sameTokens = view.data?.key === data.key;
  if (!sameTokens) hideCard(view);
  if (view.data && !sameTokens) view.picked = null;
  view.data = data;
  view.ranked = data.tokens.filter((token) => token.rank !== null).length;
  view.root.classList.toggle("bands", Boolean(data.spread_label));
  paint(view);
  drawLegend(view);
  if (!sameTokens) drawText(view);
  data.tokens.forEach((token, i) => drawToken(view, view.tokens[i], token, i));
  view.text.setAttribute("aria-label", `Token scores: ${data.method}, ${data.target}`);
  view.special.hidden = !data.tokens.some((token) => token.special && !token.prompt);
  view.prompt.hidden = !data.tokens.some((token) => token.prompt);
  for (const picture of view.pictures) picture.hidden = !data.svg;
  drawNotes(view);
  if (view.shown) showCard(view, view.shown);
}

/** Sets the hues that suit the background really there, light or dark. */
function paint(view) {
  const probe = view.root.appendChild(element("span", "probe"));
  const [red, green, blue] = getComputedStyle(probe).backgroundColor.match(/[\d.]+/g).map(Number);
  probe.remove();
  const dark = 0.2126 * red + 0.7152 * green + 0.0722 * blue < 128;
  for (const [name, color] of Object.entries(view.data.colors[dark ? "dark" : "light"])) {
    view.root.style.setProperty(`--${name}`, color);
  }
}

function drawLegend(view) {
  const { signed, target, limit_value, explained, contradiction, shared, scale_label, spread_label } = view.data;
  const scale = element("div", "scale");
  const bar = element("div", signed ? "bar signed" : "bar magnitude");
  const marks = element("div", "marks");
  marks.append(...(signed ? [`−${limit_value}`, "0", `+${limit_value}`] : ["0", limit_value]).map((m) => element("span", "", m)));
  scale.append(bar, marks);
  const against = element("span", "word negative", `against ${target}`);
  const support = element("span", "word positive", `for ${target}`);
  const words = signed ? [against, scale, support] : [scale, element("span", "word magnitude", scale_label)];
  view.legend.replaceChildren(...words);
  if (spread_label) {
    const spread = element("span", "shared");
    spread.append(element("span", "swatch"), ` ${spread_label}`);
    view.legend.append(spread);
  }
  if (explained) view.legend.append(element("span", "shared", explained));
  if (contradiction) view.legend.append(element("span", "shared", contradiction));
  if (shared) view.legend.append(element("span", "shared", "one scale for all maps"));
}

function drawText(view) {
  const { tokens, paragraphs } = view.data;
  const hadFocus = view.tokens.includes(view.root.getRootNode().activeElement);
  while (view.tokens.length < tokens.length) view.tokens.push(element("span", ""));
  view.tokens.length = tokens.length;
  const blocks = paragraphs.map(() => element("div", "paragraph"));
  for (const block of blocks) block.dir = "auto";
  tokens.forEach((token, i) => {
    if (token.before) blocks[token.part].append(element("span", "gap", token.before));
    blocks[token.part].append(view.tokens[i]);
  });
  paragraphs.forEach(({ unread, tail, cut }, part) => {
    if (unread) blocks[part].prepend("✂ ");
    if (cut) blocks[part].append(" ✂");
    else if (tail) blocks[part].append(element("span", "gap", tail));
  });
  view.text.replaceChildren(...blocks);
  drawUnread(view);
  view.current = Math.max(0, tokens.findIndex((token) => !token.special));
  if (hadFocus) view.tokens[view.current].focus();
}

/** What the model never read: one line, to unfold. */
function drawUnread({ unread, data }) {
  const texts = data.paragraphs.flatMap(({ unread: first, tail, cut }) => [first, cut ? tail : ""]).filter(Boolean);
  const rest = texts.map((text) => element("div", "unread", text));
  for (const text of rest) text.dir = "auto";
  unread.open = false;
  unread.hidden = !data.cut;
  unread.replaceChildren(element("summary", "", `✂ ${data.cut}`), ...rest);
}

function drawToken(view, node, token, i) {
  const { signed } = view.data;
  const sign = !signed ? "magnitude" : token.score > 0 ? "positive" : token.score < 0 ? "negative" : "";
  const classes = ["token", sign];
  for (const flag of ["special", "prompt", "joined", "clipped", "conflict", "isolated"]) {
    if (token[flag]) classes.push(flag);
  }
  if (token.band !== null) classes.push("banded");
  if (token.top) classes.push("framed");
  node.className = classes.join(" ");
  if (node.textContent !== token.shown) node.textContent = token.shown;
  node.style.setProperty("--strength", token.strength.toFixed(4));
  node.style.setProperty("--band", (token.band ?? 0).toFixed(4));
  const attributes = {
    role: "option",
    tabindex: i === view.current ? "0" : "-1",
    "data-index": String(i),
    "data-value": token.value,
    "aria-selected": String(i === view.picked),
    "aria-label": [token.name, token.value, ...(token.told.length ? [] : [rankText(view, token)]), ...topText(token), ...spreadText(token)].join(", "),
  };
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
}

function drawNotes(view) {
  const { tokens, special_share, special_name, signed, mark, top_label } = view.data;
  const notes = [];
  if (signed) notes.push("Solid line: for; dotted line: against.");
  if (tokens.some((token) => token.conflict)) notes.push(`≠ ${mark}.`);
  if (top_label) notes.push(top_label);
  if (tokens.some((token) => token.clipped)) notes.push("▲ beyond the scale.");
  if (special_share !== null && tokens.some((token) => token.special)) {
    notes.push(`${special_name} hold ${(100 * special_share).toFixed(0)}% of the total |score|.`);
  }
  view.notes.textContent = notes.join(" ");
}

// ---- the card

function rankText(view, token) {
  if (token.rank === null) return token.prompt ? "prompt" : "special token";
  return `rank ${token.rank} of ${view.ranked}`;
}

function topText(token) {
  return token.top ? [`place ${token.top} by score`] : [];
}

function spreadText(token) {
  return token.spread_value ? [`spread over members ${token.spread_value}`] : [];
}

function standing(view, token) {
  const score = token.error_value === null ? token.value : `${token.value} ± ${token.error_value}`;
  const rows = [["score", token.clipped ? `${score} (beyond the scale)` : score]];
  if (token.spread_value) rows.push(["spread", `${token.spread_value} over the members`]);
  if (token.rank !== null) {
    rows.push(["share", `${(100 * token.share).toFixed(1)}% of the total |score|`], ["rank", rankText(view, token).slice(5)]);
  }
  return rows;
}

function facts(view, token) {
  const rows = token.told.length ? [...token.told] : standing(view, token);
  rows.push([token.pieces.length > 1 ? "pieces" : "piece", token.pieces.map((p, i) => `\u2068${p}\u2069 (${token.ids[i]})`).join("  ")]);
  if (!token.special) rows.push(["characters", `${token.start}–${token.end}`]);
  if (token.conflict) rows.push(["≠", token.conflict]);
  return rows;
}

function showCard(view, node, y) {
  const token = view.data.tokens[view.tokens.indexOf(node)];
  const list = element("dl", "");
  for (const [name, value] of facts(view, token)) list.append(element("dt", "", name), element("dd", "", value));
  view.card.replaceChildren(element("div", "name", token.name), list);
  clearTimeout(view.closing);
  view.shown?.removeAttribute("aria-describedby");
  node.setAttribute("aria-describedby", view.card.id);
  if (!view.shown) {
    view.card.showPopover();
    document.addEventListener("pointerdown", view.onOutside, true);
    document.addEventListener("keydown", view.onEscape, true);
    window.addEventListener("scroll", view.onMove, true);
    window.addEventListener("resize", view.onMove);
  }
  view.shown = node;
  view.y = y;
  placeCard(view);
}

function hideCard(view) {
  if (!view.shown) return;
  clearTimeout(view.closing);
  view.shown.removeAttribute("aria-describedby");
  view.shown = null;
  if (view.card.isConnected) view.card.hidePopover();
  document.removeEventListener("pointerdown", view.onOutside, true);
  document.removeEventListener("keydown", view.onEscape, true);
  window.removeEventListener("scroll", view.onMove, true);
  window.removeEventListener("resize", view.onMove);
}

/** Below the line of the token that is pointed at, above it where there is no room, always inside the window. */
function placeCard({ card, shown, y }) {
  const lines = [...shown.getClientRects()];
  const line = lines.find((rect) => y >= rect.top && y <= rect.bottom) ?? lines[0];
  if (!line) return;
  const { width, height } = card.getBoundingClientRect();
  const { clientWidth, clientHeight } = document.documentElement;
  const below = line.bottom + 6;
  const top = below + height > clientHeight - 8 ? line.top - height - 6 : below;
  card.style.left = `${Math.max(8, Math.min(line.left, clientWidth - width - 8))}px`;
  card.style.top = `${Math.max(8, top)}px`;
}

// ---- pointing, walking, picking

function listen(view) {
  const { text, card } = view;
  const tokenOf = (event) => event.target.closest?.(".token");
  view.onOutside = (event) => event.composedPath().some((n) => n === text || n === card) || hideCard(view);
  view.onEscape = (event) => event.key === "Escape" && hideCard(view);
  view.onMove = () => placeCard(view);
  const leave = (event) => {
    if (event.pointerType !== "touch") view.closing = setTimeout(() => hideCard(view), 150);
  };
  text.onpointerover = (event) => {
    const node = tokenOf(event);
    if (node && event.pointerType !== "touch") showCard(view, node, event.clientY);
  };
  text.onpointerleave = leave;
  card.onpointerleave = leave;
  card.onpointerenter = () => clearTimeout(view.closing);
  text.onpointerdown = () => {
    view.shownBefore = view.shown;
  };
  text.addEventListener("focusin", (event) => {
    const node = tokenOf(event);
    if (!node) return;
    makeCurrent(view, view.tokens.indexOf(node));
    if (node.matches(":focus-visible")) showCard(view, node);
  });
  text.addEventListener("focusout", () => hideCard(view));
  text.onclick = (event) => {
    const node = tokenOf(event);
    if (!node) return hideCard(view);
    const firstTap = event.pointerType === "touch" && view.shownBefore !== node;
    showCard(view, node, event.clientY);
    if (!firstTap) pick(view, node);
  };
  text.onkeydown = (event) => walk(view, event);
}

function makeCurrent(view, index) {
  view.tokens[view.current]?.setAttribute("tabindex", "-1");
  view.current = index;
  view.tokens[index].setAttribute("tabindex", "0");
}

function pick(view, node) {
  const index = view.tokens.indexOf(node);
  view.picked = view.picked === index ? null : index;
  view.tokens.forEach((other, i) => other.setAttribute("aria-selected", String(i === view.picked)));
  view.pick(view.picked);
}

function walk(view, event) {
  const visible = view.tokens.filter((node) => node.offsetParent !== null);
  const here = visible.indexOf(view.tokens[view.current]);
  const onward = here >= 0 && getComputedStyle(visible[here].parentElement).direction === "rtl" ? -1 : 1;
  const goals = {
    ArrowLeft: () => visible[here - onward],
    ArrowRight: () => visible[here + onward],
    ArrowUp: () => nextLine(visible.slice(0, Math.max(here, 0)).reverse(), visible[here], -1),
    ArrowDown: () => nextLine(visible.slice(here + 1), visible[here], 1),
    Home: () => visible[0],
    End: () => visible.at(-1),
  };
  if (event.key === "Enter" || event.key === " ") pick(view, view.tokens[view.current]);
  else if (goals[event.key]) goals[event.key]()?.focus();
  else return;
  event.preventDefault();
}

/** The nearest token of the next line in `candidates`, which are ordered by their distance in the text. */
function nextLine(candidates, from, direction) {
  const middle = (node) => {
    const rect = node.getClientRects()[0];
    return [rect.left + rect.width / 2, rect.top + rect.height / 2];
  };
  const [x, y] = middle(from);
  const apart = from.getClientRects()[0].height / 2;
  let line = null;
  let best = null;
  for (const node of candidates) {
    const [nodeX, nodeY] = middle(node);
    if ((nodeY - y) * direction < apart) continue;
    line ??= nodeY;
    if (Math.abs(nodeY - line) > apart) break;
    if (!best || Math.abs(nodeX - x) < best.distance) best = { node, distance: Math.abs(nodeX - x) };
  }
  return best?.node;
}

// ---- files

function svgBlob(view) {
  return new Blob([view.data.svg], { type: "image/svg+xml" });
}

function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** The same picture in pixels, twice its size, on white. */
async function savePng(view) {
  const url = URL.createObjectURL(svgBlob(view));
  const image = new Image();
  image.src = url;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = 2 * image.naturalWidth;
  canvas.height = 2 * image.naturalHeight;
  const context = canvas.getContext("2d");
  context.fillStyle = "white";
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(url);
  canvas.toBlob((blob) => save(blob, `${view.data.file_name}.png`), "image/png");
}
