// The page: which row is shown, what is decided about it, and the keys.
import { ask, at, capitalized, complain, fresh, guarded, make, me, rememberMe, say } from "./dom.js";
import { openChooser } from "./chooser.js";
import { prepareMade, showMade } from "./made.js";
import { showProgress } from "./progress.js";
import { prepareQueue, showQueue, wanted } from "./queue.js";
import { highlight, showCells, showEvidence, showSaid } from "./row.js";

// The token has become a cookie: it need not stay in the address bar or the history.
history.replaceState(null, "", "/");

let about, now = null, shown = null, saving = false, unsaved = null;
let seenRows = [], place = -1, version = -1;

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
  at("place").textContent = capitalized(row.title);
  at("check").hidden = !row.check;
  at("given").textContent = row.given ?? "(no label)";
  at("given").className = same ? "kept" : "";
  at("suggested").textContent = same ? "the same" : suggested;
  at("wrong").textContent = row.labeled ? `wrong with probability ${row.chance}` : "This row has no label to judge.";
  at("accepts").textContent = suggested;
  at("keeps").textContent = row.given ?? "";
  for (const button of document.querySelectorAll(".actions button:not(.quiet)")) button.disabled = !row.labeled;
  // A second opinion is asked for: what others decided stays out of sight.
  standing(at("filters").elements.state.value === "second" && !row.opinions.some((one) => one.who === me()) ? null : row.decision);
  showEvidence(row.why);
  showSaid(row.why, about);
  showCells(row);
  showNote(row);
  at("search").value = ""; at("hits").textContent = "";
  mark(row.row);
  say(`${capitalized(row.title)}. Given ${row.given}. ` + (same ? "The model agrees." : `Suggested ${suggested}, wrong with probability ${row.chance}.`));
}

function standing(decision) {
  at("standing").hidden = !decision;
  if (!decision) return;
  const what = decision.action === "unsure" ? "cannot tell" : `${decision.error ? "changed to" : "kept as"} ${decision.label}`;
  const who = decision.bulk ? "in bulk" : `by ${decision.who === "person" ? "you" : decision.who}`;
  at("standing").replaceChildren("Decided: ", make("b", { text: what }), ` ${who}, ${new Date(decision.at).toLocaleString()}`);
}

function showNote(row) {
  at("note").value = row.note ?? "";
  at("note-box").hidden = !row.note;
}

function mark(row) {
  for (const button of document.querySelectorAll("#queue button, #made button[data-row]")) {
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
  const state = at("filters").elements.state.value === "second" ? "second" : "open";
  const skip = [...new Set(seenRows)].slice(-400).join(",");
  const { row } = await ask(`/api/next?${wanted({ state, skip })}`);
  place = Math.max(place, seenRows.length - 1);
  // Whoever has skipped all that is left begins again with what was skipped.
  show(row ?? (await ask(`/api/next?${wanted({ state })}`)).row);
}

const next = guarded(async () => { await onward(true); complain(); });
const previous = () => { if (place > 0) { place -= 1; open(seenRows[place], false); } };

const decide = guarded(async (action, label = null) => {
  if (!shown?.labeled || saving) return;
  const row = shown;
  if (action === "accept") label = row.suggested;
  const same = unsaved && unsaved.row === row.row && unsaved.action === action && unsaved.label === label;
  // A retry carries the key of the first try: if that one did arrive, nothing is doubled.
  unsaved = { key: same ? unsaved.key : fresh(), row: row.row, action, label, seen: row.decision?.id ?? 0, check: row.check, shown: row.probability };
  saving = true;
  document.body.setAttribute("aria-busy", "true");
  try {
    const { decision } = await ask("/api/decide", unsaved);
    unsaved = null;
    now = { ...now, last: decision };
    const what = action === "unsure" ? "Cannot tell" : decision.error ? `Changed to ${decision.label}` : `Kept ${row.given}`;
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
    const { last } = now, key = fresh();
    const done = await ask("/api/undo", last.bulk ? { key, bulk: last.bulk } : { key, decision: last.id });
    complain();
    show(done.row ?? (await ask(`/api/row?row=${last.row}`)));
    say(`Undone. ${at("live").textContent}`);
    refresh(true); // not waited for: a decision about the row that is back must not be lost meanwhile
  } finally { saving = false; }
});

const saveNote = guarded(async () => {
  if (!shown || at("note").value.trim() === (shown.note ?? "")) return;
  const row = shown, text = at("note").value.trim();
  await ask("/api/note", { row: row.row, text });
  row.note = text || null;
  say(text ? "Note saved." : "Note taken away.");
  document.body.dataset.noted = row.row;
  if (!at("made-panel").hidden) showMade();
});

async function refresh(list) {
  try {
    now = await ask(`/api/progress?${new URLSearchParams({ who: me() })}`);
    showProgress(now, about);
    if (now.trouble) complain(now.trouble);
    if (list || now.version !== version) await (at("made-panel").hidden ? showQueue() : showMade());
    version = now.version;
  } catch (error) { complain(error.message); }
}

function openJumper() { at("target").value = ""; at("jumper").showModal(); at("target").focus(); }
at("jump").addEventListener("submit", guarded(async () => {
  show(await ask(`/api/find?text=${encodeURIComponent(at("target").value)}`)); complain();
}));

at("search").addEventListener("input", () => {
  const found = highlight(shown, at("search").value);
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

function openNote() { at("note-box").hidden = false; at("note").focus(); }
at("note").addEventListener("change", saveNote);
at("note").addEventListener("keydown", (event) => {
  if (event.key === "Escape" || (event.key === "Enter" && !event.shiftKey)) { event.preventDefault(); at("note").blur(); }
});

function tab(made) {
  at("made-panel").hidden = !made; at("queue-panel").hidden = made;
  at("tab-made").setAttribute("aria-pressed", String(made));
  at("tab-queue").setAttribute("aria-pressed", String(!made));
  return made ? showMade() : showQueue();
}
at("tab-queue").addEventListener("click", () => tab(false));
at("tab-made").addEventListener("click", () => tab(true));

function widen() {
  const wide = document.body.dataset.wide !== "1";
  document.body.dataset.wide = wide ? "1" : "";
  say(wide ? "The row has the whole width." : "The queue is back.");
}

const deeds = {
  accept: () => decide("accept"), keep: () => decide("keep"), unsure: () => decide("unsure"),
  choose: () => { if (shown?.labeled) openChooser(about.classes, shown.chances, (i) => decide("choose", i)); },
  undo, next, previous, jump: openJumper, note: openNote, wide: widen,
};
const keys = { a: "accept", k: "keep", c: "choose", t: "unsure", u: "undo", n: "next", p: "previous", g: "jump", m: "note", w: "wide" };
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || document.querySelector("dialog[open]")) return;
  if (event.target.matches("input:not([type=checkbox]), select, textarea")) return;
  const key = event.key.toLowerCase();
  if (key === "/") { event.preventDefault(); at("search").focus(); }
  else if (key === "q") tab(false).then(() => at("queue").querySelector("button")?.focus());
  else if (key === "d") tab(true).then(() => at("made").querySelector("button")?.focus());
  else if (keys[key]) { event.preventDefault(); deeds[keys[key]](); }
});
for (const button of document.querySelectorAll("[data-do]")) button.addEventListener("click", () => deeds[button.dataset.do]());
setInterval(() => { if (document.visibilityState === "visible" && about && !saving) refresh(false); }, 3000);

await guarded(async () => {
  rememberMe();
  about = await ask("/api/about");
  document.title = `${about.name} · misnomer review`;
  at("audit").textContent = about.name;
  at("notice").hidden = !about.notice;
  at("notice").textContent = about.notice ?? "";
  at("learning").hidden = !about.learning;
  at("learning").textContent = about.learning ?? "";
  at("vote").hidden = !about.voted;
  at("jump-help").textContent = about.jump;
  const hooks = { open, current: () => shown?.row, changed: async () => { if (shown) await open(shown.row, false); await refresh(true); } };
  prepareQueue(about, hooks);
  prepareMade(hooks);
  at("who").addEventListener("change", () => refresh(true));
  await onward(false);
  document.body.dataset.ready = "1";
  await refresh(true);
})();
