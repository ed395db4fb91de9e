/* A field above a long list that hides what does not contain the typed words: rows of a table, or names. */
document.addEventListener("DOMContentLoaded", () => {
  const article = document.querySelector(".bd-article > section");
  const inside = /\/(api|behaviours|operators)\/[^/]+\.html$/.test(location.pathname);
  const isTraps = location.pathname.endsWith("/traps.html");
  if (!article || !(inside || isTraps)) return;

  const all = (query) => [...article.querySelectorAll(query)];
  const isIndex = isTraps || location.pathname.endsWith("/index.html");
  const inSections = "tbody tr";
  const queries = [":scope > section", ":scope > dl.py"];
  const items = isIndex
    ? all(":scope > section").flatMap((section) => [...section.querySelectorAll(inSections)])
    : queries.flatMap(all);
  if (items.length < 8) return;
  const name = (item) => {
    const heading = item.querySelector(":scope > h2, :scope > dt");
    return (heading ?? item).textContent.toLowerCase();
  };
  const names = new Map(items.map((item) => [item, name(item)]));

  const label = document.createElement("label");
  const field = document.createElement("input");
  const count = document.createElement("span");
  label.className = "filter";
  field.type = "search";
  count.setAttribute("aria-live", "polite");
  label.append("Filter", field, count);
  article.querySelector("h1").after(label);

  const update = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = (item) => words.every((word) => names.get(item).includes(word));
    for (const item of items) item.hidden = !fits(item);
    const shown = items.filter((item) => !item.hidden).length;
    count.textContent = `${shown} of ${items.length}`;
    if (!isIndex) return;
    for (const section of all(":scope > section")) {
      const inside = [...section.querySelectorAll(inSections)];
      section.hidden = inside.length > 0 && inside.every((item) => item.hidden);
    }
  };
  field.addEventListener("input", update);
  update();
});
