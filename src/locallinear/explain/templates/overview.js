// The sections on the whole model: how good it is, and what drives the target.

// How good
const showFit = () => {
  if (!byId("chart-fit")) return;
  const { true: truth, predicted } = data.scores;
  if (classes) {
    const matrix = targets.map(() => targets.map(() => 0));
    const classNumber = ([label]) => targets.findIndex((name) => (typeof label === "number" ? Number(name) === label : name === label));
    truth.forEach((label, i) => { matrix[classNumber(label)][classNumber(predicted[i])] += 1; });
    const share = matrix.map((line) => line.map((count) => count / Math.max(sum(line), 1)));
    // Numbered behind an invisible character: two long names may shorten to the same text.
    const names = targets.map((name, i) => drawn(name, 16) + "\u200b".repeat(i));
    draw("chart-fit", [{ type: "heatmap", z: share, x: names, y: names, zmin: 0, zmax: 1, showscale: false,
      colorscale: [[0, color("panel")], [1, color("near")]], ...(targets.length <= 12 ? { text: matrix, texttemplate: "%{text}" } : {}),
      hovertemplate: "true %{y}<br>predicted %{x}: %{z:.0%}<extra></extra>" }],
    { xaxis: { ...axisTitle("predicted"), type: "category" }, yaxis: { ...axisTitle("true"), type: "category", autorange: "reversed" } }, 320);
    return;
  }
  const x = truth.map((t) => t[state.target]), y = predicted.map((t) => t[state.target]);
  const low = Math.min(...x, ...y), high = Math.max(...x, ...y);
  draw("chart-fit", [
    { type: "scatter", mode: "lines", x: [low, high], y: [low, high], line: { color: color("soft"), dash: "dot", width: 1 }, hoverinfo: "skip" },
    { type: "scatter", mode: "markers", x, y, marker: { color: color("accent"), size: 5, opacity: 0.55 },
      hovertemplate: "true %{x:.4g}<br>predicted %{y:.4g}<extra></extra>" },
  ], { xaxis: axisTitle(`true ${targets[state.target]}`), yaxis: axisTitle("predicted") }, 320);
};

// What drives the target
let effects = [];
const findEffects = () => {
  effects = features.map((_, j) => {
    const sorted = rows.coef.map((c) => usual(c[state.target], j)).sort((a, b) => a - b);
    return { size: sum(sorted.map(Math.abs)) / sorted.length, at: [0.05, 0.25, 0.5, 0.75, 0.95].map((s) => quantile(sorted, s)) };
  });
};
const showDrivers = () => {
  findEffects();
  const ordered = order(effects.map((effect) => effect.size));
  const shown = state.all.drivers ? ordered : ordered.slice(0, FEW);
  const y = shown.map((_, i) => shown.length - i);
  const least = Math.min(0, ...shown.map((j) => effects[j].at[0])), most = Math.max(0, ...shown.map((j) => effects[j].at[4]));
  const room = 0.03 * (most - least || 1);
  const line = (low, high, width, opacity) => ({ type: "scatter", mode: "lines", hoverinfo: "skip", opacity,
    line: { color: color("accent"), width }, x: shown.flatMap((j) => [effects[j].at[low], effects[j].at[high], null]), y: y.flatMap((v) => [v, v, null]) });
  draw("chart-drivers", [line(0, 4, 2, 0.9), line(1, 3, 10, 0.55),
    { type: "scatter", mode: "markers", x: shown.map((j) => effects[j].at[2]), y, marker: { color: color("ink"), size: 8 },
      text: shown.map((j) => drawn(features[j], 60)), hovertemplate: "%{text}<br>median %{x:.4g}<extra></extra>" }],
  { xaxis: { ...axisTitle("effect of one standard deviation"), range: [least - room, most + room], zeroline: true, zerolinewidth: 2 },
    yaxis: { tickvals: y, ticktext: shown.map((j) => drawn(features[j])), showgrid: false, zeroline: false, range: [0.3, shown.length + 0.7] } },
  70 + 28 * shown.length);
  const head = ["Feature", "average size", "5%", "25%", "median", "75%", "95%"].map((text) => make("th", { scope: "col" }, text));
  byId("driver-table").replaceChildren(make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...ordered.map((j) =>
    make("tr", {}, make("th", { scope: "row" }, bdi(features[j])), ...[effects[j].size, ...effects[j].at].map((v) => make("td", {}, number(v)))))));
};
// The points of a column of text: its values side by side, by the median of what they add.
const pointsOfTexts = (j, height) => {
  const texts = rows.values.map((line) => cell(line[j]));
  const middle = new Map([...new Set(texts)].map((text) => [text, quantile(height.filter((_, i) => texts[i] === text).sort((a, b) => a - b), 0.5)]));
  const names = [...middle.keys()].sort((a, b) => middle.get(a) - middle.get(b));
  // Spread a little, or points of equal height would hide one another.
  return { names, x: texts.map((text, i) => names.indexOf(text) + 0.5 * ((i * 0.618034) % 1 - 0.5)) };
};
const showEffect = () => {
  const j = state.feature;
  const height = rows.coef.map((c, i) => (choices[j] ? rows.contributions[i][state.target][j] - average(c[state.target], j) : c[state.target][j]));
  const { names, x } = choices[j] ? pointsOfTexts(j, height) : { names: null, x: rows.values.map((line) => line[j]) };
  const valueTexts = rows.values.map((line) => drawn(cell(line[j])));
  const groupOf = rows.regime.map(regimeGroup);
  const groups = [...new Set(groupOf)].sort((a, b) => a - b);
  const traces = groups.map((group) => {
    const inGroup = groupOf.flatMap((g, i) => (g === group ? [i] : []));
    return { type: "scatter", mode: "markers", name: group === COLORED ? "other regimes" : `regime ${data.regimes[group].label}`,
      x: inGroup.map((i) => x[i]), y: inGroup.map((i) => height[i]), customdata: inGroup,
      text: inGroup.map((i) => `${drawn(rows.names[i])}<br>value ${valueTexts[i]}`), marker: { color: color(`r${group}`), size: 7, opacity: 0.75 },
      hovertemplate: `%{text}<br>${choices[j] ? "adds" : "coefficient"} %{y:.4g}<extra></extra>` };
  });
  traces.push({ type: "scatter", mode: "markers", name: "the row below", x: [x[state.row]], y: [height[state.row]],
    marker: { color: "rgba(0,0,0,0)", size: 15, line: { color: color("ink"), width: 2.5 } }, hoverinfo: "skip" });
  draw("chart-effect", traces, { showlegend: true, legend: { orientation: "h", y: 1.02, yanchor: "bottom" }, margin: { l: 10, r: 16, t: 60, b: 40 },
    xaxis: { ...axisTitle(features[j]), zeroline: false, ...(names ? { tickvals: names.map((_, k) => k), ticktext: names.map((text) => drawn(text, 18)), range: [-0.6, names.length - 0.4] } : {}) },
    yaxis: { ...axisTitle(names ? "adds, against the average" : "coefficient"), zeroline: true, zerolinewidth: 2 } }, 400);
  byId("effect-caption").replaceChildren(names ? "What the value of " : "Coefficient of ", bdi(features[j]),
    names ? " adds in the model of each row, against the average over all samples. " : " in the model of each row, against its value. ",
    names || space.has_units ? "" : "Coefficients are per unit of the feature's rank. ", "Colours are regimes, the ring is the row explained below; click a point to explain it.");
};
