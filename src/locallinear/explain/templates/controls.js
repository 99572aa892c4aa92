// What the controls do, and the first drawing.
const showRow = () => {
  showHeadline();
  showLayers();
  showContributions();
  showRowCaption();
  showParts();
  if (isShort()) return;
  showNeighbors();
  showSliders();
};
const selectRow = (i) => {
  const detail = all.detail(i);
  state.at = i;
  state.row = detail < 0 ? detailCount : detail;
  if (isShort()) showShort(i);
  if (matches.includes(i)) listRows();
  else { byId("search").value = ""; showPicker(); }
  showRow();
  showEffect();
};
const step = (by) => {
  const at = matches.indexOf(state.at) + by;
  if (at >= 0 && at < matches.length) selectRow(matches[at]);
};
const showTarget = () => {
  document.querySelectorAll(".by-target").forEach((e) => e.classList.toggle("off", Number(e.dataset.target) !== state.target));
  document.querySelectorAll(".target-name").forEach((e) => { e.textContent = targets[state.target]; });
};
const showAll = () => { showTarget(); showFit(); showCoverage(); showReliability(); showDrivers(); showCurve(); showEffect(); showRow(); showDots(); };
// What is drawn, without what a reader may be in the middle of changing.
const redraw = () => { showFit(); showCoverage(); showReliability(); showDrivers(); showCurve(); showEffect(); showContributions(); showDots(); };
const print = (on) => {
  printing = on;
  document.documentElement.toggleAttribute("data-printing", on);
  redraw();
  if (window.Plotly) drawAllAtOnce();
};
const showDots = () => document.querySelectorAll(".dot").forEach((dot) => { dot.style.background = regimeColor(Number(dot.dataset.regime)); });

const opener = (id, name, show) => {
  const button = byId(`all-${id}`);
  if (!button) return;
  button.hidden = features.length <= (name === "parts" ? FEW + 1 : FEW) && name !== "regimes";
  const closed = name === "regimes" ? button.textContent : `Show all ${features.length} features`;
  button.textContent = closed;
  button.addEventListener("click", () => {
    state.all[name] = !state.all[name];
    button.setAttribute("aria-expanded", String(state.all[name]));
    button.textContent = state.all[name] ? "Show the most important only" : closed;
    show();
  });
};
opener("regimes", "regimes", () => byId("regime-table").classList.toggle("all", state.all.regimes));
opener("drivers", "drivers", showDrivers);
opener("parts", "parts", () => { showContributions(); showParts(); });
opener("sliders", "sliders", showSliders);

byId("target")?.addEventListener("change", (event) => { state.target = Number(event.target.value); showAll(); });
byId("feature").addEventListener("change", (event) => { state.feature = Number(event.target.value); state.part = 0; showCurve(); showEffect(); });
byId("part").addEventListener("change", (event) => { state.part = Number(event.target.value); showCurve(); });
byId("reference").addEventListener("change", () => { showLayers(); showContributions(); showParts(); showNeighbors(); });
byId("search").addEventListener("input", showPicker);
byId("row").addEventListener("change", (event) => selectRow(Number(event.target.value)));
byId("previous").addEventListener("click", () => step(-1));
byId("next").addEventListener("click", () => step(1));
byId("save").addEventListener("click", saveRows);
byId("reset").addEventListener("click", showSliders);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
matchMedia("(max-width: 640px)").addEventListener("change", redraw);
window.addEventListener("beforeprint", () => print(true));
window.addEventListener("afterprint", () => print(false));

state.at = all.place(0);
state.feature = order(importance())[0];
byId("feature").value = String(state.feature);
showPicker();
showAll();
// A step of opening the page is done; benchmarks read when.
const reached = (name) => { document.documentElement.dataset[name] = "yes"; performance.mark(name); };
reached("ready"); // rows can be found and read
await idle();
await loadPlotly();
await drawInTurn();
byId("chart-effect").on("plotly_click", (event) => {
  const i = event.points[0]?.customdata;
  if (i !== undefined) selectRow(all.place(i));
});
reached("drawn");
