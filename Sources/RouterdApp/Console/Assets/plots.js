// Plots over time, drawn as SVG: lines with a scale, a legend and the newest values.
import { h } from "./base.js";

const width = 600;
const height = 140;

const namespace = Object.assign(document.createElement("template"), { innerHTML: "<svg></svg>" }).content.firstChild.namespaceURI;
const svg = (tag, attributes, ...children) => {
  const element = document.createElementNS(namespace, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
};

/** The least of 1, 2 and 5 times a power of ten that is not below a value. */
export function ceiling(value) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  // A factor of 5 times a negative power of ten is no exact number.
  return [1, 2, 5, 10].map((factor) => Number((factor * power).toPrecision(1))).find((one) => one >= value * (1 - 1e-9));
}

/**
 * A plot of the last `longest` seconds, or of the last minute while the samples reach no further. Samples are
 * `{ at, values }`, with a value for each line, null where there is none; `unit` makes a text of a value.
 */
export function plot(title, lines, unit, longest) {
  const legend = h("p", { class: "legend" });
  const place = h("div", { class: "canvas" });
  const top = h("span", { class: "scale top" });
  const start = h("span");
  const element = h("figure", { class: "plot" }, h("figcaption", {}, title), legend, place,
    h("div", { class: "times" }, start, h("span", {}, "now")));

  function draw(samples, now) {
    const seconds = now - (samples[0]?.at ?? now) > 60_000 ? longest : 60;
    const known = samples.filter((one) => now - one.at <= seconds * 1000);
    const most = ceiling(Math.max(0, ...known.flatMap((one) => one.values.map((value) => value ?? 0))));
    const x = (at) => width - ((now - at) / 1000 / seconds) * width;
    const y = (value) => height - 4 - (value / most) * (height - 12);
    const newest = known.at(-1)?.values ?? [];
    const words = lines.map((line, index) => `${line}: ${newest[index] == null ? "no value" : unit(newest[index])}`);
    top.textContent = unit(most);
    start.textContent = `${seconds / 60} min ago`;
    legend.replaceChildren(...lines.map((line, index) => h("span", { class: `key line-${index}` },
      h("b", {}, newest[index] == null ? "–" : unit(newest[index])), ` ${line}`)));
    const picture = svg("svg", {
      viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img",
      "aria-label": `${title} in the last ${seconds} seconds, at most ${unit(most)}. Now ${words.join(", ")}.` });
    for (const part of [0, 0.5, 1]) {
      picture.append(svg("line", { class: "grid", x1: 0, x2: width, y1: y(most * part), y2: y(most * part) }));
    }
    lines.forEach((_, index) => picture.append(...runs(known, index).map((run) => svg("polyline", {
      class: `line-${index}`, points: run.map((one) => `${x(one.at).toFixed(1)},${y(one.values[index]).toFixed(1)}`).join(" ") }))));
    place.replaceChildren(top, picture);
  }
  return { element, draw };
}

/** The samples with a value, cut where a value is missing. */
function runs(samples, index) {
  const found = [[]];
  for (const one of samples) {
    if (one.values[index] == null) found.push([]);
    else found.at(-1).push(one);
  }
  return found.filter((run) => run.length).map((run) => (run.length > 1 ? run : [run[0], { ...run[0], at: run[0].at + 1000 }]));
}

/** The values of metrics in the text format of Prometheus, by name with labels. */
export function readMetrics(text) {
  const values = new Map();
  for (const line of text.split("\n")) {
    if (!line || line.startsWith("#")) continue;
    const cut = line.lastIndexOf(" ");
    values.set(line.slice(0, cut), Number(line.slice(cut + 1)));
  }
  return values;
}

/** A quantile of the values that a histogram took between two readings, in its unit; null if it took none. */
export function quantile(name, part, before, after) {
  const buckets = [...after].filter(([key]) => key.startsWith(`${name}_bucket{`)).map(([key, count]) => ({
    end: Number(key.match(/le="([^"]+)"/)[1].replace("+Inf", "Infinity")), count: count - (before.get(key) ?? 0) }));
  const total = buckets.at(-1)?.count ?? 0;
  if (!(total > 0)) return null;
  const rank = total * part;
  const place = buckets.findIndex((one) => one.count >= rank);
  const start = place > 0 ? buckets[place - 1] : { end: 0, count: 0 };
  const { end, count } = buckets[place];
  // Beyond the last bound nothing is known but that bound.
  if (end === Infinity) return start.end;
  return start.end + (end - start.end) * ((rank - start.count) / (count - start.count));
}
