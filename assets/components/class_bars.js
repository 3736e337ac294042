// One row a class: name, bar, probability; pressing a row makes it the target.
const part = (tag, name) => {
  const element = document.createElement(tag);
  element.className = name;
  return element;
};

export default function ({ data, parentElement, setTriggerValue }) {
  const list = parentElement.querySelector(".classes") ?? parentElement.appendChild(part("div", "classes"));
  list.replaceChildren(
    ...data.classes.map((row) => {
      const button = part("button", row.target ? "class target" : "class");
      button.type = "button";
      button.setAttribute("aria-pressed", String(row.target));
      button.title = row.target ? "The class explained" : "Explain this class";
      const name = part("span", "name");
      name.textContent = row.label;
      const track = part("span", "track");
      const bar = track.appendChild(part("span", "bar"));
      bar.style.width = `${100 * row.probability}%`;
      const value = part("span", "value");
      value.textContent = row.shown;
      button.append(name, track, value);
      button.onclick = () => setTriggerValue("picked", row.label);
      return button;
    }),
  );
}
