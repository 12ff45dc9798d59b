// One row: its cells, with weighty words and images, what speaks for which class, and who said what.
import { at, count, make, signed } from "./dom.js";

const LONG = 400; // characters from which a text gets all the room there is

export function showEvidence(why) {
  at("sides").replaceChildren(
    make("span", { class: "away", text: `◀ for ${why.against}` }), " · ",
    make("span", { class: "toward", text: `for ${why.suggested} ▶` }), " · +0.7 doubles the odds, −0.7 halves them");
  const widest = Math.max(1, ...why.terms.map((term) => Math.abs(term.weight ?? 0)));
  const rows = why.terms.map((term) => evidenceRow(term, widest));
  const sum = { name: "in all", value: null, weight: why.log_odds };
  at("terms").replaceChildren(...rows, evidenceRow(sum, Infinity, "sum"));
}

function evidenceRow(term, widest, kind = "") {
  const weight = term.weight ?? 0;
  const bar = make("i", { class: weight < 0 ? "against" : "for" });
  bar.style.width = `${(100 * Math.abs(weight)) / widest}%`;
  const left = make("span"), right = make("span");
  if (widest < Infinity) (weight < 0 ? left : right).append(bar); // the sum has no bar: it would dwarf all
  const own = { label: "own", answer: "answer" }[term.kind] ?? kind;
  const name = term.value === null ? term.name : `${term.name} = ${term.value}`;
  return make("tr", { class: own }, make("th", { scope: "row", text: name }),
    make("td", {}, make("div", { class: "sides", "aria-hidden": "true" }, left, right)),
    make("td", { class: "n", text: signed(weight) }));
}

export function showCells(row) {
  const weights = new Map(row.why.words);
  const longest = Math.max(0, ...row.cells.map((cell) => cell.text.length));
  document.body.dataset.long = longest > LONG ? "1" : "";
  const parts = row.cells.flatMap((cell, i) => [make("dt", { text: cell.label ? `${cell.name} (label)` : cell.name }), showCell(row.row, cell, i, weights)]);
  at("cells").replaceChildren(...parts);
  at("weighty").hidden = !at("cells").querySelector(".word");
}

function showCell(row, cell, place, weights) {
  if (cell.missing) return make("dd", { class: "none", text: "(none)" });
  const value = make("dd", { dir: "auto" });
  if (cell.image) {
    const image = make("img", { src: `/api/image?row=${row}&column=${place}`, alt: cell.text, loading: "lazy" });
    value.append(make("span", { text: cell.text }), image);
  } else if (cell.elsewhere) {
    value.append(cell.text, make("span", { class: "hint" },
      "To see the image, start misnomer review with ", make("code", { text: "--files" }), " and its folder."));
  } else if (cell.link) {
    value.append(make("a", { href: cell.link, target: "_blank", rel: "noreferrer noopener", text: cell.text }));
  } else {
    value.dataset.text = place;
    value.append(...withWords(cell.text, weights));
  }
  if (cell.text.length > 2000) value.tabIndex = 0; // scrolls: the keyboard must reach it
  if (cell.cut) value.append(make("p", { class: "soft", text: `… ${count(cell.cut)} more characters` }));
  return value;
}

// Words that weigh are underlined, the deeper the more they weigh: blue for the suggestion, orange against it.
function withWords(text, weights) {
  if (!weights.size) return [text];
  const parts = [];
  let from = 0, colored = 0;
  for (const found of text.matchAll(/[\p{L}\p{N}_]{2,}/gu)) {
    const weight = weights.get(found[0].toLowerCase());
    if (weight === undefined || colored >= 1000) continue;
    const word = make("span", { class: `word ${weight < 0 ? "away" : "toward"}`, title: `weight ${signed(weight)}`, text: found[0] });
    word.style.setProperty("--depth", `${Math.round(Math.min(45, 10 + 14 * Math.abs(weight)))}%`);
    parts.push(text.slice(from, found.index), word);
    from = found.index + found[0].length; colored += 1;
  }
  return [...parts, text.slice(from)];
}

export function highlight(row, words) {
  // Rebuilds each text from its own cell, with <mark> around what was found.
  const wanted = words.toLowerCase(), weights = new Map(row.why.words);
  let found = 0;
  for (const place of at("cells").querySelectorAll("dd[data-text]")) {
    const { text } = row.cells[place.dataset.text], low = text.toLowerCase(), parts = [];
    let from = 0;
    for (let to; wanted && found < 1000 && (to = low.indexOf(wanted, from)) >= 0; from = to + wanted.length, found++) {
      parts.push(text.slice(from, to), make("mark", { text: text.slice(to, to + wanted.length) }));
    }
    place.replaceChildren(...(wanted ? [...parts, text.slice(from)] : withWords(text, weights)));
  }
  return found;
}

export function showSaid(why, about) {
  at("annotators").hidden = !why.said.length;
  at("said-head").textContent = about.grouped ? "Group" : "Who";
  at("said-note").textContent = `Right: how many of ${about.grouped ? "the group's labels" : "their answers"} are, with a 90% interval. ` +
    "Weight: as above.";
  at("said").replaceChildren(...why.said.map((one) => {
    const side = one.weight === null ? "" : one.weight < 0 ? "away" : "toward";
    return make("tr", { class: one.weight === null ? "yours" : "" },
      make("th", { scope: "row", text: one.who }), make("td", { text: one.label }),
      make("td", { class: "worth", text: one.right }, ...(one.span ? [make("small", { text: one.span })] : [])),
      make("td", { class: `n ${side}`, text: one.weight === null ? "" : signed(one.weight) }));
  }));
}
