// Enter in the text boxes named by data.keys commits them, as Ctrl+Enter does; Shift+Enter starts a new line.
export default function ({ data }) {
  const boxes = data.keys.map((key) => `.st-key-${key} textarea`).join(",");
  const commit = (event) => {
    const plainEnter =
      event.key === "Enter" && !event.shiftKey && !event.ctrlKey && !event.metaKey && !event.altKey && !event.isComposing;
    if (!plainEnter || !event.target.matches?.(boxes)) return;
    event.preventDefault();
    event.stopPropagation();
    event.target.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", ctrlKey: true, bubbles: true }));
  };
  document.addEventListener("keydown", commit, true);
  return () => document.removeEventListener("keydown", commit, true);
}
