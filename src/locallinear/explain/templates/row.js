// The section on one row: its contributions, its neighbours, and what if.
const showHeadline = () => {
  byId("row-name").textContent = rows.names[state.row];
  const score = rows.prediction[state.row][state.target];
  byId("prediction-label").textContent = `Predicted ${classes ? "score of " : ""}${shorten(targets[state.target], 40)}`;
  byId("row-prediction").textContent = number(score, 5) + (classes ? `, probability ${percent(rows.probability[state.row][state.target])}` : units ? `, which is a mean ${shorten(units[state.target].name, 40)} of ${number(fromLog(score, units[state.target].smear))}` : "");
  const truth = rows.true?.[state.row]?.[classes ? 0 : state.target] ?? null;
  byId("row-true-line").hidden = truth === null;
  if (truth !== null) byId("row-true").textContent = number(truth, 5) + (units ? `, which is ${number(fromLog(truth, 1))}` : "");
  showSure();
  byId("row-regime-line").hidden = isShort();
  byId("details").hidden = isShort();
  byId("reference-field").hidden = isShort();
  byId("short-note").hidden = !isShort();
  if (!isShort()) byId("row-regime").textContent = `${regimeNumber(rows.regime[state.row])}. ${data.regimes[regimeRank.get(rows.regime[state.row])].name}`;
  if (classes) showClasses(rows.probability[state.row]);
};
// The interval or the possible classes of the row, and how unusual it is.
const showSure = () => {
  const interval = intervalOf(), possible = sure.possible?.[state.row] && targets.filter((_, t) => sure.possible[state.row][t]);
  byId("row-interval-line").hidden = !interval && !possible;
  byId("interval-label").textContent = `${percent(sure.coverage)} ${classes ? "possible classes" : "interval"}`;
  byId("row-interval").textContent = interval ? `${number(interval[0])} to ${number(interval[1])}${units ? `, which is ${number(fromLog(interval[0], 1))} to ${number(fromLog(interval[1], 1))}` : ""}` : possible ? possible.map((name) => shorten(name, 30)).join(" or ") : "";
  const novelty = sure.novelty && sure.novelty[state.row];
  byId("row-novelty-line").hidden = novelty === null || novelty === undefined;
  byId("row-novelty").textContent = `than ${percent(novelty ?? 0)} of the samples`;
  byId("unlike").hidden = isShort() ? !shortIsUnlike : !(novelty > sure.unseen);
};
const showClasses = (shares) => byId("classes").replaceChildren(...targets.map((name, t) => make("div", {}, bdi(shorten(name, 30)),
  make("span", { class: "track" }, Object.assign(make("span", { class: "fill" }), { style: `display:block;width:${100 * shares[t]}%` })), make("span", {}, percent(shares[t])))));
// The features with the largest parts, and the others, which share a line.
const largest = (parts) => {
  const ordered = order(parts), end = ordered.length <= FEW + 1 || state.all.parts ? ordered.length : FEW;
  return [ordered.slice(0, end), ordered.slice(end)];
};
// A part that is too small to be seen has no bar of its own.
const UNSEEN = 0.002;
const showContributions = () => {
  const { start, level, parts } = fromReference();
  byId("row-constant").hidden = isShort() || features.some((_, j) => usual(coef(), j) !== 0);
  const seen = UNSEEN * (Math.abs(level ?? 0) + sum(parts.map(Math.abs)));
  const [large, small] = largest(parts);
  const named = layered() ? large.filter((j) => Math.abs(parts[j]) > seen) : large;
  const rest = [...large.filter((j) => !named.includes(j)), ...small];
  const end = rows.prediction[state.row][state.target];
  // A narrow window has no room for the values, which the table below repeats.
  // What its neighbours have is on a second line where it is long, such as parts of the year.
  const theirs = (j) => { const text = rows.neighbor_texts[state.row][j]; return `${text.length > 12 ? "<br>" : " "}(they: ${drawn(text, 48)})`; };
  const value = (j) => (wide() ? `${rows.values[state.row][j] === null ? "" : " ="} ${drawn(cell(rows.values[state.row][j]), 24)}${layered() && !isShort() ? theirs(j) : ""}` : "");
  const bars = named.map((j) => ({ name: drawn(features[j], wide() ? 32 : 16) + value(j), size: parts[j], unsure: isUnsure(j) }));
  if (level !== null) bars.unshift({ name: "those like this row", size: level });
  if (rest.length && (sum(rest.map((j) => Math.abs(parts[j]))) || !named.length)) bars.push({ name: named.length ? `${rest.length} other feature${rest.length > 1 ? "s" : ""}` : "how it differs from them", size: sum(rest.map((j) => parts[j])) });
  let at = start;
  bars.forEach((bar) => { bar.base = at; at += bar.size; });
  const lines = [{ name: layered() ? "rows in general" : "intercept", base: start, size: 0, total: start }, ...bars, { name: `<b>prediction</b>${intervalOf() ? ` ${number(end, 5)}` : ""}`, base: end, size: 0, total: end }];
  const y = lines.map((_, i) => lines.length - i);
  const interval = intervalOf();
  const ends = [...lines.flatMap((bar) => [bar.base, bar.base + bar.size]), ...(interval ?? [])];
  const low = Math.min(...ends), high = Math.max(...ends), room = (wide() ? 0.14 : 1.1) * (high - low || Math.abs(high) || 1);
  draw("chart-row", [
    { type: "bar", orientation: "h", y: y.slice(1, -1), base: bars.map((b) => b.base), x: bars.map((b) => b.size), width: 0.62,
      marker: { color: bars.map((b) => color(b.size >= 0 ? "up" : "down")), pattern: { shape: bars.map((b) => (b.unsure ? "/" : "")), fillmode: "replace", size: 6, solidity: 0.35 } }, text: bars.map((b) => signed(b.size) + (units ? ` (${factor(b.size)})` : "")), textposition: "outside", cliponaxis: false,
      hovertemplate: "%{text}<extra></extra>" },
    { type: "scatter", mode: "lines", hoverinfo: "skip", line: { color: color("soft"), width: 1 },
      x: lines.slice(0, -1).flatMap((b) => [b.base + b.size, b.base + b.size, null]), y: y.slice(0, -1).flatMap((v) => [v, v - 1, null]) },
    { type: "scatter", mode: "markers+text", x: [start, end], y: [y[0], 1], marker: { symbol: "diamond", size: 12, color: color("total") },
      text: [`  ${number(start, 5)}  `, interval ? "" : `  ${number(end, 5)}  `], textposition: [start, end].map((v) => (v - low > high - v ? "middle left" : "middle right")), hoverinfo: "skip", cliponaxis: false,
      ...(interval ? { error_x: { type: "data", symmetric: false, array: [0, interval[1] - end], arrayminus: [0, end - interval[0]], color: color("total"), thickness: 3, width: 7 } } : {}) },
    ...(interval ? [{ type: "scatter", mode: "text", x: interval, y: [1, 1], text: interval.map((v) => `  ${number(v)}  `), textposition: ["middle left", "middle right"], hoverinfo: "skip", cliponaxis: false }] : []),
  ], { xaxis: { range: [low - room, high + room], zeroline: low <= 0 && high >= 0, ...axisTitle(classes ? `score of ${targets[state.target]}` : targets[state.target]) },
    yaxis: { tickvals: y, ticktext: lines.map((b) => b.name), showgrid: false, zeroline: false, range: [0.4, lines.length + 0.6] } }, 70 + 28 * lines.length);
};
// The features in which the row differs most from its neighbours, by what that adds.
const mostDifferent = (parts) => {
  const most = order(parts).filter((j) => parts[j]).slice(0, 2);
  if (isShort() || !most.length) return [];
  const theirs = (j) => (choices[j] ? `${rows.neighbor_texts[state.row][j]} of them have it` : `theirs: ${rows.neighbor_texts[state.row][j]}`);
  return [" Most by ", ...most.flatMap((j, i) => [i ? " and " : "", bdi(features[j]), " ", bdi(cell(rows.values[state.row][j])), ` (${theirs(j)}): ${signed(parts[j])}`]), "."];
};
// The three layers in words.
const showLayers = () => {
  const { start, level, parts } = fromReference();
  byId("layers-text").hidden = !layered();
  if (!layered()) return;
  const size = rows.n_neighbors[state.row], traits = rows.traits[state.row]?.[state.target];
  const alike = isShort() ? [] : traits.length ? [" What they have in common, and in brackets about what it adds to that: ", ...traits.flatMap((trait, i) => [i ? ", " : "", bdi(trait)]), "."] : [" Their level is that of all samples."];
  byId("layers-text").replaceChildren(`Rows in general: ${number(start)}. Those like this row${isShort() ? "" : `, its ${size} neighbour${size > 1 ? "s" : ""}`}: ${number(start + level)}, which is ${signed(level)}.`, ...alike,
    ` How this row differs from them: ${signed(sum(parts))}, which makes ${number(rows.prediction[state.row][state.target])}.`, ...mostDifferent(parts));
};
const showRowCaption = () => {
  const unsure = features.some((_, j) => isUnsure(j)), interval = intervalOf();
  byId("row-caption").textContent = [
    interval ? `The line through the prediction is its interval: it contains ${percent(sure.coverage)} of the targets of such rows.` : "",
    unsure ? "Hatched: the interval of the feature's slope contains zero, so even the direction of this step may be noise." : "",
    sure.missing ? `How sure the prediction is cannot be told: ${sure.missing}.` : "",
  ].filter(Boolean).join(" ");
};
const showParts = () => {
  const { start, level, parts } = fromReference(), slopes = isShort() ? [] : slopesOf(state.row, state.target);
  byId("parts-text").textContent = isShort() ? "" : layered()
    ? `Those like it: the mean of its neighbours, of dates where nine tenths of them are; of a text, how many of them have the row's. The slope is that of the row's linear model per unit of the feature: within its neighbours, whose models it averages. The prediction itself may change otherwise, as its neighbours change${sure.slopes_std ? `. Slopes are ± ${sure.deviations} standard deviations (${percent(sure.coverage)}); where that contains zero, the slope is grey` : ""}. What a feature adds is exact: for each neighbour, the neighbour's own slope times how far the row is from it, in the mean of the neighbours by weight.${units ? ` What is added to a log multiplies ${units[state.target].name}: "times" says by what, and "per unit" what a unit more of the feature does.` : ""}`
    : `${space.has_units ? "Value" : "The value's rank (from −1.73, the lowest, to 1.73, the highest)"} times coefficient is the contribution. Contributions are from zero, where rows may never be: they do not say whether a value is high or low.`;
  const [shown, rest] = largest(parts);
  const line = (head, cells, kind = "") => make("tr", { class: kind }, make("th", { scope: "row" }, head), ...cells.map((v) => (v instanceof Node ? v : make("td", {}, typeof v === "string" ? bdi(v) : number(v)))));
  const slope = (j) => {
    const error = slopeError(j);
    if (slopes[j] === null || error === null) return slopes[j] ?? "";
    return make("td", isUnsure(j) ? { class: "unsure", title: "its interval contains zero" } : {}, number(slopes[j]), make("span", { class: "pm" }, ` ± ${number(error, 2)}`), unitOf(j));
  };
  const heads = isShort() ? ["Feature", "this row", "adds"] : layered() ? ["Feature", "this row", "those like it", "slope", ...(units ? ["per unit"] : []), "adds"] : ["Feature", "value", "coefficient", "contribution"];
  const blank = heads.slice(2).map(() => "");
  if (units) heads.push("times");
  const times = (part) => (units ? [part === null ? "" : factor(part)] : []);
  const perUnit = (j) => (units ? [typeof slopes[j] === "number" ? factor(slopes[j]) : ""] : []);
  const ofFeature = (j) => [cell(rows.values[state.row][j]), ...(isShort() ? [] : layered() ? [rows.neighbor_texts[state.row][j], slope(j), ...perUnit(j)] : [hasSlope[j] ? coef()[j] : ""]), parts[j], ...times(parts[j])];
  byId("parts-table").replaceChildren(
    make("thead", {}, make("tr", {}, ...heads.map((text) => make("th", { scope: "col" }, text)))),
    make("tbody", {}, line(layered() ? "Rows in general" : "(intercept)", [...blank, start, ...times(null)]),
      ...(level === null ? [] : [line("Those like this row", [...blank, level, ...times(level)])]),
      ...shown.map((j) => line(bdi(features[j]), ofFeature(j))),
      ...(rest.length ? [line(`${rest.length} other features`, [...blank, sum(rest.map((j) => parts[j])), ...times(sum(rest.map((j) => parts[j])))])] : []),
      line("Prediction", [...blank, rows.prediction[state.row][state.target], ...times(null)], "ours")));
};
const showNeighbors = () => {
  const near = rows.neighbors[state.row], weights = rows.neighbor_weights[state.row];
  // A row that has its neighbours' values differs in none; the features that matter in general then.
  const parts = fromReference().parts, main = order(parts.some((part) => part !== 0) ? parts : importance()).slice(0, 5);
  const size = rows.n_neighbors[state.row], left = size - near.length;
  const pullers = sure.pullers?.[state.row] ?? [], pulls = sure.pulls?.[state.row][state.target];
  byId("neighbor-text").textContent = `The model of this row averages those of ${members ? "the" : "its"} ${size} ${members ? "" : "nearest "}sample${size > 1 ? "s" : ""}${members ? " that are near it in any of the members" : ""}, with these weights.`
    + (weights[0] > 0.999999 ? " One has exactly the row's values and takes all the weight." : "")
    + (left > 0 && weights[0] <= 0.999999 ? ` The ${left} ${members ? "others" : "further away"}, with ${percent(Math.max(0, 1 - sum(weights)))} of the weight, are not all listed.` : "")
    + (pulls ? ` The pull of a sample is how far its own target takes this prediction from the mean of all targets${units ? " on the log scale" : ""}, ${number(rows.baseline[state.target])}. A sample without a weight pulls because an anchor model was fitted on it.` : "")
    + (features.length > main.length ? ` Values are those of the ${main.length} features that matter most here.` : "");
  const truth = classes ? ["class"] : targets.length > 1 || units ? [targets[state.target]] : ["target"];
  const pull = (k) => (pulls ? [make("td", {}, typeof k === "number" ? signed(pulls[k]) : k)] : []);
  const of = (i, k, weight) => {
    const sample = samples[i];
    return make("tr", {}, make("th", { scope: "row" }, bdi(sample.name)), make("td", {}, weight), ...pull(k), make("td", {}, regimeNumber(sample.regime)),
      make("td", {}, bdi(number(classes ? sample.true[0] : sample.true[state.target]))), ...main.map((j) => make("td", {}, bdi(cell(sample.values[j])))));
  };
  const blanks = [make("td"), make("td"), ...main.map(() => make("td"))];
  const predicted = rows.prediction[state.row][state.target];
  byId("neighbor-table").replaceChildren(
    make("thead", {}, make("tr", {}, ...["Sample", "weight", ...(pulls ? ["pull"] : []), "regime"].map((t) => make("th", { scope: "col" }, t)), make("th", { scope: "col" }, bdi(shorten(truth[0], 30))), ...main.map((j) => make("th", { scope: "col", title: features[j] }, bdi(shorten(features[j], 22)))))),
    make("tbody", {}, ...near.map((i, k) => of(i, k, percent(weights[k]))), ...pullers.map((i, k) => of(i, near.length + k, "–")),
      ...(pulls ? [make("tr", {}, make("th", { scope: "row" }, "All others"), make("td"), ...pull(signed(predicted - rows.baseline[state.target] - sum(pulls))), ...blanks)] : []),
      make("tr", { class: "ours" }, make("th", { scope: "row" }, "This row"), make("td"), ...pull(signed(predicted - rows.baseline[state.target])), make("td"), make("td", {}, classes ? "" : `${number(predicted)} predicted`),
        ...main.map((j) => make("td", {}, bdi(cell(rows.values[state.row][j])))))));
  byId("no-pulls").hidden = !sure.no_pulls;
};
const nearValues = (j) => [inUnits(j, positions(state.row)[j]), ...rows.neighbors[state.row].map((i) => samples[i].values[j])];
const nearRange = (j) => {
  const values = nearValues(j).filter((value) => value !== null);
  return [Math.min(...values), Math.max(...values)];
};
// Whether a control was moved to where neither the row nor its neighbours are.
const isFar = (j) => {
  if (state.whatIf[j] === positions(state.row)[j]) return false;
  if (choices[j]) return !nearValues(j).map(cell).includes(choices[j][state.whatIf[j]]);
  const [low, high] = nearRange(j), x = inUnits(j, state.whatIf[j]);
  return x < low || x > high;
};
const label = (j, ...more) => make("label", { for: `slider-${j}`, title: features[j] }, bdi(data.labels[j]), ...more);
const slider = (j) => {
  const here = state.whatIf[j], low = Math.min(space.low[j], here), high = Math.max(space.high[j], here);
  const step = (high - low) / 100 || 1;
  // Steps start at `min`: from it the row's own value has to be a whole number of them.
  const input = make("input", { type: "range", id: `slider-${j}`, "data-feature": j, min: here - Math.ceil((here - low) / step - 1e-9) * step, max: high, step, value: here });
  const value = () => cell(inUnits(j, state.whatIf[j])) + (rows.values[state.row][j] === null && state.whatIf[j] === here ? `, counts as ${number(atPosition(j, here))}` : "");
  const output = make("output", { for: `slider-${j}` }, value());
  input.setAttribute("aria-valuetext", output.textContent);
  input.addEventListener("input", () => {
    const steps = Math.round((Number(input.value) - here) / step);
    state.whatIf[j] = here + steps * step;
    output.textContent = value();
    input.setAttribute("aria-valuetext", output.textContent);
    showWhatIf();
  });
  const percentOfRange = (x) => 100 * Math.min(1, Math.max(0, (fromUnits(j, x) - low) / (high - low || 1)));
  const [from, to] = nearRange(j).map(percentOfRange);
  const near = make("span", { class: "near", "aria-hidden": "true" }, Object.assign(make("i"), { style: `left:${from}%;width:${to - from}%` }));
  return make("div", { class: "slider" }, label(j, output), input, near);
};
const chooser = (j) => {
  const here = state.whatIf[j], last = choices[j].length - 1;
  // A text that fitting did not see can be kept, but not chosen.
  const texts = here === last ? [...choices[j].slice(0, last), cell(rows.values[state.row][j])] : choices[j].slice(0, last);
  const select = make("select", { id: `slider-${j}`, "data-feature": j, dir: "auto" }, ...texts.map((text, k) => make("option", { value: k }, shorten(text, 60))));
  select.value = String(here);
  select.addEventListener("change", () => { state.whatIf[j] = Number(select.value); showWhatIf(); });
  return make("div", { class: "slider" }, label(j), select);
};
const showSliders = () => {
  state.whatIf = [...positions(state.row)];
  // A date has no control: its trend alone cannot move without its seasons.
  const canMove = (j) => choices[j] || hasSlope[j] && typeof rows.values[state.row][j] !== "string";
  const ordered = order(features.map((_, j) => usual(coef(), j))).filter(canMove), shown = state.all.sliders ? ordered : ordered.slice(0, FEW);
  byId("sliders").replaceChildren(...shown.map((j) => (choices[j] ? chooser(j) : slider(j))));
  showWhatIf();
};
const showWhatIf = () => {
  const scores = targets.map((_, t) => scoreAt(state.whatIf, t));
  const score = scores[state.target], change = score - scoreAt(positions(state.row), state.target);
  byId("whatif-prediction").textContent = number(score, 6) + (classes ? `, probability ${percent(probabilities(scores)[state.target])}` : units ? `, which is a mean ${shorten(units[state.target].name, 40)} of ${number(fromLog(score, units[state.target].smear))}` : "");
  byId("whatif-prediction").dataset.value = score;
  const moved = Math.abs(change) > 1e-12 * (1 + Math.abs(score));
  byId("whatif-change").textContent = moved ? `${signed(change)}${units ? ` (${factor(change)})` : ""} against the row's own` : "the row's own prediction";
  const far = features.filter((_, j) => isFar(j));
  byId("whatif-far").textContent = far.length ? `Beyond the row and its neighbours in ${far.slice(0, 3).map((name) => `\u2068${shorten(name, 30)}\u2069`).join(", ")}${far.length > 3 ? ` and ${far.length - 3} more` : ""}: take this as the trend here, not as a prediction there.` : "";
};
