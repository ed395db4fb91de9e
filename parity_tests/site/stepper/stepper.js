"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const panes = ["torch", "jax"].map((name) => document.getElementById(name));
const captions = document.querySelectorAll(".captions p"); // on a phone
const switches = [...document.querySelectorAll("#switches input")];
const [first, back, play, next, last, slider, count, live] =
  ["first", "back", "play", "next", "last", "slider", "count", "live"].map((id) => document.getElementById(id));
const LEAVES = ["x", "W1", "W2"];
const PAUSE = 1800; // milliseconds for each step while playing
let name = ""; // of the scenario
let step = 0;
let timer = 0;

// ---- Elements

function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

// Text with code in backticks.
function ticks(text) {
  return text.split("`").map((part, i) => (i % 2 ? el("code", {}, part) : part));
}

function digits(x) {
  return typeof x === "boolean" ? String(x) : String(x).replace("-", "−");
}

// A matrix as in print; a screen reader reads its rows.
function matrix(value) {
  if (!Array.isArray(value)) return el("span", {class: "m scalar"}, digits(value));
  const rows = value.map((row) => row.map(digits));
  const label = rows.map((row) => row.join(", ")).join("; ");
  const style = `--n: ${rows[0].length}`;
  return el("span", {class: "m", role: "img", "aria-label": label, style}, ...rows.flat().map((x) => el("span", {}, x)));
}

// ---- State

const scenario = () => data.scenarios[name];
const lines = (side) => scenario().programs[side].map((place) => data.lines[place]);
const at = (side, n) => data.sides[scenario().steps[n][1 + side]];

// All cells of one side after a step: the changes of the steps up to it.
function cells(side, n) {
  const state = {};
  for (let i = 0; i <= n; i++) {
    const part = at(side, i);
    Object.assign(state, part.set);
    for (const cell of part.gone ?? []) delete state[cell];
  }
  return state;
}

// The step up to `n` in which torch raised, if it did.
function failure(n) {
  return scenario().steps.slice(0, n + 1).map((_, i) => at(0, i)).find((part) => part.error);
}

// ---- Drawing

function draw() {
  const size = scenario().steps.length;
  panes.forEach((pane, side) => {
    const {say} = at(side, step);
    drawLadder(pane.querySelector(".ladder"), side);
    pane.querySelector(".say").replaceChildren(...ticks(say));
    const caption = el("b", {}, side ? "JAX: " : "torch: ");
    captions[side].replaceChildren(...(say ? [caption, ...ticks(say)] : []));
  });
  slider.max = size - 1;
  slider.value = step;
  slider.setAttribute("aria-valuetext", `step ${step} of ${size - 1}`);
  count.textContent = `step ${step} of ${size - 1}`;
  first.disabled = back.disabled = step === 0;
  next.disabled = last.disabled = step === size - 1;
  const words = [0, 1].map((side) => at(side, step).say).filter(Boolean).join(" ");
  const error = at(0, step).error;
  live.textContent = (error ? `${words} ${error.why} ${error.instead}` : words).replaceAll("`", "");
}

function drawLadder(place, side) {
  const state = cells(side, step);
  const part = at(side, step);
  const fresh = new Set([...Object.keys(part.set ?? {}), ...(part.gone ?? [])].map(column));
  const heads = ["Line", "Value ↓", side ? "Residuals, equations" : "Node, saved tensors", side ? "Cotangent ↑" : "Gradient ↑"];
  const head = el("div", {role: "row", class: "head"}, ...heads.map((text) => el("span", {role: "columnheader"}, text)));
  const rows = [];
  let around = "";
  for (const [key, text, , within] of lines(side)) {
    if (within !== around && within) rows.push(el("div", {role: "row", class: "plain"}, code(within)));
    around = within;
    rows.push(row(side, key, text, within, state, part, fresh));
    if (key === failure(step)?.row) rows.push(failed(side, failure(step).error));
  }
  place.replaceChildren(el("div", {role: "table", "aria-label": `${side ? "JAX" : "torch"}'s program`}, head, ...rows));
}

// The column of the screen in which a cell is shown.
function column(cell) {
  const [key, what] = cell.split(".");
  const shown = {value: "value", version: "value", node: "kept", kept: "kept", ran: "kept", arrived: "kept"};
  return `${key}.${shown[what] ?? "gradient"}`;
}

function code(text) {
  return el("span", {role: "cell", class: "code"}, text);
}

function row(side, key, text, within, state, part, fresh) {
  const isLeaf = LEAVES.includes(key);
  const shown = isLeaf ? text.replace(/\(\[\[.*\]\]/, "(…") : text;
  const hasCells = key === "hook" || lines(side).some(([other, , variable]) => other === key && variable);
  const classes = [
    within && "in", part.row === key && "now", !hasCells && "plain", key === "1" && "end", key === "stop" && "cut",
    isLeaf && `leaf ${key}`, hasCells && key !== "hook" && !(`${key}.value` in state) && "later",
  ];
  const element = el("div", {role: "row", class: classes.filter(Boolean).join(" "), "data-row": key}, code(shown));
  if (part.row === key) element.setAttribute("aria-current", "step");
  if (!hasCells) return element;
  for (const [what, content] of [
    ["value", valueOf(key, state)],
    ["kept", side ? keptInJax(key, state) : keptInTorch(key, state)],
    ["gradient", gradientOf(side, key, state)],
  ]) {
    const isNew = step > 0 && fresh.has(`${key}.${what}`);
    element.append(el("div", {role: "cell", class: `cell ${what}${isNew ? " new" : ""}`}, ...content));
  }
  return element;
}

function valueOf(key, state) {
  if (!(`${key}.value` in state)) return [];
  const version = state[`${key}.version`];
  return [matrix(state[`${key}.value`]), ...(version ? [el("span", {class: "version"}, `version ${version}`)] : [])];
}

function keptInTorch(key, state) {
  const node = state[`${key}.node`];
  if (!node) {
    const isData = LEAVES.includes(key) || key === "hook" || !(`${key}.value` in state);
    return isData ? [] : [el("span", {class: "nothing"}, key === "stop" ? "no node" : "not recorded")];
  }
  return [el("span", {class: `node ${state[`${key}.ran`] ?? ""}`}, node), ...chips(key, state), ...arrived(key, state, "arriving")];
}

function keptInJax(key, state) {
  const ran = state[`${key}.ran`];
  return [...chips(key, state), ...(ran ? [el("span", {class: "node ran"}, ran.join(", "))] : []), ...arrived(key, state, "cotangent")];
}

// The gradient that reaches a weight, before it is added to `.grad` or returned.
function arrived(key, state, tag) {
  const value = state[`${key}.arrived`];
  return value ? [el("span", {class: "arrived"}, el("span", {class: "tag"}, tag), matrix(value))] : [];
}

function chips(key, state) {
  return (state[`${key}.kept`] ?? []).map((entry) => {
    const words = entry.state === "kept" ? [matrix(entry.value)] : [entry.state];
    return el("span", {class: `chip ${entry.state}`}, el("b", {}, entry.name), ...words);
  });
}

function gradientOf(side, key, state) {
  if (!LEAVES.includes(key)) {
    return `${key}.gradient` in state ? [matrix(state[`${key}.gradient`])] : [];
  }
  const weights = LEAVES.slice(1).filter((leaf) => lines(side).some(([, text]) => takesPart(side, text, leaf)));
  if (!weights.includes(key)) return [];
  const grad = state[`${key}.grad`];
  if (grad === undefined) return [];
  const label = side ? `grads[${weights.indexOf(key)}]` : `${key}.grad`;
  return [el("span", {class: "grad"}, el("span", {class: "tag"}, label), grad === null ? "None" : matrix(grad))];
}

// Whether a line makes a weight one that is differentiated.
function takesPart(side, text, leaf) {
  return side ? text.startsWith("loss, vjp") && text.includes(leaf) : text.startsWith(`${leaf} =`) && text.includes("requires_grad");
}

// Below the line or node that raises: the exception, and what JAX does instead.
function failed(side, error) {
  const torch = [el("p", {}, el("b", {}, "RuntimeError")), el("p", {class: "message"}, error.message), el("p", {}, ...ticks(error.why))];
  const jax = [el("p", {}, el("b", {}, "JAX goes on. "), ...ticks(error.instead))];
  return el("div", {role: "row", class: "failed"}, el("div", {role: "cell", class: "error"}, ...(side ? jax : torch)));
}

function drawScripts() {
  panes.forEach((pane, side) => {
    let around = "";
    const text = [];
    for (const [, line, , within] of lines(side)) {
      if (within && within !== around) text.push(within);
      text.push(within ? `    ${line}` : line);
      around = within;
    }
    const imports = side ? "import jax\nimport jax.numpy as jnp\nfrom jax import lax\nimport jaxgrad\n" : "import torch\n";
    pane.querySelector("pre").textContent = `${imports}\n${text.join("\n")}\n`;
  });
}

// ---- Moving

function go(n) {
  step = Math.max(0, Math.min(n, scenario().steps.length - 1));
  draw();
  history.replaceState(null, "", `#${[name, `step=${step}`].filter(Boolean).join("&")}`);
  if (step === scenario().steps.length - 1) pause();
  follow();
}

// Keep the rows of the step in sight: on a phone, those of the pane that fills the screen.
function follow() {
  const boxes = panes.map((pane) => pane.getBoundingClientRect());
  const stacked = boxes[1].top >= boxes[0].bottom;
  const shown = stacked ? [panes[Number(boxes[1].top < innerHeight / 2)]] : panes;
  const target = at(0, step).error ? ".failed" : ".now";
  for (const pane of shown) pane.querySelector(target)?.scrollIntoView({block: "nearest"});
}

// Change the scenario, and stay at the same line or node where there is one.
function choose(other) {
  const key = name in data.scenarios ? scenario().steps[step][0] : 0;
  name = other;
  for (const input of switches) input.checked = name.split("&").includes(input.name);
  drawScripts();
  go(scenario().steps.findLastIndex(([place]) => place <= key));
}

function pause() {
  clearInterval(timer);
  timer = 0;
  play.textContent = "Play";
  play.setAttribute("aria-pressed", "false");
}

function toggle() {
  if (timer) return pause();
  if (step === scenario().steps.length - 1) go(0);
  play.textContent = "Pause";
  play.setAttribute("aria-pressed", "true");
  timer = setInterval(() => go(step + 1), PAUSE);
}

function open() {
  const words = decodeURIComponent(location.hash.slice(1)).split("&");
  const on = words.filter((word) => data.switches.includes(word));
  const stop = on.filter((word) => data.stops.includes(word)).at(-1);
  const kept = data.switches.filter((word) => on.includes(word) && (word === stop || !data.stops.includes(word)));
  pause();
  choose(kept.join("&"));
  go(Number(words.find((word) => word.startsWith("step="))?.slice(5)) || 0);
}

for (const input of switches) {
  input.addEventListener("change", () => {
    const isStop = data.stops.includes(input.name);
    if (isStop && input.checked) {
      for (const other of switches) if (other !== input && data.stops.includes(other.name)) other.checked = false;
    }
    pause();
    choose(switches.filter((x) => x.checked).map((x) => x.name).join("&"));
  });
}
first.addEventListener("click", () => go(0));
back.addEventListener("click", () => go(step - 1));
next.addEventListener("click", () => go(step + 1));
last.addEventListener("click", () => go(Infinity));
play.addEventListener("click", toggle);
slider.addEventListener("input", () => go(Number(slider.value)));
addEventListener("hashchange", open);
addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey || event.target === slider) return;
  const keys = {ArrowRight: () => go(step + 1), ArrowLeft: () => go(step - 1), Home: () => go(0), End: () => go(Infinity), " ": toggle};
  const own = event.target.closest?.("button, a, input, summary");
  if (!(event.key in keys) || (event.key === " " && own)) return;
  event.preventDefault();
  keys[event.key]();
});
open();
