// Scrolls to what a press has opened (data.target, the key of a container), unless its head is in view already.
// data.press counts the presses: each is followed once, until the page has grown to its whole length or its reader moves.
const followed = new WeakMap();
const LOOK_MS = 50;
const AGAIN_MS = 500; // a smooth scroll has ended by then
const MOST_MS = 10_000;
const MOVES = ["wheel", "touchstart", "pointerdown", "keydown"];

export default function ({ data, parentElement }) {
  if (!data.target || followed.get(parentElement) === data.press) return;
  followed.set(parentElement, data.press);
  follow(`.st-key-${data.target}`, performance.now() + MOST_MS);
}

function follow(selector, end) {
  const over = new AbortController();
  for (const move of MOVES) window.addEventListener(move, () => over.abort(), { signal: over.signal, capture: true });
  const look = () => {
    if (performance.now() > end) over.abort();
    if (over.signal.aborted) return;
    const opened = document.querySelector(selector); // the page may have drawn it anew
    if (opened) show(opened);
    setTimeout(look, opened ? AGAIN_MS : LOOK_MS);
  };
  look();
}

function show(opened) {
  const { top } = opened.getBoundingClientRect();
  if (top >= 0 && top < window.innerHeight / 2) return;
  opened.style.scrollMarginTop = "4rem"; // the app's header lies over the top of the page
  const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  opened.scrollIntoView({ block: "start", behavior: still ? "auto" : "smooth" });
}
