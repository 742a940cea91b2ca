/** Numbers and points as text. */

const formats = new Map();

/** Format a number with a given number of decimals, and commas between thousands. */
export function fixed(value, decimals) {
  const digits = Math.min(Math.max(decimals, 0), 12);
  if (!formats.has(digits)) {
    formats.set(digits, new Intl.NumberFormat("en", { minimumFractionDigits: digits, maximumFractionDigits: digits }));
  }
  return formats.get(digits).format(value);
}

/** Return the number of decimals that shows two significant digits of an error. */
export function decimals(error) {
  return error > 0 ? Math.max(0, 1 - Math.floor(Math.log10(error))) : 4;
}

/** Format a number with up to four significant digits. */
export function brief(value) {
  if (!Number.isFinite(value)) return String(value);
  return Number(value.toPrecision(4)).toLocaleString("en", { maximumFractionDigits: 8 });
}

/** Format a value with its error: "10.671 ± 0.032 km". */
export function amount(value, error, unit = "") {
  if (value === null || value === undefined) return "no answer";
  const tail = unit ? ` ${unit}` : "";
  if (error === null || error === undefined || !(error > 0)) return `${brief(value)}${tail}`;
  const digits = decimals(error);
  return `${fixed(value, digits)} ± ${fixed(error, digits)}${tail}`;
}

/** Format an estimate with its interval: "0.738 (0.721 to 0.758) years". */
export function interval({ value, low, high }, unit = "", scale = 1) {
  const digits = decimals(scale * Math.max(high - value, value - low));
  const [middle, from, to] = [value, low, high].map((number) => fixed(scale * number, Math.min(digits, 8)));
  return `${middle} (${from} to ${to})${unit ? ` ${unit}` : ""}`;
}

/** Format a probability: "3.2 %", "less than 0.01 %". */
export function probability(p) {
  return p < 0.0001 ? "less than 0.01 %" : `${Number((100 * p).toPrecision(2))} %`;
}

/** Format an error: "± 0.032 km". */
export function plusMinus(error, unit = "") {
  return `± ${Number(error.toPrecision(2))}${unit ? ` ${unit}` : ""}`;
}

/** Add a unit to a name: "mean distance (km)". */
export function withUnit(name, unit) {
  return unit ? `${name} (${unit})` : name;
}

/** Format a share as a percentage. */
export function percent(share) {
  if (share < 0.0001) return share === 0 ? "0 %" : "less than 0.01 %";
  return `${Number((100 * share).toPrecision(share < 0.1 ? 1 : 2))} %`;
}

/** Return the name of a column; columns without names have numbers. */
export function columnName(name) {
  return /^\d+$/.test(name) ? `column ${name}` : name;
}

/** Keep equations such as "ε = 1" on one line. */
export function tight(text) {
  return text.replaceAll(" = ", "\u00a0=\u00a0");
}

/** Format an integer with commas between thousands. */
export function whole(count) {
  return count.toLocaleString("en");
}

/** Format a point on one line. */
export function pointText(point) {
  const parts = Array.isArray(point) ? point : [point];
  const texts = parts.map((part) => (typeof part === "boolean" ? (part ? "yes" : "no") : String(part)));
  return texts.length > 6 ? `${texts.slice(0, 5).join(", ")}, … (${texts.length} numbers)` : texts.join(", ");
}

/** Format a time in the local time zone. */
export function moment(text) {
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) return text ?? "";
  return time.toLocaleString("en", { dateStyle: "medium", timeStyle: "short" });
}
