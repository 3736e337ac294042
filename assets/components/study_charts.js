// Draws the figures of a report into their places, in the colours of the page, and anew when these change.
const figures = JSON.parse(document.getElementById("figures").textContent);
const places = [...document.querySelectorAll(".chart")];

function template() {
  const style = getComputedStyle(document.documentElement);
  const value = (name) => style.getPropertyValue(`--st-${name}`).trim();
  const [ink, paper, line] = ["text-color", "background-color", "border-color"].map(value);
  const size = innerWidth < 600 ? 11 : 13;
  const axis = { gridcolor: line, zerolinecolor: line, linecolor: line, title: { font: { size } } };
  return {
    layout: {
      font: { family: value("font"), size, color: ink },
      hoverlabel: { bgcolor: paper, bordercolor: line, font: { color: ink } },
      modebar: { bgcolor: paper, color: "#7a8580", activecolor: ink },
      xaxis: axis,
      yaxis: axis,
    },
  };
}

function draw() {
  const paper = getComputedStyle(document.body).backgroundColor;
  const page = { template: template(), paper_bgcolor: paper, plot_bgcolor: paper };
  figures.forEach(({ data, layout, config }, i) => {
    if (!places[i].matches(".js-plotly-plot")) places[i].replaceChildren(); // what is told where nothing draws
    Plotly.react(places[i], data, { ...layout, ...page }, { ...config, responsive: true });
  });
}

draw();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
