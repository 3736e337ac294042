// The left and right arrow keys move through the rows of a table, unless something on the page has a use for them.
const BUSY = "input, textarea, select, canvas, [contenteditable], [role]:not(button):not([role='button'])";

export default function ({ setTriggerValue }) {
  const move = (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const held = event.shiftKey || event.ctrlKey || event.metaKey || event.altKey || event.isComposing;
    if (!step || held || event.defaultPrevented || event.composedPath()[0].matches?.(BUSY)) return;
    event.preventDefault();
    setTriggerValue("step", step);
  };
  document.addEventListener("keydown", move);
  return () => document.removeEventListener("keydown", move);
}
