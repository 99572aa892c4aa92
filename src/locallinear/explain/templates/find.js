// Rows are found by name, by any value, or by conditions such as "hour > 7, weekday = Sunday".
const LISTED = 200; // options of the list: more would be slow, and nobody reads them
let matches = [];
let problem = ""; // with a condition that cannot be read
const testOf = (text) => {
  const asked = text.split(/,(?=[^,]*[<>=])/).map(conditionOf);
  if (asked.every((one) => one.holds)) return (i) => asked.every((one) => one.holds(i));
  problem = asked.find((one) => one.problem)?.problem ?? "";
  // A text or a number that any cell may have.
  const wanted = text.toLowerCase(), day = dateIn(text) ?? wanted, numbers = numbersIn(withoutUnit(text, "")), shown = wanted.replace("-", "−");
  const holds = all.columns.map((column) => column.where((value) => (value === null ? wanted === "missing"
    : typeof value === "string" ? value.toLowerCase().includes(wanted) || value.startsWith(day)
    : numbers.includes(value) || number(value) === shown)));
  return (i) => all.name(i).toLowerCase().includes(wanted) || holds.some((of) => of(i));
};
const listRows = () => {
  const at = Math.max(0, matches.indexOf(state.at)), first = Math.max(0, Math.min(at - LISTED / 2, matches.length - LISTED));
  const listed = matches.slice(first, first + LISTED);
  byId("row").replaceChildren(...listed.map((i) => make("option", { value: i }, shorten(all.name(i), 80))));
  byId("row").value = String(state.at);
  const wanted = byId("search").value.trim(), count = number(matches.length);
  byId("matches").textContent = (wanted ? `${count} match${matches.length === 1 ? "" : "es"}` : `${count} row${matches.length === 1 ? "" : "s"}`) + (listed.length < matches.length ? `, ${LISTED} of them listed` : "");
};
const showPicker = () => {
  problem = "";
  const wanted = byId("search").value.trim(), test = wanted ? testOf(wanted) : () => true;
  matches = [];
  for (let i = 0; i < all.n; i += 1) if (test(i)) matches.push(i);
  byId("search-problem").hidden = matches.length > 0;
  byId("search-problem").textContent = matches.length ? "" : `${problem || "No row matches."} The row below is still ${all.name(state.at)}.`;
  const name = (i) => all.name(i).toLowerCase();
  const exact = wanted ? matches.find((i) => name(i) === wanted.toLowerCase() || name(i) === `row ${wanted}`) : undefined;
  if (wanted && matches.length && (exact !== undefined || !matches.includes(state.at))) selectRow(exact ?? matches[0]);
  else listRows();
};

// The rows that were found, as a CSV file. A spreadsheet would run a text that starts as a formula.
const csvCell = (value) => {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
};
const csvText = () => {
  const t = state.target, target = `${classes ? "score of " : ""}${targets[t]}`, hasInterval = Boolean(sure.interval), hasTrue = Boolean(rows.true);
  const heads = ["row", ...features, `predicted ${target}`, ...(hasInterval ? ["lowest", "highest"] : []), ...(hasTrue ? ["true"] : []), "rows in general", "those like it", ...features.map((name) => `differs: ${name}`)];
  const lines = matches.map((i) => {
    const d = all.detail(i), predicted = all.prediction(i)[t], parts = d < 0 ? all.differences(i)[t] : rows.differences[d][t];
    const ends = hasInterval ? all.interval(i)[t] : [];
    return [all.name(i), ...all.columns.map((column) => column.at(i)), predicted, ...ends, ...(hasTrue ? [trueColumn().at(i)] : []), rows.baseline[t], predicted - rows.baseline[t] - sum(parts), ...parts];
  });
  return [heads, ...lines].map((line) => line.map(csvCell).join(",")).join("\n") + "\n";
};
const saveRows = () => {
  const link = make("a", { href: URL.createObjectURL(new Blob([csvText()], { type: "text/csv" })), download: "rows.csv" });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
};
