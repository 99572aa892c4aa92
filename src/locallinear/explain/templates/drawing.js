// The data of the report, and how text and charts are made; the other scripts use both.
const data = JSON.parse(document.getElementById("data").textContent);
const { rows, features, choices, targets, space, samples, sure } = data;
const members = data.model.n_members; // of an ensemble
const classes = data.kind === "classification";
// The scripts and rows that are packed in the page.
const inflate = async (text) => {
  const plain = atob(text), content = new Uint8Array(plain.length);
  for (let i = 0; i < plain.length; i += 1) content[i] = plain.charCodeAt(i);
  const stream = new Blob([content]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
};
const FEW = 10;
const COLORED = 7; // the largest regimes have a colour each, the others share one
const PRINTED = 660; // the width of a chart on paper, in pixels
let printing = false;
const state = { at: 0, row: 0, target: 0, feature: 0, part: 0, all: {}, whatIf: [] };
const byId = (id) => document.getElementById(id);
const regimeRank = new Map(data.regimes.map((regime, rank) => [regime.label, rank]));
// Regimes are numbered by size.
const regimeNumber = (label) => String(regimeRank.get(label) + 1);

// Text
const number = (value, digits = 4) => {
  if (value === null || value === undefined) return "–";
  if (typeof value === "string") return value;
  const size = Math.abs(value);
  const text = size !== 0 && (size >= 1e7 || size < 1e-4)
    ? value.toExponential(digits - 1)
    : value.toLocaleString("en", {
        maximumSignificantDigits: Math.max(digits, Math.ceil(Math.log10(size + 1))),
        useGrouping: size >= 9999.5, // 2021 may be a year
      });
  return text === "-0" ? "0" : text.replace("-", "−");
};
// What a row holds: a number, a text, or nothing.
const cell = (value) => (value === null ? "missing" : typeof value === "string" ? value : number(value));
const wide = () => printing || window.innerWidth > 640;
const signed = (value) => (value > 0 ? "+" : "") + number(value);
// Where the model is of logs: what something multiplies the target by, and numbers in its units.
const units = data.units;
const factor = (log) => {
  const value = Math.exp(log), change = Math.abs(value - 1);
  return `×\u202f${change < 1e-9 || change >= 9 ? number(value) : value.toFixed(Math.min(12, Math.max(2, 1 - Math.floor(Math.log10(change)))))}`;
};
const unitName = (target) => (units ? units[target].name : targets[target]);
const fromLog = (log, smear) => Math.max(0, smear * Math.exp(log) - units[state.target].shift);
const shorten = (text, length) => text.length <= length ? text : `${text.slice(0, Math.ceil(length * 2 / 3))}…${text.slice(-Math.floor(length / 3) + 1)}`;
// Plotly reads tags and entities in text; this makes it draw every character as it is. The
// isolates keep a right-to-left name from changing the direction of the text around it.
const drawn = (text, length = wide() ? 34 : 18) => `\u2068${shorten(String(text).replace(/\s+/g, " "), length).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/\$/g, "&#36;")}\u2069`;
const make = (tag, attributes = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
};
const bdi = (text) => make("bdi", {}, String(text));
const sum = (list) => list.reduce((total, value) => total + value, 0);
const quantile = (sorted, share) => {
  const at = share * (sorted.length - 1), low = Math.floor(at);
  return sorted[low] + (at - low) * ((sorted[low + 1] ?? sorted[low]) - sorted[low]);
};
const order = (sizes) => sizes.map((_, i) => i).sort((a, b) => Math.abs(sizes[b]) - Math.abs(sizes[a]) || a - b);

// Charts
const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const regimeGroup = (label) => Math.min(regimeRank.get(label) ?? COLORED, COLORED);
const regimeColor = (label) => color(`r${regimeGroup(label)}`);
// Charts come last: a page whose rows can be found and read need not wait for them. Until all were
// drawn once, the last wish of each waits here; after that, charts are drawn at once.
const waiting = new Map();
let drawsAtOnce = false;
const idle = () => new Promise((resume) => (window.requestIdleCallback ? requestIdleCallback(resume, { timeout: 100 }) : setTimeout(resume)));
const loadPlotly = async () => {
  const source = new TextDecoder().decode(await inflate(byId("plotly").textContent));
  document.head.append(Object.assign(document.createElement("script"), { textContent: source }));
};
const drawFirst = () => {
  const [id, make] = waiting.entries().next().value;
  waiting.delete(id);
  make();
};
const drawAllAtOnce = () => { while (waiting.size) drawFirst(); };
const drawInTurn = async () => {
  while (waiting.size) { drawFirst(); await idle(); }
  drawsAtOnce = true;
};
const draw = (id, traces, layout, height) => {
  const axis = { gridcolor: color("line"), zerolinecolor: color("soft"), linecolor: color("line"), automargin: true, exponentformat: "power" };
  byId(id).style.height = `${height}px`;
  const make = () => Plotly.react(byId(id), traces, {
    height, ...(printing ? { width: PRINTED } : {}), paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: color("ink"), family: "system-ui, 'DejaVu Sans', sans-serif", size: 13 },
    margin: { l: 10, r: 16, t: 10, b: 40 }, showlegend: false,
    hoverlabel: { bgcolor: color("panel"), font: { color: color("ink") } }, ...layout,
    xaxis: { ...axis, ...layout.xaxis }, yaxis: { ...axis, ...layout.yaxis },
  }, { displayModeBar: false, responsive: true, displaylogo: false });
  if (drawsAtOnce) make();
  else waiting.set(id, make);
};
const axisTitle = (text) => ({ title: { text: drawn(text, wide() ? 60 : 28), font: { size: 13 } } });
