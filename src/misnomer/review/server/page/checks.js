// One row at a time, the classes as keys. Nothing that is shown is ever read as HTML.

const KEYS = "123456789abcdefghijklmnopqstvwxyz"; // r and u have a meaning of their own
const at = (id) => document.getElementById(id);
let shown = null;
let busy = false;

async function call(path, said) {
  const options = said === undefined ? {} : {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(said),
  };
  const answer = await fetch(path, options);
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.trouble || "the server does not answer");
  return body;
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
    at("live").textContent = `All ${row.total} rows are answered`;
    return result();
  }
  at("place").textContent = `row ${row.row}`;
  at("cells").replaceChildren(...row.cells.flatMap(([name, cell]) => {
    const term = document.createElement("dt");
    const value = document.createElement("dd");
    term.textContent = name;
    value.textContent = cell;
    return [term, value];
  }));
  at("classes").replaceChildren(...row.classes.map((name, place) => {
    const button = document.createElement("button");
    const key = document.createElement("kbd");
    button.type = "button";
    button.textContent = `${name} `;
    if (place < KEYS.length) {
      key.textContent = KEYS[place];
      button.append(key);
      button.setAttribute("aria-keyshortcuts", KEYS[place]);
    }
    button.addEventListener("click", () => answer({ class: place }));
    return button;
  }));
  at("live").textContent = `Row ${row.row}, ${row.done + 1} of ${row.total}`;
}

async function does(work) {
  if (busy) return;
  busy = true;
  try {
    await work();
    at("trouble").hidden = true;
  } catch (error) {
    at("trouble").textContent = error.message;
    at("trouble").hidden = false;
  } finally {
    busy = false;
  }
}

const answer = (said) => does(async () => show(await call("/api/answer", { row: shown.row, ...said })));
const undo = () => does(async () => show(await call("/api/undo", {})));
const result = async () => {
  at("words").textContent = (await call("/api/result")).words;
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
does(async () => show(await call("/api/next")));
