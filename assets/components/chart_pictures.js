// Saves a chart of this page on the page's own background; the chart's toolbar draws the picture. A picture cannot bring
// the page's font along, so it is laid out anew in one that any reader has.
const FONT = "Arial, 'Liberation Sans', Helvetica, sans-serif";

export default function ({ data, parentElement }) {
  const save = (format) => {
    const chart = document.querySelector(`.st-key-${data.chart} .js-plotly-plot`);
    const camera = [...chart.querySelectorAll(".modebar-btn")].find((b) => b.dataset.title?.startsWith("Download plot"));
    const { paper_bgcolor, font } = chart.layout;
    chart._context.toImageButtonOptions = { format, filename: data.name, scale: format === "png" ? 2 : 1 };
    chart.layout.paper_bgcolor = getComputedStyle(document.querySelector(".stApp")).backgroundColor;
    chart.layout.font = { ...font, family: FONT };
    camera.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    Object.assign(chart.layout, { paper_bgcolor, font });
  };
  const buttons = ["svg", "png"].map((format) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "picture";
    button.textContent = format.toUpperCase();
    button.onclick = () => save(format);
    return button;
  });
  const row = parentElement.querySelector(".pictures") ?? parentElement.appendChild(document.createElement("div"));
  row.className = "pictures";
  row.replaceChildren(...buttons);
}
