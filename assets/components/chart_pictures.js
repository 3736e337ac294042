// Saves a chart of this page on the page's own background: a Plotly chart by its own toolbar, another drawing as it is.
// A picture cannot bring the page's font along, so it is laid out anew in one that any reader has.
const FONT = "Arial, 'Liberation Sans', Helvetica, sans-serif";
const SCALE = 2; // pixels of a PNG for each of the page's

const background = () => getComputedStyle(document.querySelector(".stApp")).backgroundColor;

function savePlot(chart, format, name) {
  const camera = [...chart.querySelectorAll(".modebar-btn")].find((b) => b.dataset.title?.startsWith("Download plot"));
  const { paper_bgcolor, font } = chart.layout;
  chart._context.toImageButtonOptions = { format, filename: name, scale: format === "png" ? SCALE : 1 };
  chart.layout.paper_bgcolor = background();
  chart.layout.font = { ...font, family: FONT };
  camera.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  Object.assign(chart.layout, { paper_bgcolor, font });
}

async function saveDrawing(drawing, format, name) {
  const copy = drawing.cloneNode(true);
  const { width, height } = drawing.getBoundingClientRect();
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  for (const text of copy.querySelectorAll("text")) text.setAttribute("font-family", FONT);
  const behind = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  for (const [key, value] of Object.entries({ width: "100%", height: "100%", fill: background() }))
    behind.setAttribute(key, value);
  copy.prepend(behind);
  const link = document.createElement("a");
  link.download = `${name}.${format}`;
  link.href = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(copy))}`;
  if (format === "png") {
    const image = new Image();
    image.src = link.href;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [SCALE * width, SCALE * height];
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    link.href = canvas.toDataURL();
  }
  link.click();
}

export default function ({ data, parentElement }) {
  const save = (format) => {
    const place = document.querySelector(`.st-key-${data.chart}`);
    const chart = place.querySelector(".js-plotly-plot");
    if (chart) savePlot(chart, format, data.name);
    else saveDrawing(place.querySelector("svg.marks"), format, data.name);
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
