// One attribution map. tokens.js comes before it.

const views = new WeakMap();

/** Draws `data` (a Heatmap with `svg` and `picked`) into `parentElement`; called again on every change. */
export default function ({ data, parentElement, setStateValue }) {
  let view = views.get(parentElement);
  if (!view) {
    view = mount(parentElement, data);
    views.set(parentElement, view);
  }
  view.pick = (index) => setStateValue("picked", index === null ? null : { key: data.key, index });
  draw(view, data);
  return () => hideCard(view);
}
