// The model of the row that is shown, and what it adds and predicts.
const coef = () => rows.coef[state.row][state.target];
const contributions = () => rows.contributions[state.row][state.target];
// The positions of a row: what a coefficient multiplies, or for a column of text the number of its
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
// The slopes of a row in units; a column of text has none, nor has a time of day.
const hasSlope = data.has_slope;
const slopesOf = (row, target) => (rows.slopes ?? rows.coef)[row][target].map((value, j) => (hasSlope[j] ? value : null));
// What its slopes are per, where that is a unit of time that its cells do not name.
const unitOf = (j) => make("span", { class: "hint" }, data.per[j] === "per unit" ? "" : ` ${data.per[j]}`);
// How far the row's target may be from its prediction, and its slopes from the true ones.
const intervalOf = () => sure.interval?.[state.row][state.target] ?? null;
const slopeError = (j) => { const std = sure.slopes_std?.[state.row][state.target][j] ?? null; return std === null ? null : sure.deviations * std; };
const isUnsure = (j) => { if (isShort()) return false; const slope = slopesOf(state.row, state.target)[j], error = slopeError(j); return slope !== null && error !== null && Math.abs(slope) <= error; };
// Whether the steps go from all rows over the row's neighbours to the row, or along its linear model.
const layered = () => isShort() || byId("reference").value === "baseline";
const fromReference = () => (layered()
  ? { start: rows.baseline[state.target], level: rows.level[state.row][state.target], parts: rows.differences[state.row][state.target] }
  : { start: rows.intercept[state.row][state.target], level: null, parts: contributions() });
// From the row's own prediction: a column may have features that its position does not tell.
const scoreAt = (position, target) => {
  const coefs = rows.coef[state.row][target], here = positions(state.row);
  return rows.prediction[state.row][target] + sum(position.map((x, j) => (x === here[j] ? 0 : added(coefs, j, x) - added(coefs, j, here[j]))));
};
// As predict_proba does it: the nearest point of the probability simplex after one more sample of
// each class, to a power, times the exponential of the score.
const probabilities = (scores) => {
  const { n, slope, power } = data.model.probability_map;
  const top = Math.max(...scores);
  const centered = scores.map((score) => Math.max(score - top, -1));
  const ordered = [...centered].sort((a, b) => b - a);
  let total = 0, threshold = 0;
  ordered.forEach((score, i) => { total += score; const t = (total - 1) / (i + 1); if (score > t) threshold = t; });
  const parts = centered.map((score) => Math.exp(slope * score) * (Math.min(n, 1e6) * Math.max(score - threshold, 0) + 1) ** power);
  return parts.map((part) => part / sum(parts));
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
