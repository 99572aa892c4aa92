// All rows of the page. Some have all details, in `rows`; the others are unpacked when needed, and
// one of them at a time has a place behind the detailed ones.
const detailCount = rows.names.length;
const isShort = () => state.row === detailCount;
const packed = data.all_rows, bytes = packed && (await inflate(packed.packed));
const KINDS = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, f2: Uint16Array, f4: Float32Array, f8: Float64Array };
const half = (bits) => {
  const sign = bits >> 15 ? -1 : 1, exponent = (bits >> 10) & 31, fraction = bits & 1023;
  return sign * (exponent ? (1 + fraction / 1024) * 2 ** (exponent - 15) : fraction * 2 ** -24);
};
// Bytes are stored by place: all first bytes, all second bytes, ..
const unpack = ([kind, first, n]) => {
  if (kind === "text") return new TextDecoder().decode(bytes.subarray(first, first + n)).split("\n");
  const size = KINDS[kind].BYTES_PER_ELEMENT, plain = new Uint8Array(n * size);
  for (let b = 0; b < size; b += 1) for (let i = 0; i < n; i += 1) plain[i * size + b] = bytes[first + b * n + i];
  const array = new KINDS[kind](plain.buffer);
  return kind === "f2" ? Float32Array.from(array, half) : array;
};
const once = (make) => { let made; return () => (made ??= make()); };
const scaled = (part) => { const get = once(() => unpack(part.part)); return (i) => part.scale * get()[i]; };
// A column: the cell of a row, and a quick way to ask something of all cells.
const columnOf = (at) => ({ at, where: (test) => (i) => test(at(i)) });
const packedColumn = (column) => {
  if (column.numbers) {
    const get = once(() => unpack(column.numbers));
    return columnOf((i) => { const value = get()[i]; return Number.isNaN(value) ? null : Number(value.toPrecision(7)); });
  }
  const getValues = once(() => (column.texts ? [null, ...unpack(column.texts)] : [...unpack(column.values)].map((value) => (Number.isNaN(value) ? null : value))));
  const getCodes = once(() => unpack(column.codes));
  return { at: (i) => getValues()[getCodes()[i]], where: (test) => { const found = getValues().map(test), codes = getCodes(); return (i) => found[codes[i]]; } };
};
const ofTargets = (make) => targets.map((_, t) => make(t));
const unpackedRows = () => {
  const names = unpack(packed.names), places = new Map(packed.detailed.map((i, d) => [i, d]));
  const prediction = packed.prediction.map(unpack), probability = packed.probability?.map(unpack);
  const interval = packed.interval?.map((ends) => ends.map(scaled)), truth = packed.true?.map(packedColumn);
  const differences = packed.differences.map((parts) => parts.map(scaled)), unlike = packed.unlike && unpack(packed.unlike);
  return {
    n: packed.n, columns: packed.columns.map(packedColumn), name: (i) => names[i], detail: (i) => places.get(i) ?? -1, place: (d) => packed.detailed[d],
    prediction: (i) => prediction.map((of) => of[i]), probability: (i) => probability?.map((of) => of[i]), true: (i) => truth?.map((of) => of.at(i)),
    interval: (i) => interval?.map(([low, high], t) => [prediction[t][i] + low(i), prediction[t][i] + high(i)]),
    isUnlike: (i) => Boolean(unlike?.[i]), differences: (i) => differences.map((parts) => parts.map((of) => of(i))),
  };
};
const detailedRows = () => ({
  n: detailCount, columns: features.map((_, j) => columnOf((i) => rows.values[i][j])), name: (i) => rows.names[i], detail: (i) => i, place: (d) => d,
  prediction: (i) => rows.prediction[i], true: (i) => rows.true?.[i], interval: (i) => sure.interval?.[i], differences: (i) => rows.differences[i],
});
const all = packed ? unpackedRows() : detailedRows();
let shortIsUnlike = false;
// The place behind the detailed rows, filled with what is known of another one.
const showShort = (i) => {
  const at = detailCount;
  rows.names[at] = all.name(i);
  rows.values[at] = all.columns.map((column) => column.at(i));
  rows.prediction[at] = all.prediction(i);
  rows.differences[at] = all.differences(i);
  // The rest of the prediction, so that what is shown adds up.
  rows.level[at] = ofTargets((t) => rows.prediction[at][t] - rows.baseline[t] - sum(rows.differences[at][t]));
  if (rows.true) rows.true[at] = all.true(i);
  if (rows.probability) rows.probability[at] = all.probability(i);
  if (sure.interval) sure.interval[at] = all.interval(i);
  shortIsUnlike = all.isUnlike(i);
};
