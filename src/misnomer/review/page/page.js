// The page: which row is shown, what is decided about it, and the keys.
import { at, count, highlight, make, showCells, showEvidence, showProgress, showQueue, showSaid } from "./parts.js";

// The token has become a cookie: it need not stay in the address bar or the history.
history.replaceState(null, "", "/");

const PAGE = 50;
let about, now = null, shown = null, saving = false, unsaved = null;
let seenRows = [], place = -1, offset = 0, version = -1;

async function ask(path, said) {
  const options = said === undefined ? {} : {
    method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(said) };
  let answer;
  try { answer = await fetch(path, options); }
  catch { throw Object.assign(new Error("The server does not answer: is misnomer review still running?"), { status: 0 }); }
  const kind = answer.headers.get("content-type") ?? "";
  const content = kind.startsWith("application/json") ? await answer.json() : { trouble: await answer.text() };
  if (!answer.ok) throw Object.assign(new Error(content.trouble), { status: answer.status });
  return content;
}

function complain(sentence) {
  at("trouble").hidden = !sentence;
  at("trouble").textContent = sentence ?? "";
}

const guarded = (work) => async (...said) => {
  try { await work(...said); }
  catch (error) { complain(error.message); }
};

const say = (sentence) => { at("live").textContent = sentence; };

function wanted(extra = {}) {
  const form = new FormData(at("filters")), query = new URLSearchParams();
  for (const [name, value] of [...form, ...Object.entries(extra)]) if (value !== "") query.set(name, value);
  return query;
}

function show(row, { remember = true } = {}) {
  shown = row;
  for (const id of ["ask", "reasons", "content"]) at(id).hidden = !row;
  at("done").hidden = Boolean(row);
  if (!row) return;
  if (remember && seenRows[place] !== row.row) {
    seenRows = [...seenRows.slice(0, place + 1).slice(-400), row.row];
    place = seenRows.length - 1;
  }
  const suggested = about.classes[row.suggested], same = row.suggested === row.home;
  at("place").textContent = `Row ${row.name}`;
  at("check").hidden = !row.check;
  at("given").textContent = row.given ?? "(no label)";
  at("given").className = same ? "kept" : "";
  at("suggested").textContent = same ? "the same" : suggested;
  at("wrong").textContent = row.labeled ? `wrong with probability ${row.chance}` : "This row has no label to judge.";
  at("accepts").textContent = suggested;
  at("keeps").textContent = row.given ?? "";
  for (const button of document.querySelectorAll(".actions button:not(.quiet)")) button.disabled = !row.labeled;
  standing(row.decision);
  showEvidence(row.why);
  showSaid(row.why, about);
  showCells(row.cells);
  at("search").value = ""; at("hits").textContent = "";
  mark(row.row);
  say(`Row ${row.name}. Given ${row.given}. ` + (same ? "The model agrees." : `Suggested ${suggested}, wrong with probability ${row.chance}.`));
}

function standing(decision) {
  at("standing").hidden = !decision;
  if (!decision) return;
  const what = { accept: "changed to", choose: "changed to", keep: "kept as", unsure: "cannot tell" }[decision.action];
  at("standing").replaceChildren("Decided: ", make("b", { text: `${what} ${decision.label ?? ""}` }), ` by ${decision.who}, ${new Date(decision.at).toLocaleString()}`);
}

function mark(row) {
  for (const button of at("queue").querySelectorAll("button")) {
    if (Number(button.dataset.row) === row) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
  }
}

const open = guarded(async (row, remember = true) => { show(await ask(`/api/row?row=${row}`), { remember }); complain(); });

async function onward(skipping) {
  if (skipping && place < seenRows.length - 1) {
    place += 1;
    return show(await ask(`/api/row?row=${seenRows[place]}`), { remember: false });
  }
  const skip = [...new Set(seenRows)].slice(-400).join(",");
  const { row } = await ask(`/api/next?${wanted({ state: "open", skip })}`);
  place = Math.max(place, seenRows.length - 1);
  // Whoever has skipped all that is left begins again with what was skipped.
  show(row ?? (await ask(`/api/next?${wanted({ state: "open" })}`)).row);
}

const next = guarded(async () => { await onward(true); complain(); });
const previous = () => { if (place > 0) { place -= 1; open(seenRows[place], false); } };

const decide = guarded(async (action, label = null) => {
  if (!shown?.labeled || saving) return;
  const row = shown;
  if (action === "accept") label = row.suggested;
  const same = unsaved && unsaved.row === row.row && unsaved.action === action && unsaved.label === label;
  // A retry carries the key of the first try: if that one did arrive, nothing is doubled.
  const key = same ? unsaved.key : [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, "0")).join("");
  unsaved = { key, row: row.row, action, label, seen: row.decision?.id ?? 0, check: row.check, shown: row.probability };
  saving = true;
  document.body.setAttribute("aria-busy", "true");
  try {
    const { decision } = await ask("/api/decide", unsaved);
    unsaved = null;
    now = { ...now, last: decision };
    const what = action === "unsure" ? "Cannot tell" : action === "keep" ? `Kept ${row.given}` : `Changed to ${decision.label}`;
    complain();
    await onward(false);
    say(`${what}. Saved. ${at("live").textContent}`);
    document.body.dataset.saved = Number(document.body.dataset.saved ?? 0) + 1;
    refresh(true);
  } catch (error) {
    if (error.status === 409) { unsaved = null; show(await ask(`/api/row?row=${row.row}`), { remember: false }); throw error; }
    throw Object.assign(new Error(`Not saved: ${error.message} Press the key again to retry.`), { status: error.status });
  } finally {
    saving = false;
    document.body.removeAttribute("aria-busy");
  }
});

const undo = guarded(async () => {
  if (saving || !now?.last) return complain("There is nothing to undo.");
  saving = true;
  try {
    const { last } = now;
    const { row } = await ask("/api/undo", { key: `undo-${last.id}-${crypto.getRandomValues(new Uint32Array(2)).join("-")}`, decision: last.id });
    complain();
    show(row);
    say(`Undone. ${at("live").textContent}`);
    await refresh(true);
  } finally { saving = false; }
});

async function refresh(list) {
  try {
    now = await ask("/api/progress");
    showProgress(now, about);
    if (now.trouble) complain(now.trouble);
    if (list || now.version !== version) await queue();
    version = now.version;
  } catch (error) { complain(error.message); }
}

const queue = guarded(async () => {
  const page = await ask(`/api/rows?${wanted({ offset, limit: PAGE })}`);
  if (!page.rows.length && offset) { offset = 0; return queue(); }
  showQueue(page, offset, shown?.row, open);
});

function turn(step) { offset = Math.max(0, offset + step * PAGE); queue(); }

// Choosing among many classes: type to filter, arrows to move, Enter to take.
let matches = [], chosen = 0;
function filterClasses() {
  const words = at("type").value.trim().toLowerCase();
  const hits = about.classes.map((name, i) => [name, i]).filter(([name]) => name.toLowerCase().includes(words));
  hits.sort(([a], [b]) => b.toLowerCase().startsWith(words) - a.toLowerCase().startsWith(words));
  matches = hits.slice(0, 50); chosen = 0;
  at("more").textContent = hits.length > 50 ? `${count(hits.length - 50)} more: type to narrow` : hits.length ? "" : "no class is called so";
  showMatches();
}
function showMatches() {
  at("options").replaceChildren(...matches.map(([name, i], nth) => {
    const option = make("li", { role: "option", id: `option-${nth}`, "aria-selected": String(nth === chosen), text: name });
    option.addEventListener("click", () => choose(i));
    return option;
  }));
  at("type").setAttribute("aria-activedescendant", matches.length ? `option-${chosen}` : "");
  at("options").children[chosen]?.scrollIntoView({ block: "nearest" });
}
function choose(i) { at("chooser").close(); decide("choose", i); }
function openChooser() {
  if (!shown?.labeled) return;
  at("type").value = ""; filterClasses(); at("chooser").showModal(); at("type").focus();
}
at("type").addEventListener("input", filterClasses);
at("type").addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step && matches.length) { event.preventDefault(); chosen = (chosen + step + matches.length) % matches.length; showMatches(); }
  if (event.key === "Enter" && matches.length) { event.preventDefault(); choose(matches[chosen][1]); }
});

function openJumper() { at("target").value = ""; at("jumper").showModal(); at("target").focus(); }
at("jump").addEventListener("submit", guarded(async () => {
  show(await ask(`/api/find?text=${encodeURIComponent(at("target").value)}`)); complain();
}));

at("search").addEventListener("input", () => {
  const found = highlight(shown.cells, at("search").value);
  at("hits").textContent = at("search").value ? `${found} found` : "";
});
at("search").addEventListener("keydown", (event) => {
  if (event.key === "Escape") { at("search").blur(); event.preventDefault(); }
  if (event.key !== "Enter") return;
  const marks = [...at("cells").querySelectorAll("mark")], here = marks.findIndex((one) => one.classList.contains("now"));
  marks[here]?.classList.remove("now");
  const one = marks[(here + 1) % marks.length];
  one?.classList.add("now"); one?.scrollIntoView({ block: "center" });
});

const deeds = {
  accept: () => decide("accept"), keep: () => decide("keep"), unsure: () => decide("unsure"), choose: openChooser,
  undo, next, previous, jump: openJumper,
};
const keys = { a: "accept", k: "keep", c: "choose", t: "unsure", u: "undo", n: "next", p: "previous", g: "jump" };
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || document.querySelector("dialog[open]")) return;
  if (event.target.matches("input:not([type=checkbox]), select, textarea")) return;
  const key = event.key.toLowerCase();
  if (key === "/") { event.preventDefault(); at("search").focus(); }
  else if (key === "q") at("queue").querySelector("button")?.focus();
  else if (keys[key]) { event.preventDefault(); deeds[keys[key]](); }
});
for (const button of document.querySelectorAll("[data-do]")) button.addEventListener("click", () => deeds[button.dataset.do]());
at("filters").addEventListener("change", () => { offset = 0; queue(); });
at("filters").addEventListener("submit", (event) => event.preventDefault());
at("earlier").addEventListener("click", () => turn(-1));
at("later").addEventListener("click", () => turn(1));
setInterval(() => { if (document.visibilityState === "visible" && about && !saving) refresh(false); }, 3000);

await guarded(async () => {
  about = await ask("/api/about");
  document.title = `${about.name} · misnomer review`;
  at("audit").textContent = about.name;
  at("notice").hidden = !about.notice;
  at("notice").textContent = about.notice ?? "";
  at("learning").hidden = !about.learning;
  at("learning").textContent = about.learning ?? "";
  at("vote").hidden = !about.voted;
  at("jump-help").textContent = about.id ? `a value of ${about.id}, or a position from 0 to ${count(about.rows - 1)}` : `a position from 0 to ${count(about.rows - 1)}`;
  for (const [name, values] of [["given", about.labels], ["suggested", about.classes]]) {
    at("filters").elements[name].append(...values.map((value, i) => make("option", { value: i, text: value })));
  }
  await onward(false);
  document.body.dataset.ready = "1";
  await refresh(true);
})();
