// What was decided, the latest first: to be looked at again, revised, taken back.
import { ask, at, count, counted, fresh, guarded, make } from "./dom.js";

const PAGE = 50;
let offset = 0, hooks = {};

export function prepareMade(given) {
  hooks = given;
  at("newer").addEventListener("click", () => { offset = Math.max(0, offset - PAGE); showMade(); });
  at("older").addEventListener("click", () => { offset += PAGE; showMade(); });
}

export const showMade = guarded(async () => {
  const page = await ask(`/api/decisions?offset=${offset}&limit=${PAGE}`);
  if (!page.rows.length && offset) { offset = 0; return showMade(); }
  at("made-count").textContent = page.total ? counted(page.total, "decision") : "nothing is decided yet";
  at("made").replaceChildren(...page.rows.map(line));
  at("newer").disabled = offset === 0;
  at("older").disabled = offset + page.rows.length >= page.total;
  at("newer").parentElement.hidden = page.total <= PAGE;
  at("noted").replaceChildren(...page.notes.map((one) => make("li", {}, goTo(one, `${one.name}: ${one.note}`))));
  at("noted-title").hidden = !page.notes.length;
  at("agreement").replaceChildren(...page.agreements.map((one) => make("li", { text: agreement(one) })));
  at("agreement-title").hidden = !page.agreements.length;
});

// Both may agree by luck where one label is frequent; of a few rows that says nothing.
export function agreement({ pair, same, rows, beyond_chance: beyond }) {
  const words = `${pair.join(" and ")} agree on ${count(same)} of ${counted(rows, "row")}`;
  if (beyond === null || rows < 10) return words;
  if (beyond <= 0) return `${words}, no more than by chance`;
  return `${words}: ${Math.round(100 * beyond)}% of the way from chance to full agreement`;
}

function goTo(one, text) {
  const button = make("button", { type: "button", "data-row": one.row, text });
  button.addEventListener("click", () => hooks.open(one.row));
  return button;
}

function line(one) {
  const what = one.action === "unsure" ? "cannot tell" : one.error ? `${one.given} → ${one.label}` : `${one.given} kept`;
  const open = make("button", { type: "button", "data-row": one.row },
    make("span", { class: "n", text: one.name }), make("span", { text: what }),
    make("span", { class: "n", text: one.bulk ? "in bulk" : one.who === "person" ? "" : one.who }));
  if (one.note) open.append(make("span", { class: "note", text: `✎ ${one.note}` }));
  if (one.disputed) open.append(make("span", { class: "note away", text: "reviewers disagree" }));
  open.addEventListener("click", () => hooks.open(one.row));
  const undo = make("button", { type: "button", class: "quiet", "aria-label": `Take back the decision about ${one.name}`, title: "Take back", text: "↶" });
  undo.addEventListener("click", guarded(async () => {
    await ask("/api/undo", { key: fresh(), decision: one.id });
    hooks.changed();
  }));
  return make("li", {}, open, undo);
}
