"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { rows, features, choices, targets, space, samples } = data;
  const members = data.model.n_members; // of an ensemble
  const classes = data.kind === "classification";
  const FEW = 10;
  const COLORED = 7; // the largest regimes have a colour each, the others share one
  const PRINTED = 660; // the width of a chart on paper, in pixels
  let printing = false;
  const state = { row: 0, target: 0, feature: 0, all: {}, whatIf: [] };
  const byId = (id) => document.getElementById(id);
  const regimePlace = new Map(data.regimes.map((regime, place) => [regime.label, place]));

  // Text
  const number = (value, digits = 4) => {
    if (value === null || value === undefined) return "–";
    if (typeof value === "string") return value;
    const size = Math.abs(value);
    const text = size !== 0 && (size >= 1e7 || size < 1e-4)
      ? value.toExponential(digits - 1)
      : value.toLocaleString("en", { maximumSignificantDigits: Math.max(digits, Math.ceil(Math.log10(size + 1))) });
    return text === "-0" ? "0" : text.replace("-", "−");
  };
  // What a row holds: a number, a text, or nothing.
  const cell = (value) => (value === null ? "missing" : typeof value === "string" ? value : number(value));
  const wide = () => printing || window.innerWidth > 640;
  const signed = (value) => (value > 0 ? "+" : "") + number(value);
  const shorten = (text, length) => text.length <= length ? text : `${text.slice(0, Math.ceil(length * 2 / 3))}…${text.slice(-Math.floor(length / 3) + 1)}`;
  // Plotly reads tags and entities in text; this makes it draw every character as it is. The
  // isolates keep a right-to-left name from turning its surroundings round.
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
  const regimeColor = (label) => color(`r${Math.min(regimePlace.get(label) ?? COLORED, COLORED)}`);
  const draw = (id, traces, layout, height) => {
    const axis = { gridcolor: color("line"), zerolinecolor: color("soft"), linecolor: color("line"), automargin: true, exponentformat: "power" };
    byId(id).style.height = `${height}px`;
    return Plotly.react(byId(id), traces, {
      height, ...(printing ? { width: PRINTED } : {}), paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: color("ink"), family: "system-ui, 'DejaVu Sans', sans-serif", size: 13 },
      margin: { l: 10, r: 16, t: 10, b: 40 }, showlegend: false,
      hoverlabel: { bgcolor: color("panel"), font: { color: color("ink") } }, ...layout,
      xaxis: { ...axis, ...layout.xaxis }, yaxis: { ...axis, ...layout.yaxis },
    }, { displayModeBar: false, responsive: true, displaylogo: false });
  };
  const axisTitle = (text) => ({ title: { text: drawn(text, wide() ? 60 : 28), font: { size: 13 } } });

  // The model of the row that is shown
  const coef = () => rows.coef[state.row][state.target];
  const contributions = () => rows.contributions[state.row][state.target];
  // Where a row stands: what a coefficient multiplies, or for a column of text the number of its
  // choice, of which the coefficient is a list: what each choice adds.
  const positions = (row) => (rows.positions ?? rows.values)[row];
  const added = (coefs, j, position) => (choices[j] ? coefs[j][position] : coefs[j] * position);
  const average = (coefs, j) => (choices[j] ? sum(coefs[j].map((adds, k) => adds * space.center[j][k])) : coefs[j] * space.center[j]);
  // How far a column usually moves the prediction: with a sign where it has a direction.
  const usual = (coefs, j) => {
    if (!choices[j]) return coefs[j] * space.spread[j];
    const middle = average(coefs, j);
    return Math.sqrt(sum(coefs[j].map((adds, k) => space.center[j][k] * (adds - middle) ** 2)));
  };
  const fromReference = () => {
    if (byId("reference").value === "zero") return { start: rows.intercept[state.row][state.target], parts: contributions() };
    const atCenter = features.map((_, j) => average(coef(), j));
    return {
      start: rows.intercept[state.row][state.target] + sum(atCenter),
      parts: contributions().map((value, j) => value - atCenter[j]),
    };
  };
  const scoreAt = (position, target) => rows.intercept[state.row][target] + sum(position.map((x, j) => added(rows.coef[state.row][target], j, x)));
  // The nearest point of the probability simplex, as predict_proba does it.
  const probabilities = (scores) => {
    const ordered = [...scores].sort((a, b) => b - a);
    let total = 0, threshold = 0;
    ordered.forEach((score, i) => { total += score; const t = (total - 1) / (i + 1); if (score > t) threshold = t; });
    return scores.map((score) => Math.max(score - threshold, 0));
  };
  const interpolated = (x, from, to) => {
    let i = from.findIndex((knot) => knot >= x);
    if (i <= 0) i = i < 0 ? from.length - 1 : 1;
    const width = from[i] - from[i - 1];
    return width ? to[i - 1] + (to[i] - to[i - 1]) * (x - from[i - 1]) / width : to[i];
  };
  // What a coefficient multiplies is the value itself, or its rank where the model works on ranks.
  const atPosition = (j, position) => (space.has_units ? position : interpolated(position, space.knots.scaled[j], space.knots.units[j]));
  const inUnits = (j, position) => {
    if (position === positions(state.row)[j]) return rows.values[state.row][j];
    return choices[j] ? choices[j][position] : atPosition(j, position);
  };
  const fromUnits = (j, value) => (space.has_units ? value : interpolated(value, space.knots.units[j], space.knots.scaled[j]));
  const percent = (share) => `${number(100 * share, 3)}%`;

  // 1. How good
  const showFit = () => {
    if (!byId("chart-fit")) return;
    const { true: truth, predicted } = data.scores;
    if (classes) {
      const matrix = targets.map(() => targets.map(() => 0));
      const place = new Map(targets.map((name, i) => [name, i]));
      const text = (label) => typeof label === "number" ? [...place.keys()].find((name) => Number(name) === label) : label;
      truth.forEach((label, i) => { matrix[place.get(text(label[0]))][place.get(text(predicted[i][0]))] += 1; });
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

  // 3. What drives the target
  let effects = [];
  const findEffects = () => {
    effects = features.map((_, j) => {
      const sorted = rows.coef.map((c) => usual(c[state.target], j)).sort((a, b) => a - b);
      return { size: sum(sorted.map(Math.abs)) / sorted.length, at: [0.05, 0.25, 0.5, 0.75, 0.95].map((s) => quantile(sorted, s)) };
    });
  };
  const showDrivers = () => {
    findEffects();
    const places = order(effects.map((effect) => effect.size));
    const shown = state.all.drivers ? places : places.slice(0, FEW);
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
    byId("driver-table").replaceChildren(make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...places.map((j) =>
      make("tr", {}, make("th", { scope: "row" }, bdi(features[j])), ...[effects[j].size, ...effects[j].at].map((v) => make("td", {}, number(v)))))));
  };
  // A column of text: its values beside each other, by the median of what they add.
  const placesOfTexts = (j, height) => {
    const texts = rows.values.map((line) => cell(line[j]));
    const middle = new Map([...new Set(texts)].map((text) => [text, quantile(height.filter((_, i) => texts[i] === text).sort((a, b) => a - b), 0.5)]));
    const names = [...middle.keys()].sort((a, b) => middle.get(a) - middle.get(b));
    // Spread a little, or points of equal height would hide one another.
    return { names, x: texts.map((text, i) => names.indexOf(text) + 0.5 * ((i * 0.618034) % 1 - 0.5)) };
  };
  const showEffect = () => {
    const j = state.feature;
    const height = rows.coef.map((c, i) => (choices[j] ? rows.contributions[i][state.target][j] - average(c[state.target], j) : c[state.target][j]));
    const { names, x } = choices[j] ? placesOfTexts(j, height) : { names: null, x: rows.values.map((line) => line[j]) };
    const said = rows.values.map((line) => drawn(cell(line[j])));
    const place = rows.regime.map((label) => Math.min(regimePlace.get(label) ?? COLORED, COLORED));
    const groups = [...new Set(place)].sort((a, b) => a - b);
    const traces = groups.map((group) => {
      const members = place.flatMap((p, i) => (p === group ? [i] : []));
      return { type: "scatter", mode: "markers", name: group === COLORED ? "other regimes" : `regime ${data.regimes[group].label}`,
        x: members.map((i) => x[i]), y: members.map((i) => height[i]), customdata: members,
        text: members.map((i) => `${drawn(rows.names[i])}<br>value ${said[i]}`), marker: { color: color(`r${group}`), size: 7, opacity: 0.75 },
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

  // 4. Why this row
  const showPicker = () => {
    const wanted = byId("search").value.trim().toLowerCase();
    const found = rows.names.flatMap((name, i) => (name.toLowerCase().includes(wanted) ? [i] : []));
    byId("row").replaceChildren(...found.map((i) => make("option", { value: i }, shorten(rows.names[i], 80))));
    byId("matches").textContent = wanted ? (found.length === 1 ? "1 match" : `${found.length} matches`) : `${found.length} rows`;
    const exact = found.find((i) => rows.names[i].toLowerCase() === wanted || rows.names[i].toLowerCase() === `row ${wanted}`);
    if (wanted && found.length && (exact !== undefined || !found.includes(state.row))) selectRow(exact ?? found[0]);
    else byId("row").value = String(state.row);
  };
  const showHeadline = () => {
    byId("row-name").textContent = rows.names[state.row];
    const score = rows.prediction[state.row][state.target];
    byId("prediction-label").textContent = `Predicted ${classes ? "score of " : ""}${shorten(targets[state.target], 40)}`;
    byId("row-prediction").textContent = number(score, 5) + (classes ? `, probability ${percent(rows.probability[state.row][state.target])}` : "");
    const truth = rows.true && rows.true[state.row];
    byId("row-true-line").hidden = !truth;
    if (truth) byId("row-true").textContent = number(classes ? truth[0] : truth[state.target], 5);
    byId("row-regime").textContent = rows.regime[state.row];
    if (classes) showClasses(rows.probability[state.row]);
  };
  const showClasses = (shares) => byId("classes").replaceChildren(...targets.map((name, t) => make("div", {}, bdi(shorten(name, 30)),
    make("span", { class: "track" }, Object.assign(make("span", { class: "fill" }), { style: `display:block;width:${100 * shares[t]}%` })), make("span", {}, percent(shares[t])))));
  const showContributions = () => {
    const counts = features.some((_, j) => usual(coef(), j) !== 0);
    byId("row-constant").hidden = counts;
    byId("chart-row").hidden = !counts;
    const { start, parts } = fromReference();
    const places = order(parts), named = places.length <= FEW + 1 || state.all.parts ? places : places.slice(0, FEW);
    const rest = places.slice(named.length);
    const end = rows.prediction[state.row][state.target];
    // A narrow window has no room for the values, which the table below repeats.
    const value = (j) => (wide() ? `${rows.values[state.row][j] === null ? "" : " ="} ${drawn(cell(rows.values[state.row][j]), 24)}` : "");
    const bars = named.map((j) => ({ name: drawn(features[j], wide() ? 32 : 16) + value(j), size: parts[j] }));
    if (rest.length) bars.push({ name: `${rest.length} other features`, size: sum(rest.map((j) => parts[j])) });
    let at = start;
    bars.forEach((bar) => { bar.base = at; at += bar.size; });
    const all = [{ name: byId("reference").value === "zero" ? "intercept" : "at the average sample", base: start, size: 0, total: start }, ...bars, { name: "<b>prediction</b>", base: end, size: 0, total: end }];
    const y = all.map((_, i) => all.length - i);
    const ends = all.flatMap((bar) => [bar.base, bar.base + bar.size]);
    const low = Math.min(...ends), high = Math.max(...ends), room = (wide() ? 0.14 : 1.1) * (high - low || Math.abs(high) || 1);
    draw("chart-row", [
      { type: "bar", orientation: "h", y: y.slice(1, -1), base: bars.map((b) => b.base), x: bars.map((b) => b.size), width: 0.62,
        marker: { color: bars.map((b) => color(b.size >= 0 ? "up" : "down")) }, text: bars.map((b) => signed(b.size)), textposition: "outside", cliponaxis: false,
        hovertemplate: "%{text}<extra></extra>" },
      { type: "scatter", mode: "lines", hoverinfo: "skip", line: { color: color("soft"), width: 1 },
        x: all.slice(0, -1).flatMap((b) => [b.base + b.size, b.base + b.size, null]), y: y.slice(0, -1).flatMap((v) => [v, v - 1, null]) },
      { type: "scatter", mode: "markers+text", x: [start, end], y: [y[0], 1], marker: { symbol: "diamond", size: 12, color: color("total") },
        text: [start, end].map((v) => `  ${number(v, 5)}  `), textposition: [start, end].map((v) => (v - low > high - v ? "middle left" : "middle right")), hoverinfo: "skip", cliponaxis: false },
    ], { xaxis: { range: [low - room, high + room], zeroline: low <= 0 && high >= 0, ...axisTitle(classes ? `score of ${targets[state.target]}` : targets[state.target]) },
      yaxis: { tickvals: y, ticktext: all.map((b) => b.name), showgrid: false, zeroline: false, range: [0.4, all.length + 0.6] } }, 70 + 28 * all.length);
  };
  const showParts = () => {
    const anchor = rows.anchor_contributions[state.row][state.target], whole = contributions();
    const constant = rows.anchor_intercept[state.row][state.target], intercept = rows.intercept[state.row][state.target];
    const byAnchor = constant + sum(anchor), total = rows.prediction[state.row][state.target];
    byId("parts-text").textContent = `The anchor models of its neighbours alone would predict ${number(byAnchor, 5)}; the neighbours' own deviations from them correct this by ${signed(total - byAnchor)}. The table starts from zero: ${space.has_units ? "value" : "the value's rank"} times coefficient is the contribution.`;
    const { parts } = fromReference();
    const places = order(parts), shown = state.all.parts || places.length <= FEW + 1 ? places : places.slice(0, FEW), rest = places.slice(shown.length);
    const line = (head, cells, kind = "") => make("tr", { class: kind }, make("th", { scope: "row" }, head), ...cells.map((v) => make("td", {}, typeof v === "string" ? bdi(v) : number(v))));
    const of = (list) => sum(rest.map((j) => list[j]));
    byId("parts-table").replaceChildren(
      make("thead", {}, make("tr", {}, ...["Feature", "value", "coefficient", "contribution", "from anchors", "correction"].map((text) => make("th", { scope: "col" }, text)))),
      make("tbody", {}, line("(intercept)", ["", "", intercept, constant, intercept - constant]),
        ...shown.map((j) => line(bdi(features[j]), [cell(rows.values[state.row][j]), choices[j] ? "" : coef()[j], whole[j], anchor[j], whole[j] - anchor[j]])),
        ...(rest.length ? [line(`${rest.length} other features`, ["", "", of(whole), of(anchor), of(whole) - of(anchor)])] : []),
        line("Prediction", ["", "", total, byAnchor, total - byAnchor], "ours")));
  };
  const showNeighbors = () => {
    const near = rows.neighbors[state.row], weights = rows.neighbor_weights[state.row];
    const places = order(fromReference().parts).slice(0, 5);
    const size = rows.n_neighbors[state.row], left = size - near.length;
    byId("neighbor-text").textContent = `The model of this row averages those of ${members ? "the" : "its"} ${size} ${members ? "" : "nearest "}sample${size > 1 ? "s" : ""}${members ? " that are near it in any of the members" : ""}, with these weights.`
      + (weights[0] > 0.999999 ? " One lies exactly where the row does and takes all the weight." : "")
      + (left > 0 && weights[0] <= 0.999999 ? ` The ${left} ${members ? "others" : "further away"}, with ${percent(Math.max(0, 1 - sum(weights)))} of the weight, are not listed.` : "")
      + (features.length > places.length ? ` Values are those of the ${places.length} features that matter most here.` : "");
    const truth = classes ? ["class"] : targets.length > 1 ? [targets[state.target]] : ["target"];
    byId("neighbor-table").replaceChildren(
      make("thead", {}, make("tr", {}, ...["Sample", "weight", "regime"].map((t) => make("th", { scope: "col" }, t)), make("th", { scope: "col" }, bdi(shorten(truth[0], 30))), ...places.map((j) => make("th", { scope: "col", title: features[j] }, bdi(shorten(features[j], 22)))))),
      make("tbody", {}, ...near.map((i, k) => {
        const sample = samples[i];
        return make("tr", {}, make("th", { scope: "row" }, bdi(sample.name)), make("td", {}, percent(weights[k])), make("td", {}, String(sample.regime)),
          make("td", {}, bdi(number(classes ? sample.true[0] : sample.true[state.target]))), ...places.map((j) => make("td", {}, bdi(cell(sample.values[j])))));
      }), make("tr", { class: "ours" }, make("th", { scope: "row" }, "This row"), make("td"), make("td"), make("td", {}, classes ? "" : `${number(rows.prediction[state.row][state.target])} predicted`),
        ...places.map((j) => make("td", {}, bdi(cell(rows.values[state.row][j])))))));
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
  const label = (j, ...more) => make("label", { for: `slider-${j}`, title: features[j] }, bdi(features[j]), ...more);
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
    const place = (x) => 100 * Math.min(1, Math.max(0, (fromUnits(j, x) - low) / (high - low || 1)));
    const [from, to] = nearRange(j).map(place);
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
    const places = order(features.map((_, j) => usual(coef(), j))), shown = state.all.sliders ? places : places.slice(0, FEW);
    byId("sliders").replaceChildren(...shown.map((j) => (choices[j] ? chooser(j) : slider(j))));
    showWhatIf();
  };
  const showWhatIf = () => {
    const scores = targets.map((_, t) => scoreAt(state.whatIf, t));
    const score = scores[state.target], change = score - scoreAt(positions(state.row), state.target);
    byId("whatif-prediction").textContent = number(score, 6) + (classes ? `, probability ${percent(probabilities(scores)[state.target])}` : "");
    byId("whatif-prediction").dataset.value = score;
    const moved = Math.abs(change) > 1e-12 * (1 + Math.abs(score));
    byId("whatif-change").textContent = moved ? `${signed(change)} against the row's own` : "the row's own prediction";
    const far = features.filter((_, j) => isFar(j));
    byId("whatif-far").textContent = far.length ? `Beyond the row and its neighbours in ${far.slice(0, 3).map((name) => `\u2068${shorten(name, 30)}\u2069`).join(", ")}${far.length > 3 ? ` and ${far.length - 3} more` : ""}: take this as the trend here, not as a prediction there.` : "";
  };

  const showRow = () => { showHeadline(); showContributions(); showParts(); showNeighbors(); showSliders(); };
  const selectRow = (i) => {
    state.row = i;
    if (![...byId("row").options].some((option) => Number(option.value) === i)) { byId("search").value = ""; showPicker(); }
    byId("row").value = String(i);
    showRow();
    showEffect();
  };
  const step = (by) => {
    const options = [...byId("row").options].map((option) => Number(option.value));
    const at = options.indexOf(state.row) + by;
    if (at >= 0 && at < options.length) selectRow(options[at]);
  };
  const showTarget = () => {
    document.querySelectorAll(".by-target").forEach((e) => e.classList.toggle("off", Number(e.dataset.target) !== state.target));
    document.querySelectorAll(".target-name").forEach((e) => { e.textContent = targets[state.target]; });
  };
  const showAll = () => { showTarget(); showFit(); showDrivers(); showEffect(); showRow(); showDots(); };
  // What is drawn, without what a reader may be in the middle of changing.
  const redraw = () => { showFit(); showDrivers(); showEffect(); showContributions(); showDots(); };
  const print = (on) => {
    printing = on;
    document.documentElement.toggleAttribute("data-printing", on);
    redraw();
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
  byId("feature").addEventListener("change", (event) => { state.feature = Number(event.target.value); showEffect(); });
  byId("reference").addEventListener("change", () => { showContributions(); showParts(); showNeighbors(); });
  byId("search").addEventListener("input", showPicker);
  byId("row").addEventListener("change", (event) => selectRow(Number(event.target.value)));
  byId("previous").addEventListener("click", () => step(-1));
  byId("next").addEventListener("click", () => step(1));
  byId("reset").addEventListener("click", showSliders);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  matchMedia("(max-width: 640px)").addEventListener("change", redraw);
  window.addEventListener("beforeprint", () => print(true));
  window.addEventListener("afterprint", () => print(false));

  findEffects();
  state.feature = order(effects.map((effect) => effect.size))[0];
  byId("feature").value = String(state.feature);
  showPicker();
  showAll();
  byId("chart-effect").on("plotly_click", (event) => {
    const i = event.points[0]?.customdata;
    if (i !== undefined) selectRow(i);
  });
  document.documentElement.dataset.ready = "yes";
})();
