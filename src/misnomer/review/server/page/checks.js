// One row at a time, the classes as keys. Nothing that is shown is ever read as HTML.
import { ask, at, complain, make, say } from "./dom.js";

const KEYS = "123456789abcdefghijklmnopqstvwxyz"; // r and u have a meaning of their own
const BUTTONS = 60; // of more classes the name is typed, with all of them to choose from
let shown = null;
let keys = [];
let busy = false;

// A class that is called like a key has that key: 1 must not mean the class 0.
function keysOf(classes) {
  const own = classes.map((name) => name.toLowerCase());
  const named = own.map((key, place) => /^[0-9a-qstv-z]$/.test(key) && own.indexOf(key) === place);
  const free = [...KEYS].filter((key) => !own.some((one, place) => named[place] && one === key));
  return own.map((key, place) => (named[place] ? key : free.shift() ?? null));
}

function button(name, place) {
  const made = make("button", { type: "button", text: `${name} ` });
  if (keys[place]) {
    made.append(make("kbd", { text: keys[place] }));
    made.setAttribute("aria-keyshortcuts", keys[place]);
  }
  made.addEventListener("click", () => answer({ class: place }));
  return made;
}

function show(row) {
  shown = row;
  at("label").textContent = `“${row.label}”`;
  at("count").textContent = `${row.done} of ${row.total} rows answered`;
  at("bar").max = row.total;
  at("bar").value = row.done;
  at("ask").hidden = row.row === null;
  at("end").hidden = row.row !== null;
  at("words").hidden = true;
  if (row.row === null) {
    say(`All ${row.total} rows are answered`);
    return result();
  }
  at("place").textContent = row.title;
  at("cells").replaceChildren(...row.cells.flatMap(([name, cell]) => [make("dt", { text: name }), make("dd", { text: cell })]));
  const few = row.classes.length <= BUTTONS;
  keys = few ? keysOf(row.classes) : [];
  at("classes").replaceChildren(...(few ? row.classes.map(button) : []));
  if (!few && at("names").childElementCount !== row.classes.length) {
    at("names").replaceChildren(...row.classes.map((name) => new Option(name, name)));
  }
  say(`${row.title}, ${row.done + 1} of ${row.total}`);
}

async function does(work) {
  if (busy) return;
  busy = true;
  try {
    await work();
    complain();
  } catch (error) {
    complain(error.message);
  } finally {
    busy = false;
  }
}

const answer = (said) => does(async () => show(await ask("/api/answer", { row: shown.row, ...said })));
const undo = () => does(async () => show(await ask("/api/undo", {})));
const result = async () => {
  at("words").textContent = (await ask("/api/result")).words;
  at("words").hidden = false;
};

at("unsure").addEventListener("click", () => answer({ unsure: true }));
at("undo").addEventListener("click", undo);
at("result").addEventListener("click", () => does(result));
at("fresh").addEventListener("submit", (event) => {
  event.preventDefault();
  const name = at("name").value.trim();
  if (name) answer({ new: name });
  at("name").value = "";
  at("row").focus();
});
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "INPUT") return;
  const key = event.key.toLowerCase();
  const place = keys.indexOf(key);
  if (key === "?") answer({ unsure: true });
  else if (key === "u") undo();
  else if (key === "r") does(result);
  else if (place >= 0 && shown && shown.row !== null) answer({ class: place });
});

history.replaceState(null, "", "/");
does(async () => show(await ask("/api/next")));
