// Parts of the page. Whatever comes from the data is set as text, never as markup.

export const at = (id) => document.getElementById(id);

export function make(tag, said = {}, ...inside) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(said)) {
    if (name === "text") node.textContent = value;
    else if (name === "class") node.className = value;
    else node.setAttribute(name, value);
  }
  node.append(...inside);
  return node;
}

export const count = (value) => Math.round(value).toLocaleString("en");
export const few = (value) => (value > 0 && value < 9.95 ? value.toFixed(1) : count(value));
const signed = (weight) => (weight < 0 ? "−" : "+") + Math.abs(weight).toFixed(2);

export function showEvidence(why) {
  at("sides").replaceChildren(
    make("span", { class: "away", text: `◀ for ${why.against}` }), " · ",
    make("span", { class: "toward", text: `for ${why.suggested} ▶` }));
  const widest = Math.max(1, ...why.terms.map((term) => Math.abs(term.weight ?? 0)));
  const rows = why.terms.map((term) => evidenceRow(term, widest));
  const sum = { name: "in all (log-odds)", value: null, weight: why.log_odds };
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

export function showCells(cells) {
  const parts = cells.flatMap((cell) => {
    const value = make("dd", { text: cell.missing ? "(none)" : cell.text, dir: "auto" });
    if (cell.missing) value.className = "none";
    else value.dataset.text = "1";
    if (cell.text.length > 2000) value.tabIndex = 0; // scrolls: the keyboard must reach it
    if (cell.cut) value.append(make("p", { class: "soft", text: `… ${count(cell.cut)} more characters` }));
    return [make("dt", { text: cell.label ? `${cell.name} (label)` : cell.name }), value];
  });
  at("cells").replaceChildren(...parts);
}

export function highlight(cells, words) {
  // Rebuilds each cell from its own text, with <mark> around what was found.
  const places = [...at("cells").querySelectorAll("dd[data-text]")];
  const texts = cells.filter((cell) => !cell.missing);
  const wanted = words.toLowerCase();
  let found = 0;
  places.forEach((place, i) => {
    const { text } = texts[i], low = text.toLowerCase(), parts = [];
    let from = 0;
    for (let to; wanted && found < 1000 && (to = low.indexOf(wanted, from)) >= 0; from = to + wanted.length, found++) {
      parts.push(text.slice(from, to), make("mark", { text: text.slice(to, to + wanted.length) }));
    }
    place.replaceChildren(...parts, text.slice(from));
  });
  return found;
}

export function showSaid(why, about) {
  at("annotators").hidden = !why.said.length;
  at("said-head").textContent = about.grouped ? "Group" : "Who";
  at("said-note").textContent = `Right: how many of ${about.grouped ? "the group's labels" : "their answers"} are, with a 90% interval. ` +
    `Weight: in nats, for ${why.suggested} (+) or ${why.against} (−).`;
  at("said").replaceChildren(...why.said.map((one) => {
    const side = one.weight === null ? "" : one.weight < 0 ? "away" : "toward";
    return make("tr", { class: one.weight === null ? "yours" : "" },
      make("th", { scope: "row", text: one.who }), make("td", { text: one.label }),
      make("td", { class: "worth", text: one.right }, ...(one.span ? [make("small", { text: one.span })] : [])),
      make("td", { class: `n ${side}`, text: one.weight === null ? "" : signed(one.weight) }));
  }));
}

export function showProgress(now, about) {
  const best = now.sample ?? now.model;
  at("count").textContent = `${count(now.decided)} decided · ${count(now.errors)} errors found` +
    (now.unsure ? ` · ${count(now.unsure)} cannot tell` : "") + ` · ${count(about.suspects)} suspects`;
  at("bar").value = Math.min(1, now.decided / Math.max(1, about.suspects));
  at("left").replaceChildren(`about ${few(best.value)}`, make("small", {
    text: `${Math.round(100 * best.confidence)}% interval ${few(best.low)} to ${few(best.high)}` +
      (now.sample ? "" : ", if the model is right about the rows it does not suspect") }));
  at("advice").textContent = now.advice;
  at("advice").className = now.stop ? "stop" : "";
  const lines = [["by the model", `${few(now.model.value)} (${few(now.model.low)} to ${few(now.model.high)})`],
    ["by the checks", now.sample ? `${few(now.sample.value)} (${few(now.sample.low)} to ${few(now.sample.high)})` : "not yet"],
    ["checked at random", `${count(now.checks)}, ${count(now.check_errors)} wrong`]];
  at("numbers").replaceChildren(...lines.flatMap(([name, value]) => [make("dt", { text: name }), make("dd", { text: value })]));
  at("fit").hidden = !now.busy;
  plot(now.curve);
}

function plot(curve) {
  const svg = (tag, said, text = "") => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(said)) node.setAttribute(name, value);
    node.textContent = text;
    return node;
  };
  const [most, top] = curve[curve.length - 1];
  const x = (n) => 34 + (276 * n) / Math.max(most, 1), y = (n) => 122 - (108 * n) / Math.max(top, 1);
  const line = curve.map(([n, errors]) => `${x(n).toFixed(1)},${y(errors).toFixed(1)}`).join(" ");
  at("plot").setAttribute("aria-label", `${top} errors found in ${most} decisions`);
  at("plot").replaceChildren(
    svg("polyline", { class: "axis", points: "34,10 34,122 312,122" }),
    svg("polyline", { class: "curve", points: line }),
    svg("text", { x: 30, y: 18, "text-anchor": "end" }, top ? count(top) : ""),
    svg("text", { x: 30, y: 125, "text-anchor": "end" }, "0"),
    svg("text", { x: 312, y: 138, "text-anchor": "end" }, `${count(most)} decisions`),
    svg("text", { x: 40, y: 18 }, "errors found"));
}

export function showQueue(page, offset, current, open) {
  at("found").textContent = page.total
    ? `${count(offset + 1)} to ${count(offset + page.rows.length)} of ${count(page.total)} rows` : "no row passes the filters";
  at("queue").replaceChildren(...page.rows.map((one) => {
    const state = !one.decision ? one.chance : { accept: "✓ changed", choose: "✓ changed", keep: "✓ kept", unsure: "? unsure" }[one.decision.action];
    const button = make("button", { type: "button", "data-row": one.row },
      make("span", { class: "n", text: one.name }),
      make("span", { text: one.given === one.suggested ? one.given : `${one.given} → ${one.suggested}` }),
      make("span", { class: "n", text: state }));
    if (one.row === current) button.setAttribute("aria-current", "true");
    button.addEventListener("click", () => open(one.row));
    return make("li", {}, button);
  }));
  at("earlier").disabled = offset === 0;
  at("later").disabled = offset + page.rows.length >= page.total;
}
