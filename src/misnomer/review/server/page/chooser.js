// Choosing among many classes, the likeliest first: type to filter, arrows to move, Enter to take.
import { at, count, make } from "./dom.js";

let classes = [], chances = new Map(), matches = [], chosen = 0, take = () => {};

export function openChooser(names, likeliest, taken) {
  classes = names; take = taken;
  chances = new Map(likeliest.map(([place, , words], nth) => [place, { nth, words }]));
  at("type").value = "";
  filterClasses();
  at("chooser").showModal();
  at("type").focus();
}

function filterClasses() {
  const words = at("type").value.trim().toLowerCase();
  const rank = (i) => chances.get(i)?.nth ?? Infinity;
  const hits = classes.map((name, i) => [name, i]).filter(([name]) => name.toLowerCase().includes(words));
  hits.sort(([a, i], [b, j]) => (words ? b.toLowerCase().startsWith(words) - a.toLowerCase().startsWith(words) : 0) ||
    (rank(i) === rank(j) ? i - j : rank(i) - rank(j)));
  matches = hits.slice(0, 50); chosen = 0;
  at("more").textContent = hits.length > 50 ? `${count(hits.length - 50)} more: type to narrow` : hits.length ? "" : "no class is called so";
  showMatches();
}

function showMatches() {
  at("options").replaceChildren(...matches.map(([name, i], nth) => {
    const option = make("li", { role: "option", id: `option-${nth}`, "aria-selected": String(nth === chosen) },
      make("span", { text: name }), make("span", { class: "n soft", text: chances.get(i)?.words ?? "" }));
    option.addEventListener("click", () => choose(i));
    return option;
  }));
  at("type").setAttribute("aria-activedescendant", matches.length ? `option-${chosen}` : "");
  at("options").children[chosen]?.scrollIntoView({ block: "nearest" });
}

function choose(i) { at("chooser").close(); take(i); }

at("type").addEventListener("input", filterClasses);
at("type").addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step && matches.length) { event.preventDefault(); chosen = (chosen + step + matches.length) % matches.length; showMatches(); }
  if (event.key === "Enter" && matches.length) { event.preventDefault(); choose(matches[chosen][1]); }
});
