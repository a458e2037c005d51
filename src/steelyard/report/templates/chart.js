// The plane of false alarms and recall: the frontier with its band, limits and promise as regions, baselines, the point.

const SVG = "http://www.w3.org/2000/svg";
const MOST = 500; // points of the curve that are drawn
const CELLS = 48; // a side, where a limit is no straight line

function drawn(kind, attributes, text) {
  const node = document.createElementNS(SVG, kind);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== undefined) node.textContent = text;
  return node;
}

// Ticks at 1, 2 or 5 times a power of ten.
function ticks(low, high, about) {
  const rough = (high - low) / about, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((times) => times * power).find((size) => size >= rough * 0.999);
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) found.push(k * step);
  return { found, digits: Math.max(0, -Math.floor(Math.log10(step * 100) + 1e-9)) };
}

class Chart {
  constructor(place, points, data) {
    Object.assign(this, { place, points, data });
    this.limits = data.constraints.map((one) => ({ text: one.text, slack: slackOf(one), linear: one.linear }));
    this.svg = drawn("svg", { role: "img" });
    place.append(this.svg);
    this.window = { x: [0, 1], y: [0, 1] };
  }

  // The part of the plane around the first point and the limits, or all of it.
  look(near, k) {
    this.window = { x: [0, 1], y: [0, 1] };
    if (!near) return;
    const caps = this.limits.map(({ slack }) => this.edgeOnAxis(slack)).filter((x) => x > 0 && x < 1);
    const wide = Math.max(3 * this.points.fpr(k), ...caps.map((x) => 3 * x), 20 / this.points.N);
    if (wide >= 0.7) return;
    const step = 10 ** Math.floor(Math.log10(wide));
    const right = Math.min(1, Math.ceil(wide / step) * step);
    const there = this.points.least((j) => Math.abs(this.points.fpr(j) - right));
    const bottom = this.points.tpr(k) > 0.5 && this.points.tpr(there) > 0.6 ? Math.floor(Math.max(0, 2 * this.points.tpr(k) - 1.1) * 10) / 10 : 0;
    this.window = { x: [0, right], y: [bottom, Math.min(1, Math.ceil(this.points.tpr(there) * 10 + 0.5) / 10)] };
  }

  // Where a limit begins on the axis of false alarms, with half of the positives found.
  edgeOnAxis(slack) {
    const at = (x) => slack(0.5, 1 - x, this.points.P / (this.points.P + this.points.N), 0.5 / (this.points.P + this.points.N));
    if (!(at(0) >= 0 && at(1) < 0)) return 0;
    let low = 0, high = 1;
    for (let step = 0; step < 40; step++) [low, high] = at((low + high) / 2) >= 0 ? [(low + high) / 2, high] : [low, (low + high) / 2];
    return low;
  }

  x(fpr) { return this.left + ((fpr - this.window.x[0]) / (this.window.x[1] - this.window.x[0])) * this.across; }
  y(tpr) { return this.top + (1 - (tpr - this.window.y[0]) / (this.window.y[1] - this.window.y[0])) * this.down; }

  draw(state) {
    const width = Math.max(280, this.place.clientWidth), height = Math.round(Math.min(560, Math.max(300, width * 0.74)));
    Object.assign(this, { width, height, left: 52, top: 14, across: width - 66, down: height - 62 });
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const inside = drawn("g", { "clip-path": "url(#inside)" });
    const defs = drawn("defs", {}), clip = drawn("clipPath", { id: "inside" });
    clip.append(drawn("rect", { x: this.left, y: this.top, width: this.across, height: this.down }));
    defs.append(clip);
    this.svg.replaceChildren(defs, ...this.axes(), inside);
    inside.append(...this.regions(state.prevalence), ...this.promise(), ...this.curve());
    this.moving = drawn("g", {});
    this.svg.append(...this.baselines(), this.moving);
  }

  axes() {
    const found = [], bottom = this.top + this.down;
    const across = ticks(...this.window.x, Math.max(3, this.across / 90)), down = ticks(...this.window.y, Math.max(3, this.down / 60));
    for (const at of across.found) {
      found.push(drawn("line", { class: "grid", x1: this.x(at), x2: this.x(at), y1: this.top, y2: bottom }));
      // At the ends away from the other axis's numbers, and from the edge.
      const anchor = this.x(at) < this.left + 12 ? "start" : this.x(at) > this.width - 24 ? "end" : "middle";
      found.push(drawn("text", { x: this.x(at), y: bottom + 17, "text-anchor": anchor }, percent(at, across.digits)));
    }
    for (const at of down.found) {
      found.push(drawn("line", { class: "grid", x1: this.left, x2: this.left + this.across, y1: this.y(at), y2: this.y(at) }));
      found.push(drawn("text", { x: this.left - 7, y: Math.min(this.y(at) + 4, bottom), "text-anchor": "end" }, percent(at, down.digits)));
    }
    found.push(drawn("path", { class: "axis", d: `M${this.left} ${this.top}V${bottom}H${this.left + this.across}` }));
    found.push(drawn("text", { class: "name", x: this.left + this.across, y: bottom + 36, "text-anchor": "end" }, "false-alarm rate (FPR) →"));
    found.push(drawn("text", { class: "name", x: this.left + 6, y: this.top + 12 }, "↑ recall (TPR)"));
    return found;
  }

  // What a limit excludes: a half plane cut to the window, or the cells of a grid.
  regions(prevalence) {
    const n = this.points.P + this.points.N, share = prevalence === null ? this.points.P / n : prevalence;
    const found = [];
    for (const { slack, linear } of this.limits) {
      const outside = (fpr, tpr) => slack(tpr, 1 - fpr, share, 0.5 / n);
      if (linear) {
        const polygon = this.cut(outside);
        if (polygon.length > 2) found.push(drawn("path", { class: "limit", d: `M${polygon.map(([x, y]) => `${this.x(x)} ${this.y(y)}`).join("L")}Z` }));
        continue;
      }
      const [x0, x1] = this.window.x, [y0, y1] = this.window.y;
      for (let i = 0; i < CELLS; i++) {
        for (let j = 0; j < CELLS; j++) {
          if (outside(x0 + ((i + 0.5) / CELLS) * (x1 - x0), y0 + ((j + 0.5) / CELLS) * (y1 - y0)) >= 0) continue;
          found.push(drawn("rect", { class: "limit", x: this.left + (i / CELLS) * this.across, y: this.top + (1 - (j + 1) / CELLS) * this.down,
            width: this.across / CELLS + 0.3, height: this.down / CELLS + 0.3 }));
        }
      }
    }
    return found;
  }

  // The part of the window where a linear function is negative (Sutherland and Hodgman).
  cut(value) {
    const [x0, x1] = this.window.x, [y0, y1] = this.window.y, corners = [[x0, y0], [x1, y0], [x1, y1], [x0, y1]];
    const found = [];
    corners.forEach((from, k) => {
      const to = corners[(k + 1) % 4], a = value(...from), b = value(...to);
      if (a < 0) found.push(from);
      if (a < 0 !== b < 0) found.push([from[0] + (a / (a - b)) * (to[0] - from[0]), from[1] + (a / (a - b)) * (to[1] - from[1])]);
    });
    return found;
  }

  // At most MOST points, evenly along the part of the curve that is seen.
  shown(from = 0, to = this.points.n - 1) {
    const { points } = this, step = [];
    const inside = (k) => points.fpr(k) <= this.window.x[1] + 2 * this.data.band[1] && points.tpr(k) >= this.window.y[0] - 2 * this.data.band[0];
    let first = from, last = to;
    while (first < last && !inside(first + 1)) first++;
    while (last > first && !inside(last - 1)) last--;
    const long = (k) => points.fpr(k) / (this.window.x[1] - this.window.x[0]) + points.tpr(k) / (this.window.y[1] - this.window.y[0]);
    const gap = Math.abs(long(first) - long(last)) / (MOST - 2);
    let at = Infinity;
    for (let k = first; k <= last; k++) {
      if (k !== first && k !== last && Math.abs(long(k) - at) < gap) continue;
      at = long(k);
      step.push(k);
    }
    return step.length > MOST ? step.filter((_, k) => k % 2 === 0 || k === step.length - 1) : step;
  }

  curve() {
    const { points } = this, shown = this.shown(), [offTpr, offTnr] = this.data.band;
    const line = (k) => `${this.x(points.fpr(k)).toFixed(2)} ${this.y(points.tpr(k)).toFixed(2)}`;
    const moved = (sign) => (k) => {
      const fpr = Math.min(1, Math.max(0, points.fpr(k) - sign * offTnr)), tpr = Math.min(1, Math.max(0, points.tpr(k) + sign * offTpr));
      return `${this.x(fpr).toFixed(2)} ${this.y(tpr).toFixed(2)}`;
    };
    const corner = (at) => `${this.x(at)} ${this.y(at)}`; // every frontier begins and ends there
    const [first, last] = [shown[0], shown[shown.length - 1]];
    const band = [...shown.map(moved(1)), ...(last === points.n - 1 ? [corner(0)] : []), ...shown.slice().reverse().map(moved(-1)),
      ...(first === 0 ? [corner(1)] : [])];
    this.drawnPoints = shown.length;
    return [
      drawn("line", { class: "chance", x1: this.x(0), y1: this.y(0), x2: this.x(1), y2: this.y(1) }),
      drawn("path", { class: "band", d: `M${band.join("L")}Z` }),
      drawn("path", { class: "curve", "stroke-linejoin": "round", d: `M${shown.map(line).join("L")}` }),
    ];
  }

  promise() {
    const { promise } = this.data, { points } = this;
    if (!promise) return [];
    if (promise.points) return promise.points.map((k) => drawn("circle", { class: "promised-point", r: 4, cx: this.x(points.fpr(k)), cy: this.y(points.tpr(k)) }));
    const from = this.x(points.fpr(promise.to)), to = this.x(points.fpr(promise.from));
    const shown = this.shown(promise.from, promise.to).filter((k) => k >= promise.from && k <= promise.to);
    return [
      drawn("rect", { class: "promise", x: from, y: this.top, width: Math.max(0, to - from), height: this.down }),
      drawn("path", { class: "promised", d: `M${shown.map((k) => `${this.x(points.fpr(k))} ${this.y(points.tpr(k))}`).join("L")}` }),
    ];
  }

  // A diamond for each, with its number; those that lie on one another share one label.
  baselines() {
    const marks = [], labels = [];
    this.data.baselines.forEach(({ name, tp, fp }, k) => {
      const fpr = fp / this.points.N, tpr = tp / this.points.P;
      if (fpr > this.window.x[1] || tpr < this.window.y[0] || tpr > this.window.y[1]) return;
      const x = this.x(fpr), y = this.y(tpr);
      const mark = drawn("rect", { class: "base", x: x - 4.5, y: y - 4.5, width: 9, height: 9, transform: `rotate(45 ${x} ${y})` });
      mark.append(drawn("title", {}, name));
      marks.push(mark);
      const other = labels.find((one) => Math.hypot(one.x - x, one.y - y) < 22);
      if (other) other.names.push(k + 1);
      else labels.push({ x, y, names: [k + 1] });
    });
    return [...marks, ...labels.map(({ x, y, names }) => {
      const onTheRight = x < this.left + this.across - 40, above = y > this.top + this.down - 20;
      return drawn("text", { class: "name", x: x + (onTheRight ? 9 : -9), y: above ? y - 9 : Math.max(this.top + 26, y + 16), "text-anchor": onTheRight ? "start" : "end" }, names.join(", "));
    })];
  }

  // The chosen point with the intervals of its two rates, and where the recommended one is.
  point(k, figures) {
    const { points } = this, at = [this.x(points.fpr(k)), this.y(points.tpr(k))];
    const clamp = (value, [low, high]) => Math.min(high, Math.max(low, value));
    const x = figures.fpr, y = figures.tpr, box = [clamp(x.low, this.window.x), clamp(x.high, this.window.x), clamp(y.low, this.window.y), clamp(y.high, this.window.y)];
    const seen = points.fpr(k) <= this.window.x[1] && points.tpr(k) >= this.window.y[0] && points.tpr(k) <= this.window.y[1];
    const start = this.data.recommended;
    const parts = [drawn("circle", { class: "start", r: 9, cx: this.x(points.fpr(start)), cy: this.y(points.tpr(start)) })];
    if (seen) {
      parts.push(drawn("rect", { class: "around", x: this.x(box[0]), y: this.y(box[3]), width: Math.max(1, this.x(box[1]) - this.x(box[0])), height: Math.max(1, this.y(box[2]) - this.y(box[3])), rx: 3 }));
      parts.push(drawn("circle", { class: "here", id: "here", r: 6.5, cx: at[0], cy: at[1] }));
    }
    this.moving.replaceChildren(...parts);
    return seen;
  }

  say(text) { this.svg.setAttribute("aria-label", text); }
}
