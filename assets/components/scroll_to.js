// Scrolls to what a press has opened (data.target, the key of a container), unless its head is in view already.
// data.press counts the presses: each is followed once.
const followed = new WeakMap();
const TRIES = 40;

export default function ({ data, parentElement }) {
  if (!data.target || followed.get(parentElement) === data.press) return;
  followed.set(parentElement, data.press);
  const look = (tries) => {
    const opened = document.querySelector(`.st-key-${data.target}`);
    if (opened) show(opened);
    else if (tries) setTimeout(look, 50, tries - 1);
  };
  look(TRIES);
}

function show(opened) {
  const { top } = opened.getBoundingClientRect();
  if (top >= 0 && top < window.innerHeight / 2) return;
  opened.style.scrollMarginTop = "4rem"; // the app's header lies over the top of the page
  const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  opened.scrollIntoView({ block: "start", behavior: still ? "auto" : "smooth" });
}
