// What every part of the page needs. Whatever comes from the data is set as text, never as markup.

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
export const counted = (value, noun) => `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
export const capitalized = (words) => words.charAt(0).toUpperCase() + words.slice(1);
export const signed = (weight) => (weight < 0 ? "−" : "+") + Math.abs(weight).toFixed(2);
export const fresh = () => [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, "0")).join("");

// Who decides: remembered by this browser, sent with everything that is decided.
const NAME = "misnomer reviewer";
export const me = () => at("who")?.value.trim() ?? "";
export function rememberMe() {
  at("who").value = localStorage.getItem(NAME) ?? "";
  at("who").addEventListener("change", () => localStorage.setItem(NAME, me()));
}

export async function ask(path, said) {
  const options = said === undefined ? {} : {
    method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ who: me(), ...said }) };
  let answer;
  try { answer = await fetch(path, options); }
  catch { throw Object.assign(new Error("The server does not answer: is misnomer review still running?"), { status: 0 }); }
  const kind = answer.headers.get("content-type") ?? "";
  const content = kind.startsWith("application/json") ? await answer.json() : { trouble: await answer.text() };
  if (!answer.ok) throw Object.assign(new Error(content.trouble), { status: answer.status });
  return content;
}

export function complain(sentence) {
  at("trouble").hidden = !sentence;
  at("trouble").textContent = sentence ?? "";
}

export const guarded = (work) => async (...said) => {
  try { await work(...said); }
  catch (error) { complain(error.message); }
};

export const say = (sentence) => { at("live").textContent = sentence; };
