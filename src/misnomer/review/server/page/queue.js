// The queue: which rows, in which order, and all of them at once.
import { ask, at, complain, count, counted, fresh, guarded, make, me, say } from "./dom.js";

const PAGE = 50, EMPTY = "(none)";
let offset = 0, total = 0, about = null, hooks = {}, pending = null;

// What the form says, as a query; empty fields say nothing, and "(none)" asks for empty cells.
export function wanted(extra = {}) {
  const form = new FormData(at("filters")), query = new URLSearchParams();
  for (const [name, value] of [...form, ["who", me()], ...Object.entries(extra)]) if (value !== "") query.set(name, value);
  if (query.get("value") === EMPTY) query.set("value", "");
  return query;
}

// hooks: open(row), current() and changed(); see page.js.
export function prepareQueue(audit, given) {
  about = audit; hooks = given;
  const fill = (name, values) => at("filters").elements[name].append(...values.map((value, i) => make("option", { value: i, text: value })));
  fill("given", about.labels); fill("suggested", about.classes); fill("column", about.columns);
  at("filters").addEventListener("change", guarded(async (event) => {
    if (event.target.name === "column") await offerValues();
    await filtered();
  }));
  at("filters").addEventListener("submit", guarded(async (event) => { event.preventDefault(); await filtered(); }));
  // Whoever has asked goes on with the row: the next key is no other letter of the search.
  at("filters").addEventListener("keydown", (event) => {
    if (event.target.matches("input") && ["Enter", "Escape"].includes(event.key)) event.target.blur();
  });
  at("earlier").addEventListener("click", () => turn(-1));
  at("later").addEventListener("click", () => turn(1));
  at("bulk").addEventListener("click", askBulk);
  at("bulk-form").addEventListener("submit", guarded(doBulk));
  at("bulk-no").addEventListener("click", () => at("bulk-dialog").close());
}

// Whoever asks for other rows is shown the first of them: a key decides about what was asked for.
async function filtered() {
  offset = 0;
  await showQueue();
  const found = [...at("queue").querySelectorAll("button")].map((one) => Number(one.dataset.row));
  if (found.length && !found.includes(hooks.current())) await hooks.open(found[0]);
}

async function offerValues() {
  const column = at("filters").elements.column.value, field = at("filters").elements.value;
  field.value = ""; field.disabled = column === "";
  const { values } = column === "" ? { values: [] } : await ask(`/api/values?column=${column}`);
  at("values").replaceChildren(...values.map((value) => make("option", { value: value || EMPTY })));
}

function turn(step) { offset = Math.max(0, offset + step * PAGE); showQueue(); }

export const showQueue = guarded(async () => {
  const page = await ask(`/api/rows?${wanted({ offset, limit: PAGE })}`);
  if (!page.rows.length && offset) { offset = 0; return showQueue(); }
  total = page.total;
  at("found").textContent = total ? `${count(offset + 1)} to ${count(offset + page.rows.length)} of ${counted(total, "row")}` : "no row passes the filters";
  at("queue").replaceChildren(...page.rows.map(queueLine));
  at("earlier").disabled = offset === 0;
  at("later").disabled = offset + page.rows.length >= total;
  at("bulk").hidden = at("filters").elements.state.value !== "open" || !total || !narrowed();
  at("bulk").textContent = total === 1 ? "Accept the suggestion…" : `Accept all ${count(total)} suggestions…`;
});

// Everything at once is offered only where somebody has said which rows are meant.
function narrowed() {
  const form = new FormData(at("filters"));
  return ["given", "suggested", "low", "value", "words", "flagged"].some((name) => form.get(name));
}

function queueLine(one) {
  const state = !one.decision ? one.chance : { accept: "✓ changed", choose: "✓ changed", keep: "✓ kept", unsure: "? unsure" }[one.decision.action];
  const button = make("button", { type: "button", "data-row": one.row },
    make("span", { class: "n", text: one.name }),
    make("span", { text: one.given === one.suggested ? one.given : `${one.given} → ${one.suggested}` }),
    make("span", { class: "n", text: state }));
  if (one.row === hooks.current()) button.setAttribute("aria-current", "true");
  button.addEventListener("click", () => hooks.open(one.row));
  return make("li", {}, button);
}

function askBulk() {
  const form = at("filters").elements, low = Number(form.low.value || 0);
  const percent = `${Number((100 * low).toFixed(1))}%`;
  const said = [
    form.given.value !== "" && `given ${about.labels[form.given.value]}`,
    form.suggested.value !== "" && `suggested ${about.classes[form.suggested.value]}`,
    low > 0 && `wrong with probability ${percent} or more`,
    form.value.value !== "" && `${about.columns[form.column.value]} is ${form.value.value}`,
    form.words.value && `holding “${form.words.value}”`,
    form.flagged.checked && "suspects",
  ].filter(Boolean);
  pending = { key: fresh(), expected: total, ...Object.fromEntries(wanted()) };
  at("bulk-what").textContent = `${counted(total, "open row")}: ${said.join(", ")}.`;
  at("bulk-dialog").showModal();
  at("bulk-no").focus();
}

async function doBulk() {
  const said = pending;
  const { decided } = await ask("/api/bulk", said);
  complain();
  const undo = make("button", { type: "button", class: "quiet", text: "Undo all of them" });
  undo.addEventListener("click", guarded(async () => {
    const { undone } = await ask("/api/undo", { key: fresh(), bulk: said.key });
    at("bulk-done").hidden = true;
    say(`${counted(undone, "decision")} taken back.`);
    hooks.changed();
  }));
  at("bulk-done").replaceChildren(make("span", { text: `${counted(decided, "label")} decided at once. ` }), undo);
  at("bulk-done").hidden = false;
  say(`${counted(decided, "label")} decided at once. Saved.`);
  document.body.dataset.bulk = decided;
  hooks.changed();
}
