"use strict";
// Numbers: a measure's tape, quantiles of Beta, figures with intervals, and how they are written.
// The same as steelyard.measures.tape and steelyard.statistics.reporting, so that the page and Python agree.

// One step of a tape; 0/0 and 0 times infinity are 0.
function result(op, x, y, number) {
  switch (op) {
    case "add": return x + y;
    case "subtract": return x - y;
    case "multiply": return x === 0 || y === 0 ? 0 : x * y;
    case "divide": return x === 0 && y === 0 ? 0 : x / y;
    case "negate": return -x;
    case "log": return Math.log(x);
    case "power": return Math.pow(x, number);
    case "absolute": return Math.abs(x);
    case "minimum": return x < y || Number.isNaN(x) ? x : y;
    default: return x > y || Number.isNaN(x) ? x : y;
  }
}

// A tape as a function of (tpr, tnr, prevalence, smoothing). Inputs and constants are put in place, the rest is run.
function compiled(tape) {
  const slots = new Float64Array(tape.length), inputs = [[], [], [], []], steps = [];
  tape.forEach(([op, left, right, number], k) => {
    if (op === "input") inputs[left].push(k);
    else if (op === "constant") slots[k] = number;
    else steps.push({ op, left, right, number, k });
  });
  const last = tape.length - 1;
  return (tpr, tnr, prevalence, smoothing) => {
    for (const k of inputs[0]) slots[k] = tpr;
    for (const k of inputs[1]) slots[k] = tnr;
    for (const k of inputs[2]) slots[k] = prevalence;
    for (const k of inputs[3]) slots[k] = smoothing;
    for (const { op, left, right, number, k } of steps) slots[k] = result(op, slots[left], slots[right], number);
    return slots[last];
  };
}

// Quantiles of Beta(a, b) at rising levels. In x = log(p / (1 - p)) the density is smooth whatever a and b are; it is
// integrated over 512 pieces by five points of Gauss each, and inverted in its piece by Newton's steps.
const GAUSS = [[-0.906179845938664, 0.23692688505618908], [-0.5384693101056831, 0.47862867049936647],
  [0, 0.5688888888888889], [0.5384693101056831, 0.47862867049936647], [0.906179845938664, 0.23692688505618908]];
const PIECES = 512;
const NEGLIGIBLE = 40; // e^-40 of the peak: 4e-18

function betaQuantiles(a, b, levels) {
  const mode = Math.log(a / b);
  const logDensity = (x) => a * x - (a + b) * (x > 0 ? x + Math.log1p(Math.exp(-x)) : Math.log1p(Math.exp(x)));
  const peak = logDensity(mode);
  const edge = (sign) => {
    let far = 1 / Math.sqrt((a * b) / (a + b));
    while (logDensity(mode + sign * far) > peak - NEGLIGIBLE) far *= 1.25;
    return mode + sign * far;
  };
  const start = edge(-1), width = (edge(1) - start) / PIECES;
  const mass = (from, to) => {
    const half = 0.5 * (to - from), middle = 0.5 * (to + from);
    let sum = 0;
    for (const [place, weight] of GAUSS) sum += weight * Math.exp(logDensity(middle + half * place) - peak);
    return sum * half;
  };
  const below = new Float64Array(PIECES + 1);
  for (let k = 0; k < PIECES; k++) below[k + 1] = below[k] + mass(start + k * width, start + (k + 1) * width);
  const total = below[PIECES];
  let piece = 0;
  return Float64Array.from(levels, (level) => {
    const wanted = level * total;
    while (piece < PIECES - 1 && below[piece + 1] < wanted) piece++;
    const from = start + piece * width;
    let x = from + (width * (wanted - below[piece])) / (below[piece + 1] - below[piece]);
    for (let step = 0; step < 6; step++) {
      const off = (below[piece] + mass(from, x) - wanted) / Math.exp(logDensity(x) - peak);
      x = Math.min(from + width, Math.max(from, x - off));
      if (Math.abs(off) < 1e-13 * (1 + Math.abs(x))) break;
    }
    return x > 0 ? 1 / (1 + Math.exp(-x)) : Math.exp(x) / (1 + Math.exp(x));
  });
}

// numpy's linear quantile of values, those that are no number left out.
function quantiles(values, ends) {
  const sorted = values.filter((value) => !Number.isNaN(value)).sort();
  return ends.map((end) => {
    const place = end * (sorted.length - 1), low = Math.floor(place);
    return sorted[low] + (sorted[Math.min(low + 1, sorted.length - 1)] - sorted[low]) * (place - low);
  });
}

function memory(make) {
  const known = new Map();
  return (...key) => {
    const text = key.join();
    if (!known.has(text)) {
      if (known.size > 200) known.clear();
      known.set(text, make(...key));
    }
    return known.get(text);
  };
}

// Figures at counts: the value and its interval, as statistics.reporting.report has them.
class Posterior {
  constructor(data) {
    const { points, generator, levels } = data.lattice;
    this.ends = [0.5 - 0.5 * data.confidence, 0.5 + 0.5 * data.confidence];
    this.levels = Float64Array.from({ length: levels }, (_, k) => (k + 0.5) / levels);
    this.places = [1, generator, (generator * generator) % points].map((factor) =>
      Int32Array.from({ length: points }, (_, k) => Math.floor(((((k * factor) % points) * 2 + 1) * levels) / (2 * points))));
    this.spread = memory((a, b) => betaQuantiles(a, b, this.levels));
    this.interval = memory((hits, rest) => betaQuantiles(hits + 0.5, rest + 0.5, this.ends));
  }

  // The rate that a figure is, by its name; null if it is none.
  rate(name, { tp, fp, fn, tn }, prevalence) {
    const sides = { tpr: [tp, fn], tnr: [tn, fp], fpr: [fp, tn], fnr: [fn, tp] };
    if (prevalence === null) sides["Precision()"] = [tp, fp];
    return name in sides ? this.interval(...sides[name]) : null;
  }

  figures(list, counts, prevalence) {
    const { tp, fp, fn, tn } = counts, n = tp + fp + fn + tn, smoothing = 0.5 / n;
    const share = prevalence === null ? (tp + fn) / n : prevalence;
    let around = null;
    return list.map(({ name, value, times = 1 }) => {
      const at = times * value(tp / (tp + fn), tn / (fp + tn), share, smoothing);
      let ends = this.rate(name, counts, prevalence);
      if (!ends) {
        around = around || this.around(counts, prevalence);
        const values = new Float64Array(this.places[0].length);
        for (let k = 0; k < values.length; k++) values[k] = value(around[0](k), around[1](k), around[2](k), smoothing);
        ends = quantiles(values, this.ends);
      }
      return { name, value: at, low: times * ends[0], high: times * ends[1] };
    });
  }

  around({ tp, fp, fn, tn }, prevalence) {
    const along = (k, a, b) => {
      const place = this.places[k], level = this.spread(a, b);
      return (point) => level[place[point]];
    };
    return [along(0, tp + 0.5, fn + 0.5), along(1, tn + 0.5, fp + 0.5),
      prevalence === null ? along(2, tp + fn + 1, fp + tn + 1) : () => prevalence];
  }
}

// A number with so many digits after the point, an exact half to the even digit, as Python does it.
function fixed(number, digits) {
  if (!Number.isFinite(number)) return Number.isNaN(number) ? "–" : number > 0 ? "∞" : "−∞";
  const long = Math.abs(number).toFixed(digits + 30), cut = long.length - 30;
  let text = Math.abs(number).toFixed(digits);
  if (/^50*$/.test(long.slice(cut))) {
    const down = long.slice(0, cut).replace(/\.$/, "");
    if ("02468".includes(down.slice(-1))) text = down;
  }
  return number < 0 && Number(text) !== 0 ? "−" + text : text;
}
const percent = (share, digits = 1) => `${fixed(100 * share, digits)}\u00a0%`; // a space at which no line breaks
const whole = (number) => number.toLocaleString("en-US");
