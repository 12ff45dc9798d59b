// How far the review is, what remains, and the fit that is under way.
import { at, count, counted, few, make } from "./dom.js";

export function showProgress(now, about) {
  const best = now.sample ?? now.model;
  at("count").textContent = `${count(now.decided)} decided · ${counted(now.errors, "error")} found` +
    (now.unsure ? ` · ${count(now.unsure)} cannot tell` : "") + ` · ${counted(about.suspects, "suspect")}`;
  at("bar").value = Math.min(1, now.decided / Math.max(1, about.suspects));
  at("left").replaceChildren(`about ${few(best.value)}`, make("small", {
    text: `${Math.round(100 * best.confidence)}% interval ${few(best.low)} to ${few(best.high)}` +
      (now.sample ? "" : ", if the model is right about the rows it does not suspect") }));
  at("advice").textContent = now.advice;
  at("advice").className = now.stop ? "stop" : "";
  const span = (one) => `${few(one.value)} (${few(one.low)} to ${few(one.high)})`;
  const lines = [["by the model", span(now.model)],
    ["by the checks", now.sample ? span(now.sample) : "not yet"],
    ["checked at random", `${count(now.checks)}, ${count(now.check_errors)} wrong`]];
  at("numbers").replaceChildren(...lines.flatMap(([name, value]) => [make("dt", { text: name }), make("dd", { text: value })]));
  showFit(now);
  plot(now.curve);
}

function showFit(now) {
  at("fit").hidden = !now.busy;
  const [spent, expected] = now.fitting ?? [0, 0];
  const seconds = (value) => `${Math.max(1, Math.round(value))} s`;
  at("fit-words").textContent = "Learning from your decisions…" +
    (expected > 2 ? ` ${seconds(spent)} of about ${seconds(Math.max(expected, spent))}` : "");
  at("fit-bar").hidden = expected <= 2;
  at("fit-bar").value = Math.min(0.97, spent / Math.max(expected, 0.1));
}

function plot(curve) {
  const svg = (tag, said, text = "") => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(said)) node.setAttribute(name, value);
    node.textContent = text;
    return node;
  };
  const [most, top] = curve[curve.length - 1];
  at("plot").toggleAttribute("hidden", most < 5);
  const x = (n) => 34 + (276 * n) / Math.max(most, 1), y = (n) => 122 - (108 * n) / Math.max(top, 1);
  const line = curve.map(([n, errors]) => `${x(n).toFixed(1)},${y(errors).toFixed(1)}`).join(" ");
  at("plot").setAttribute("aria-label", `${counted(top, "error")} found in ${counted(most, "decision")}`);
  at("plot").replaceChildren(
    svg("polyline", { class: "axis", points: "34,10 34,122 312,122" }),
    svg("polyline", { class: "curve", points: line }),
    svg("text", { x: 30, y: 18, "text-anchor": "end" }, top ? count(top) : ""),
    svg("text", { x: 30, y: 125, "text-anchor": "end" }, "0"),
    svg("text", { x: 312, y: 138, "text-anchor": "end" }, counted(most, "decision")),
    svg("text", { x: 40, y: 18 }, "errors found"));
}
