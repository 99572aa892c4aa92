// The sections on the whole model: how good it is, and what drives the target.

// 1, 2 and 5 times powers of ten, from one number to another.
const roundNumbers = (low, high) => {
  const found = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += 1) found.push(...[1, 2, 5].map((digit) => digit * 10 ** power));
  return found.filter((value) => value >= low / 1.2 && value <= high * 1.2);
};
// How good
const showFit = () => {
  if (!byId("chart-fit")) return;
  const { true: truth, predicted, confusion: matrix } = data.scores;
  if (classes) {
    const share = matrix.map((line) => line.map((count) => count / Math.max(sum(line), 1)));
    // Numbered behind an invisible character: two long names may shorten to the same text.
    const names = targets.map((name, i) => drawn(name, 16) + "\u200b".repeat(i));
    draw("chart-fit", [{ type: "heatmap", z: share, x: names, y: names, zmin: 0, zmax: 1, showscale: false,
      colorscale: [[0, color("panel")], [1, color("near")]], ...(targets.length <= 12 ? { text: matrix.map((line) => line.map((count) => number(count))), texttemplate: "%{text}" } : {}),
      hovertemplate: "true %{y}<br>predicted %{x}: %{z:.0%}<extra></extra>" }],
    { xaxis: { ...axisTitle("predicted"), type: "category" }, yaxis: { ...axisTitle("true"), type: "category", autorange: "reversed" } }, 320);
    return;
  }
  const x = truth.map((t) => t[state.target]), y = predicted.map((t) => t[state.target]);
  // What is modelled by its log is drawn so too; a zero has no place there.
  const low = Math.min(...x, ...y), high = Math.max(...x, ...y);
  const scale = units && low > 0 ? { type: "log", tickvals: roundNumbers(low, high), ticktext: roundNumbers(low, high).map((value) => number(value)) } : {};
  draw("chart-fit", [
    { type: "scatter", mode: "lines", x: [low, high], y: [low, high], line: { color: color("soft"), dash: "dot", width: 1 }, hoverinfo: "skip" },
    { type: "scatter", mode: "markers", x, y, marker: { color: color("accent"), size: 5, opacity: 0.55 },
      hovertemplate: "true %{x:.4g}<br>predicted %{y:.4g}<extra></extra>" },
  ], { xaxis: { ...axisTitle(`true ${unitName(state.target)}`), ...scale }, yaxis: { ...axisTitle("predicted"), ...scale } }, 320);
};

// How many targets are within their intervals, by fifths of the prediction.
const showCoverage = () => {
  if (!byId("chart-coverage")) return;
  const { parts, expected } = data.coverage[state.target], at = expected.indexOf(sure.coverage), x = parts.map((_, i) => i);
  // One standard deviation of the share of so many rows.
  const error = parts.map((part) => Math.sqrt(expected[at] * (1 - expected[at]) / part.n_rows));
  draw("chart-coverage", [
    { type: "scatter", mode: "lines", x: [-0.5, x.length - 0.5], y: [expected[at], expected[at]], line: { color: color("soft"), dash: "dot", width: 1 }, hoverinfo: "skip" },
    { type: "scatter", mode: "markers", x, y: parts.map((part) => part.covered[at]), marker: { color: color("accent"), size: 10 },
      error_y: { type: "data", array: error, color: color("soft"), thickness: 1.5, width: 0 },
      text: parts.map((part) => `${number(part.n_rows)} rows<br>mean width ${number(part.width[at])}`), hovertemplate: "%{y:.1%} within<br>%{text}<extra></extra>" },
  ], { xaxis: { ...axisTitle(`predicted ${unitName(state.target)}, in fifths`), tickvals: x, ticktext: parts.map((part) => `${number(part.lowest, 3)}<br>to ${number(part.highest, 3)}`), tickangle: 0, range: [-0.5, x.length - 0.5], zeroline: false, showgrid: false },
    yaxis: { ...axisTitle("share within the interval"), range: [Math.min(0.6, ...parts.map((part) => part.covered[at] - 0.1)), 1.02], tickformat: ".0%", zeroline: false } }, 320);
};
// Whether the probabilities of a class are true.
const showReliability = () => {
  if (!byId("chart-reliability")) return;
  const curve = data.scores.probabilities.curves[state.target], most = Math.max(...curve.counts);
  draw("chart-reliability", [
    { type: "scatter", mode: "lines", x: [0, 1], y: [0, 1], line: { color: color("soft"), dash: "dot", width: 1 }, hoverinfo: "skip" },
    { type: "scatter", mode: "lines+markers", x: curve.predicted, y: curve.observed, line: { color: color("accent"), width: 2 },
      marker: { color: color("accent"), size: curve.counts.map((count) => 6 + 10 * Math.sqrt(count / most)) },
      error_y: { type: "data", symmetric: false, color: color("soft"), thickness: 1.5, width: 0, array: curve.high.map((h, i) => h - curve.observed[i]), arrayminus: curve.low.map((l, i) => curve.observed[i] - l) },
      text: curve.counts.map((count) => `${count} row${count === 1 ? "" : "s"}`), hovertemplate: "predicted %{x:.3f}<br>observed %{y:.3f}<br>%{text}<extra></extra>" },
  ], { xaxis: { ...axisTitle("predicted probability"), range: [-0.03, 1.03], zeroline: false }, yaxis: { ...axisTitle("share of rows of the class"), range: [-0.05, 1.05], zeroline: false } }, 320);
};

// What drives the target: the mean size of Shapley values, and beside it the slopes of the rows.
const importance = () => data.drivers.importance[state.target];
const showDrivers = () => {
  const sizes = importance(), ordered = order(sizes), total = sum(sizes) || 1;
  const shown = state.all.drivers ? ordered : ordered.slice(0, FEW);
  const y = shown.map((_, i) => shown.length - i);
  draw("chart-drivers", [{ type: "bar", orientation: "h", x: shown.map((j) => sizes[j]), y, width: 0.62, marker: { color: color("accent") },
    text: shown.map((j) => number(sizes[j], 3)), textposition: "outside", cliponaxis: false,
    customdata: shown.map((j) => drawn(features[j], 60)), hovertemplate: "%{customdata}<br>%{x:.4g}<extra></extra>" }],
  { xaxis: { ...axisTitle(`mean size of Shapley values of ${classes ? "the score of " : ""}${targets[state.target]}`), range: [0, 1.15 * Math.max(...sizes) || 1] },
    yaxis: { tickvals: y, ticktext: shown.map((j) => drawn(features[j])), showgrid: false, zeroline: false, range: [0.3, shown.length + 0.7] } },
  70 + 28 * shown.length);
  const head = ["Feature", "mean size", "share", `slope${units ? " of the log" : ""}: 5%`, "median", "95%"].map((text) => make("th", { scope: "col" }, text));
  const slopes = rows.coef.map((_, i) => slopesOf(i, state.target));
  byId("driver-table").replaceChildren(make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...ordered.map((j) => {
    const sorted = slopes.map((line) => line[j]).filter((value) => value !== null).sort((a, b) => a - b);
    const cells = !hasSlope[j] ? ["–", "–", "–"] : [0.05, 0.5, 0.95].map((share) => number(quantile(sorted, share)));
    return make("tr", {}, make("th", { scope: "row" }, bdi(features[j]), unitOf(j)), make("td", {}, number(sizes[j])), make("td", {}, percent(sizes[j] / total)), ...cells.map((text) => make("td", {}, text)));
  })));
};
// Predictions as a feature moves: some rows' own curves, and the summary over the rows.
const showCurve = () => {
  const parts = data.effects.filter((one) => one.column === state.feature);
  const effect = parts[Math.min(state.part, parts.length - 1)];
  byId("part-field").hidden = parts.length < 2;
  byId("part").replaceChildren(...parts.map((one, i) => make("option", { value: i }, one.part)));
  byId("part").value = Math.min(state.part, parts.length - 1);
  byId("chart-curve").hidden = !effect || effect.grid.length < 2; // one value has no curve
  if (!effect) {
    byId("curve-caption").textContent = `Predictions were followed for the ${new Set(data.effects.map((one) => one.column)).size} features that matter most, and this feature is not one of them.`;
    return;
  }
  const x = effect.is_text ? effect.grid.map((_, k) => k) : effect.grid, t = state.target;
  const mode = effect.is_text ? "markers" : "lines";
  const traces = effect.kind === "mean" ? effect.curves.map((curve, i) => ({ type: "scatter", mode, x, y: curve[t], opacity: 0.35,
    line: { color: color("soft"), width: 1 }, marker: { color: color("soft"), size: 5 }, text: x.map(() => drawn(rows.names[effect.rows[i]])), hovertemplate: "%{text}: %{y:.4g}<extra></extra>" })) : [];
  traces.push({ type: "scatter", mode, x, y: effect.summary[t], line: { color: color("accent"), width: 4 }, marker: { color: color("accent"), size: 12 }, hovertemplate: "%{y:.4g}<extra></extra>" });
  draw("chart-curve", traces, { xaxis: { ...axisTitle(effect.label), zeroline: false, ...(effect.is_text ? { tickvals: x, ticktext: effect.grid.map((text) => drawn(text, 18)), range: [-0.6, x.length - 0.4] } : {}) },
    yaxis: { ...axisTitle(`${effect.kind === "mean" ? "" : "change in "}predicted ${classes ? "probability of " : ""}${targets[t]}`), zeroline: effect.kind !== "mean" } }, 340);
  byId("curve-caption").replaceChildren(bdi(effect.sentences[t]));
};
// The points of a column of text: its values side by side, by the median of what they add.
const pointsOfTexts = (j, height) => {
  const texts = rows.values.slice(0, detailCount).map((line) => cell(line[j]));
  const middle = new Map([...new Set(texts)].map((text) => [text, quantile(height.filter((_, i) => texts[i] === text).sort((a, b) => a - b), 0.5)]));
  const names = [...middle.keys()].sort((a, b) => middle.get(a) - middle.get(b));
  // Spread a little, or points of equal height would hide one another.
  return { names, x: texts.map((text, i) => names.indexOf(text) + 0.5 * ((i * 0.618034) % 1 - 0.5)) };
};
const showEffect = () => {
  const j = state.feature;
  byId("chart-effect").hidden = !choices[j] && !hasSlope[j];
  if (byId("chart-effect").hidden) {
    draw("chart-effect", [], {}, 400);
    byId("effect-caption").replaceChildren(bdi(features[j]), " is a time of day and has no slope. The picture above shows how predictions change with it.");
    return;
  }
  const height = rows.coef.map((c, i) => (choices[j] ? rows.contributions[i][state.target][j] - average(c[state.target], j) : slopesOf(i, state.target)[j]));
  const { names, x } = choices[j] ? pointsOfTexts(j, height) : { names: null, x: rows.values.map((line) => line[j]) };
  const valueTexts = rows.values.map((line) => drawn(cell(line[j])));
  const groupOf = rows.regime.map(regimeGroup);
  const groups = [...new Set(groupOf)].sort((a, b) => a - b);
  const traces = groups.map((group) => {
    const inGroup = groupOf.flatMap((g, i) => (g === group ? [i] : []));
    return { type: "scatter", mode: "markers", name: group === COLORED ? "other regimes" : `${group + 1}. ${drawn(data.regimes[group].name, 30)}`,
      x: inGroup.map((i) => x[i]), y: inGroup.map((i) => height[i]), customdata: inGroup,
      text: inGroup.map((i) => `${drawn(rows.names[i])}<br>value ${valueTexts[i]}`), marker: { color: color(`r${group}`), size: 7, opacity: 0.75 },
      hovertemplate: `%{text}<br>${choices[j] ? "adds" : "slope"} %{y:.4g}<extra></extra>` };
  });
  if (!isShort()) traces.push({ type: "scatter", mode: "markers", name: "the row below", x: [x[state.row]], y: [height[state.row]],
    marker: { color: "rgba(0,0,0,0)", size: 15, line: { color: color("ink"), width: 2.5 } }, hoverinfo: "skip" });
  draw("chart-effect", traces, { showlegend: true, legend: { orientation: "h", y: 1.02, yanchor: "bottom" }, margin: { l: 10, r: 16, t: 60, b: 40 },
    xaxis: { ...axisTitle(features[j]), zeroline: false, ...(names ? { tickvals: names.map((_, k) => k), ticktext: names.map((text) => drawn(text, 18)), range: [-0.6, names.length - 0.4] } : {}) },
    yaxis: { ...axisTitle(`${names ? "adds, against the average" : `slope, ${data.per[j]}`}${units ? ", log scale" : ""}`), zeroline: true, zerolinewidth: 2 } }, 400);
  byId("effect-caption").replaceChildren(...(names ? ["What the row's value of ", bdi(features[j]), " adds in its own linear model, against the average over all samples. This is not all of its effect: the value also decides which samples are near. "]
    : ["The slope of ", bdi(features[j]), " in the linear model of each row, against the row's value: what is linear within its neighbours, in the mean of their models. The prediction itself may change otherwise, since its neighbours change as the row moves: the picture above shows that. A slope says nothing about how high the prediction is. "]),
  `Colours are regimes, the ring is the row explained below; click a point to explain it.${detailCount < all.n ? ` Drawn are ${number(detailCount)} of the ${number(all.n)} rows, chosen at random.` : ""}`);
};
