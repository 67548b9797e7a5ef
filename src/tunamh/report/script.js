"use strict";
// Tables that sort by a click on a heading, search as one types, and show more rows on demand.
for (const box of document.querySelectorAll(".data")) {
  const rows = JSON.parse(box.querySelector("script[type='application/json']").textContent);
  const body = box.querySelector("tbody"), headings = [...box.querySelectorAll("thead th")];
  const search = box.querySelector("input"), more = box.querySelector(".more"), status = box.querySelector(".status");
  const step = 200;
  let found = rows, shown = Math.min(100, rows.length), column = -1, sign = 1;

  const numberOf = (text) => {
    const number = Number(text.replace("\u2212", "-"));
    return Number.isNaN(number) ? -Infinity : number;
  };

  const draw = () => {
    const fragment = document.createDocumentFragment();
    for (const row of found.slice(0, shown)) {
      const line = document.createElement("tr");
      row.forEach((text, k) => {
        const cell = document.createElement(k ? "td" : "th");
        if (k === 0) {
          cell.scope = "row";
          const name = document.createElement("bdi");
          name.textContent = text;
          cell.append(name);
        } else {
          cell.textContent = text.replace("-", "\u2212");
        }
        line.append(cell);
      });
      fragment.append(line);
    }
    body.replaceChildren(fragment);
    const left = found.length - Math.min(shown, found.length);
    more.hidden = left === 0;
    more.textContent = `Show ${Math.min(step, left)} more`;
    status.textContent = found.length === 0 ? "No name contains this."
      : `${Math.min(shown, found.length).toLocaleString("en")} of ${found.length.toLocaleString("en")} shown`;
  };

  const sortBy = (k) => {
    sign = k === column ? -sign : (k === 0 ? 1 : -1);
    column = k;
    headings.forEach((heading, j) =>
      heading.setAttribute("aria-sort", j !== k ? "none" : sign > 0 ? "ascending" : "descending"));
    const compare = k === 0 ? (a, b) => a[0].localeCompare(b[0], "en", { numeric: true })
      : (a, b) => numberOf(a[k]) - numberOf(b[k]);
    rows.sort((a, b) => sign * compare(a, b));
    filter();
  };

  const filter = () => {
    const wanted = search ? search.value.trim().toLowerCase() : "";
    found = wanted ? rows.filter((row) => row[0].toLowerCase().includes(wanted)) : rows;
    draw();
  };

  headings.forEach((heading, k) => heading.querySelector("button").addEventListener("click", () => sortBy(k)));
  more.addEventListener("click", () => { shown += step; draw(); });
  if (search) search.addEventListener("input", () => { shown = 100; filter(); });
  box.classList.add("alive");
  draw();
}
