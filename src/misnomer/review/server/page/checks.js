// One row at a time, the classes as keys. Nothing that is shown is ever read as HTML.
import { ask, at, complain, make, say } from "./dom.js";

const KEYS = "123456789abcdefghijklmnopqstvwxyz"; // r and u have a meaning of their own
let shown = null;
let busy = false;

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
  at("place").textContent = `row ${row.row}`;
  at("cells").replaceChildren(...row.cells.flatMap(([name, cell]) => [make("dt", { text: name }), make("dd", { text: cell })]));
  at("classes").replaceChildren(...row.classes.map((name, place) => {
    const key = KEYS[place];
    const button = make("button", { type: "button", text: `${name} ` });
    if (key) {
      button.append(make("kbd", { text: key }));
      button.setAttribute("aria-keyshortcuts", key);
    }
    button.addEventListener("click", () => answer({ class: place }));
    return button;
  }));
  say(`Row ${row.row}, ${row.done + 1} of ${row.total}`);
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
  const place = KEYS.indexOf(key);
  if (key === "?") answer({ unsure: true });
  else if (key === "u") undo();
  else if (key === "r") does(result);
  else if (key.length === 1 && place >= 0 && shown && shown.row !== null && place < shown.classes.length) answer({ class: place });
});

history.replaceState(null, "", "/");
does(async () => show(await ask("/api/next")));
