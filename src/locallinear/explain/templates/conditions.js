// Conditions on columns, such as "hour > 7, weekday = Sunday": how they are read, and what is said
// of one that cannot be read.

const MOST_COLUMNS = 30; // that a sentence names
// The numbers that a text may mean: the page writes 2457.52 and 12,345, a file may write 2.457,52.
const PLAIN = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i;
const GROUPED = /^[-+]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?$/;
const numbersIn = (text) => {
  const marks = text.replace(/−/g, "-").replace(/(\d)[\s'’](?=\d{3}(\D|$))/g, "$1");
  const exchanged = marks.replace(/[.,]/g, (mark) => (mark === "." ? "," : "."));
  const read = [marks, exchanged].filter((one) => PLAIN.test(one) || GROUPED.test(one)).map((one) => Number(one.replace(/,/g, "")));
  return [...new Set(read)];
};
const unitIn = (j) => (data.labels[j] === features[j] ? "" : data.labels[j].slice(features[j].length + 2, -1));
const withoutUnit = (text, unit) => {
  if (unit && text.toLowerCase().endsWith(unit.toLowerCase())) return text.slice(0, -unit.length).trim();
  return unit ? text : text.replace(/^\p{Sc}\s*/u, "").replace(/\s*(%|\p{Sc}|[A-Z]{3})$/u, "");
};
// A date as cells of the page have it, or its beginning: "2023-10" is a month. Else null.
const dateIn = (text) => {
  const turned = text.replace(/^(\d{1,2})\.(\d{1,2})\.(\d{4})/, "$3-$2-$1");
  const found = turned.match(/^(\d{4})(?:[-/](\d{1,2})(?:[-/](\d{1,2})(?:[T ]+(\d{1,2}):(\d\d)(?::\d\d)?)?)?)?$/);
  if (!found) return null;
  const [year, month, day, hour, minute] = found.slice(1).map((part) => part?.padStart(2, "0"));
  return [year, month, day].filter(Boolean).join("-") + (hour ? ` ${hour}:${minute}` : "");
};
const timeIn = (text) => text.match(/^(\d{1,2}:\d\d)(:\d\d)?$/)?.[1].padStart(5, "0") ?? null;

const predictedColumn = () => columnOf((i) => all.prediction(i)[state.target]);
const trueColumn = () => columnOf((i) => all.true(i)?.[classes ? 0 : state.target] ?? null);
// A column by name, what kind of cells it has, and whether its file has decimal commas.
const columnNamed = (name) => {
  const wanted = name.trim().toLowerCase(), j = features.findIndex((feature) => feature.toLowerCase() === wanted);
  const isDate = j >= 0 && data.kinds[j] === "date";
  if (j >= 0) return { column: all.columns[j], kind: isDate && !hasSlope[j] ? "time" : isDate ? "date" : choices[j] ? "text" : "number", unit: isDate ? "" : unitIn(j), comma: data.decimals[j] === "," };
  if (wanted !== "predicted" && !(wanted === "true" && rows.true)) return null;
  return wanted === "true"
    ? { column: trueColumn(), kind: classes && typeof trueColumn().at(0) === "string" ? "text" : "number", unit: "", comma: data.decimals.includes(",") }
    : { column: predictedColumn(), kind: "number", unit: "", comma: data.decimals.includes(",") };
};
const COMPARE = {
  "=": (a, b) => a === b,
  "<": (a, b) => a < b,
  ">": (a, b) => a > b,
  "<=": (a, b) => a <= b,
  ">=": (a, b) => a >= b,
};
// A test of a cell, or the problem in words.
const testOfCell = (found, sign, name, text) => {
  const compare = COMPARE[sign], wanted = text.toLowerCase();
  if (!text) return { problem: `Write a value after “${name} ${sign}”.` };
  if (sign === "=" && wanted === "missing") return { test: (value) => value === null || value === "missing" };
  if (found.kind === "text") {
    if (sign !== "=") return { problem: `${name} holds text. Only = can be asked of it.` };
    return { test: (value) => value !== null && String(value).toLowerCase() === wanted };
  }
  if (found.kind === "number") {
    const numbers = numbersIn(withoutUnit(text, found.unit));
    if (!numbers.length) return { problem: `“${text}” is no number. Write it as 2457.52${found.unit ? `, in ${found.unit}` : ""}.` };
    if (found.comma && numbers.length > 1) return { problem: `“${text}” may be ${numbers.join(" or ")}. Write ${numbers.map((one) => (Number.isInteger(one) ? String(one) : one.toFixed(4))).join(" or ")}.` };
    const rounded = text.replace("-", "−"); // as the page shows it
    return { test: (value) => typeof value === "number" && (compare(value, numbers[0]) || (sign === "=" && number(value) === rounded)) };
  }
  const when = found.kind === "time" ? timeIn(text) : dateIn(text);
  if (!when) return { problem: `“${text}” is no ${found.kind === "time" ? "time of day. Write it as 20:00." : "date. Write it as 2023-10-31, 2023-10 or 2023."}` };
  return { test: (value) => value !== null && compare(value.slice(0, when.length), when) };
};
// A condition: which rows meet it, or the problem with it; neither where it is none. A name may
// hold such signs itself, so each of them is tried.
const conditionOf = (text) => {
  const signs = [...text.matchAll(/<=|>=|[<>=]/g)];
  for (const sign of signs) {
    const name = text.slice(0, sign.index).trim(), found = columnNamed(name);
    if (!found) continue;
    const { test, problem } = testOfCell(found, sign[0], name, text.slice(sign.index + sign[0].length).trim());
    return test ? { holds: found.column.where(test) } : { problem };
  }
  const name = signs.length ? text.slice(0, signs[0].index).trim() : "";
  const named = [...features.slice(0, MOST_COLUMNS), "predicted", ...(rows.true ? ["true"] : [])].map((one) => `“${shorten(one, 40)}”`);
  const more = features.length > MOST_COLUMNS ? [`${features.length - MOST_COLUMNS} more`] : [];
  return name ? { problem: `There is no column “${name}”. Columns are ${[...named, ...more].join(", ")}.` } : {};
};
