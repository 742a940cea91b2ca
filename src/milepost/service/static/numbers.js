/** Numbers as people read them. */

const formats = new Map();

/** A number with so many decimals, thousands apart. */
export function fixed(value, decimals) {
  const places = Math.min(Math.max(decimals, 0), 12);
  if (!formats.has(places)) {
    formats.set(places, new Intl.NumberFormat("en", { minimumFractionDigits: places, maximumFractionDigits: places }));
  }
  return formats.get(places).format(value);
}

/** Decimals that show two digits of an error. */
export function decimals(error) {
  return error > 0 ? Math.max(0, 1 - Math.floor(Math.log10(error))) : 4;
}

/** A number with four digits that count, without needless zeros. */
export function brief(value) {
  if (!Number.isFinite(value)) return String(value);
  return Number(value.toPrecision(4)).toLocaleString("en", { maximumFractionDigits: 8 });
}

/** "10.671 ± 0.032 km" */
export function amount(value, error, unit = "") {
  if (value === null || value === undefined) return "no answer";
  const tail = unit ? ` ${unit}` : "";
  if (error === null || error === undefined || !(error > 0)) return `${brief(value)}${tail}`;
  const places = decimals(error);
  return `${fixed(value, places)} ± ${fixed(error, places)}${tail}`;
}

/** "± 0.032 km" */
export function plusMinus(error, unit = "") {
  return `± ${Number(error.toPrecision(2))}${unit ? ` ${unit}` : ""}`;
}

/** "mean distance (km)" */
export function withUnit(words, unit) {
  return unit ? `${words} (${unit})` : words;
}

/** A share in per cent, with more digits where it is small. */
export function percent(share) {
  if (share < 0.0001) return share === 0 ? "0 %" : "less than 0.01 %";
  return `${Number((100 * share).toPrecision(share < 0.1 ? 1 : 2))} %`;
}

/** "ε = 1" that stays on one line. */
export function tight(text) {
  return text.replaceAll(" = ", "\u00a0=\u00a0");
}

/** Whole numbers with thousands apart. */
export function whole(count) {
  return count.toLocaleString("en");
}

/** A point in one line: numbers as they are, words as they are. */
export function pointText(point) {
  const parts = Array.isArray(point) ? point : [point];
  const words = parts.map((part) => (typeof part === "boolean" ? (part ? "yes" : "no") : String(part)));
  return words.length > 6 ? `${words.slice(0, 5).join(", ")}, … (${words.length} numbers)` : words.join(", ");
}

/** A day and a time of the clock on the wall here. */
export function moment(text) {
  const when = new Date(text);
  if (Number.isNaN(when.getTime())) return text ?? "";
  return when.toLocaleString("en", { dateStyle: "medium", timeStyle: "short" });
}
