// Saves a chart of this page as it is seen, on the page's own background; the chart's toolbar draws the picture.
export default function ({ data, parentElement }) {
  const save = (format) => {
    const chart = document.querySelector(`.st-key-${data.chart} .js-plotly-plot`);
    const camera = [...chart.querySelectorAll(".modebar-btn")].find((b) => b.dataset.title?.startsWith("Download plot"));
    const before = chart.layout.paper_bgcolor;
    chart._context.toImageButtonOptions = { format, filename: data.name, scale: format === "png" ? 2 : 1 };
    chart.layout.paper_bgcolor = getComputedStyle(document.querySelector(".stApp")).backgroundColor;
    camera.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    chart.layout.paper_bgcolor = before;
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
