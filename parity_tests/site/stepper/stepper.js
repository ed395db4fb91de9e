"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const panes = ["torch", "jax"].map((name) => document.getElementById(name));
const captions = document.querySelectorAll(".captions p"); // on a phone
const switches = [...document.querySelectorAll("#switches input")];
const IDS = ["first", "back", "play", "next", "last", "slider", "count", "live"];
const [first, back, play, next, last, slider, count, live] =
  IDS.map((id) => document.getElementById(id));
const NAMES = ["torch", "JAX"];
const LEAVES = ["x", "W1", "W2"];
const HEADS = [
  ["Line", "Value ↓", "Node, saved tensors", "Gradient ↑"],
  ["Line", "Value ↓", "Residuals, equations", "Cotangent ↑"],
];
const IMPORTS = [
  ["import torch"],
  ["import jax", "import jax.numpy as jnp", "from jax import lax", "", "import jaxgrad"],
];
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

const span = (name, ...children) => el("span", {class: name}, ...children);

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
  const numbers = rows.flat().map((x) => el("span", {}, x));
  return el("span", {class: "m", role: "img", "aria-label": label, style}, ...numbers);
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
  const end = scenario().steps.length - 1;
  panes.forEach((pane, side) => {
    const {say} = at(side, step);
    drawLadder(pane.querySelector(".ladder"), side);
    pane.querySelector(".say").replaceChildren(...ticks(say));
    const label = el("b", {}, side ? "JAX: " : "torch: ");
    captions[side].replaceChildren(...(say ? [label, ...ticks(say)] : []));
  });
  slider.max = end;
  slider.value = step;
  count.textContent = `step ${step} of ${end}`;
  slider.setAttribute("aria-valuetext", count.textContent);
  first.disabled = back.disabled = step === 0;
  next.disabled = last.disabled = step === end;
  const words = [0, 1].map((side) => at(side, step).say).filter(Boolean);
  const error = at(0, step).error;
  if (error) words.push(error.why, error.instead);
  live.textContent = words.join(" ").replaceAll("`", "");
}

function drawLadder(place, side) {
  const state = cells(side, step);
  const part = at(side, step);
  const changed = [...Object.keys(part.set ?? {}), ...(part.gone ?? [])];
  const fresh = new Set(changed.map((cell) => column(cell, side)));
  const failed = failure(step);
  const heads = el("div", {role: "row", class: "head"});
  for (const text of HEADS[side]) heads.append(el("span", {role: "columnheader"}, text));
  const table = el("div", {role: "table", "aria-label": `${NAMES[side]}'s program`}, heads);
  let around = "";
  for (const line of lines(side)) {
    const [key, , , within] = line;
    if (within && within !== around) {
      table.append(el("div", {role: "row", class: "plain"}, code(within, 4)));
    }
    around = within;
    table.append(row(side, line, state, part.row === key, fresh));
    if (key === failed?.row) table.append(failedRow(side, failed.error));
  }
  place.replaceChildren(table);
}

// The column of the screen in which a cell is shown.
function column(cell, side) {
  const [key, what] = cell.split(".");
  const place = {value: "value", version: "value", gradient: "gradient", grad: "gradient"};
  if (side) place.arrived = "gradient"; // in torch a node passes it on to `.grad`
  return `${key}.${place[what] ?? "kept"}`;
}

function code(text, width = 1) {
  return el("span", {role: "cell", class: "code", "aria-colspan": width}, text);
}

function row(side, [key, text, variable, within], state, isNow, fresh) {
  const isLeaf = LEAVES.includes(key);
  const hasCells = Boolean(variable);
  const computes = hasCells && !(side === 0 && key === "hook");
  const classes = {
    in: within, now: isNow, plain: !hasCells, end: key === "1", leaf: isLeaf, [key]: isLeaf,
    cut: key === "stop" && `${key}.value` in state, // from the step at which it stops the gradient
    later: computes && !(`${key}.value` in state),
  };
  const names = Object.keys(classes).filter((word) => classes[word]).join(" ");
  const shown = isLeaf ? text.replace(/\(\[\[.*\]\]/, "(…") : text;
  const element = el("div", {role: "row", class: names, "data-row": key});
  element.append(code(shown, hasCells ? 1 : 4));
  const call = callOf(side, key);
  if (call.length) element.lastChild.append(...call);
  if (isNow) element.setAttribute("aria-current", "step");
  if (!hasCells) return element;
  const contents = {
    value: valueOf(key, state),
    kept: side ? keptInJax(key, state) : keptInTorch(key, state, computes && !isLeaf),
    gradient: [...gradientOf(side, key, state), ...(side ? arrivedInJax(key, state) : [])],
  };
  for (const [what, content] of Object.entries(contents)) {
    const mark = step > 0 && fresh.has(`${key}.${what}`) ? " new" : "";
    element.append(el("div", {role: "cell", class: `cell ${what}${mark}`}, ...content));
  }
  return element;
}

function valueOf(key, state) {
  if (!(`${key}.value` in state)) return [];
  const version = state[`${key}.version`];
  const note = version ? [span("version", `version ${version}`)] : [];
  return [matrix(state[`${key}.value`]), ...note];
}

function keptInTorch(key, state, records) {
  const node = state[`${key}.node`];
  if (node) {
    const how = state[`${key}.dead`] ? "dead" : state[`${key}.ran`] ?? "";
    return [span(`node ${how}`, node), ...chips(key, state), ...arrived(key, state, "arriving")];
  }
  const isNoted = records && `${key}.value` in state;
  return isNoted ? [span("nothing", key === "stop" ? "no node" : "not recorded")] : [];
}

function keptInJax(key, state) {
  const ran = state[`${key}.ran`];
  const equations = ran ? [span("node ran", ran.join(", "))] : [];
  return [...chips(key, state), ...equations];
}

// The gradient that reaches a weight, before it is added to `.grad` or returned.
function arrived(key, state, tag) {
  const value = state[`${key}.arrived`];
  return value ? [span("arrived", span("tag", tag), matrix(value))] : [];
}

// In the second call the cotangent stands beside the gradient to which it will be added.
function arrivedInJax(key, state) {
  return arrived(key, state, `${key}.grad` in state ? "+" : "cotangent");
}

function chips(key, state) {
  return (state[`${key}.kept`] ?? []).map((entry) => {
    const content = entry.state === "kept" ? matrix(entry.value) : entry.state;
    return span(`chip ${entry.state}`, el("b", {}, entry.name), content);
  });
}

function gradientOf(side, key, state) {
  if (!LEAVES.includes(key)) {
    return `${key}.gradient` in state ? [matrix(state[`${key}.gradient`])] : [];
  }
  const grad = state[`${key}.grad`];
  const weights = LEAVES.slice(1).filter((leaf) => !name.includes(`freeze_${leaf}`));
  if (grad === undefined || !weights.includes(key)) return [];
  const label = side ? `grads[${weights.indexOf(key)}]` : `${key}.grad`;
  const none = isOver() ? "None" : "None so far";
  return [span("grad", span("tag", label), grad === null ? none : matrix(grad))];
}

// Whether torch's first `backward()` is done, or torch has raised.
function isOver() {
  const calls = scenario().steps.slice(0, step + 1).filter((_, i) => at(0, i).row === "1");
  return calls.length > 1 || Boolean(failure(step)); // a step starts it and another one ends it
}

// Beside a line that runs the backward pass: which call it is, and whether it is running.
function callOf(side, key) {
  if (!"12".includes(key)) return [];
  const which = lines(side).some(([other]) => other === "2") ? ["first call", "second call"] : [];
  const seen = scenario().steps.slice(0, step + 1).filter((_, i) => at(side, i).row === key).length;
  const stopped = side === 0 && failure(step);
  const runs = seen === 1 ? [stopped ? "raises" : "running"] : []; // its second step ends it
  const words = [...which.slice(key - 1, key), ...runs].join(": ");
  return words ? [span(`call ${runs[0] ?? ""}`, words)] : [];
}

// Below the line or node that raises: the exception, and what JAX does instead.
function failedRow(side, error) {
  const torch = [
    el("p", {}, el("b", {}, "RuntimeError")),
    el("p", {class: "message"}, error.message),
    el("p", {}, ...ticks(error.why)),
  ];
  const jax = [el("p", {}, el("b", {}, "JAX goes on. "), ...ticks(error.instead))];
  const cell = el("div", {role: "cell", class: "error", "aria-colspan": 4});
  cell.append(...(side ? jax : torch));
  return el("div", {role: "row", class: "failed"}, cell);
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
    pane.querySelector("pre").textContent = [...IMPORTS[side], "", ...text, ""].join("\n");
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
  for (const pane of shown) keepInSight(pane.querySelector(target));
}

// `scrollIntoView` would move the place from which the Tab key goes on.
function keepInSight(element) {
  if (!element) return;
  const box = element.getBoundingClientRect();
  const root = getComputedStyle(document.documentElement);
  const above = box.top - parseFloat(root.scrollPaddingTop);
  const below = box.bottom + parseFloat(root.scrollPaddingBottom) - innerHeight;
  if (above < 0 || below > 0) scrollBy(0, above < 0 ? above : Math.min(below, above));
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
  const isOn = (word) => on.includes(word) && (word === stop || !data.stops.includes(word));
  const kept = data.switches.filter(isOn);
  pause();
  choose(kept.join("&"));
  go(Number(words.find((word) => word.startsWith("step="))?.slice(5)) || 0);
}

for (const input of switches) {
  input.addEventListener("change", () => {
    const excluded = (other) => input.checked && other !== input
      && [input, other].every((x) => data.stops.includes(x.name));
    pause();
    choose(switches.filter((x) => x.checked && !excluded(x)).map((x) => x.name).join("&"));
  });
}
first.addEventListener("click", () => go(0));
back.addEventListener("click", () => go(step - 1));
next.addEventListener("click", () => go(step + 1));
last.addEventListener("click", () => go(Infinity));
play.addEventListener("click", toggle);
slider.addEventListener("input", () => go(Number(slider.value)));
document.getElementById("ask").addEventListener("click", (event) => {
  event.preventDefault(); // the address keeps the switches and the step
  document.getElementById("questions").scrollIntoView();
});
addEventListener("hashchange", open);
addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey || event.target === slider) return;
  const keys = {
    ArrowRight: () => go(step + 1),
    ArrowLeft: () => go(step - 1),
    Home: () => go(0),
    End: () => go(Infinity),
    " ": toggle,
  };
  const own = event.target.closest?.("button, a, input, summary");
  if (!(event.key in keys) || (event.key === " " && own)) return;
  event.preventDefault();
  keys[event.key]();
});
open();
