// Operating points: decoded from the page's data, counted exactly, and searched. As steelyard.report.points has them.

function bytes(text) {
  const raw = atob(text), found = new Uint8Array(raw.length);
  for (let k = 0; k < raw.length; k++) found[k] = raw.charCodeAt(k);
  return found;
}

// So many whole numbers from bytes of seven bits, lowest first.
function sevens(data, n) {
  const found = new Float64Array(n);
  for (let k = 0, at = 0; at < n; k++) {
    let number = data[k] & 127;
    for (let place = 128; data[k] & 128; place *= 128) number += (data[++k] & 127) * place;
    found[at++] = number;
  }
  return found;
}

// Numbers whose bits, but for the last eleven, are `start` and its successors; see report/numbers.py.
function thresholds({ start, n, steps }) {
  const [halved, rest] = steps.split(" ").map(bytes), odd = sevens(rest, n);
  const found = new Float64Array(n), words = new Uint32Array(found.buffer);
  const high = new Uint8Array(Uint16Array.of(1).buffer)[0]; // which of two words is the upper one, on this machine
  let key = start;
  for (let k = 0; k < n; k++) {
    key += odd[k] * 2 ** halved[k];
    const size = Math.abs(key), upper = Math.floor(size / 2 ** 21);
    words[2 * k + high] = key < 0 ? upper + 2 ** 31 : upper;
    words[2 * k + 1 - high] = (size % 2 ** 21) * 2 ** 11;
  }
  return found;
}

// The rows of one class in one group.
class Side {
  constructor({ n, places, turning }) {
    this.until = new Int32Array(n);
    this.turning = turning;
    this.n = n + turning.length;
    const steps = sevens(bytes(places), n);
    for (let k = 0, place = 0; k < n; k++) this.until[k] = place += steps[k];
  }

  isCalled([start, ...turns], k) {
    return (start + turns.filter((turn) => turn <= k).length) % 2 === 1;
  }

  calledOnce(k) {
    let low = 0, high = this.until.length; // the first row that is called at k
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.until[middle] > k) high = middle;
      else low = middle + 1;
    }
    return this.until.length - low;
  }

  called(k) { return this.calledOnce(k) + this.turning.filter((row) => this.isCalled(row, k)).length; }

  // Rows that are called at `there` and not at `here`.
  lost(here, there) {
    const turned = this.turning.filter((row) => this.isCalled(row, there) && !this.isCalled(row, here)).length;
    return Math.max(0, this.calledOnce(there) - this.calledOnce(here)) + turned;
  }

  // How many are called at every one of so many points.
  all(points) {
    const found = new Int32Array(points);
    let row = 0;
    for (let k = 0; k < points; k++) {
      while (row < this.until.length && this.until[row] <= k) row++;
      found[k] = this.until.length - row;
    }
    for (const one of this.turning) for (let k = 0; k < points; k++) found[k] += this.isCalled(one, k) ? 1 : 0;
    return found;
  }
}

class Points {
  constructor(data) {
    this.thresholds = thresholds(data.points);
    this.n = data.points.n;
    this.exact = data.exact;
    this.sets = data.sets.map(({ name, positives, negatives }) => ({ name, positives: new Side(positives), negatives: new Side(negatives) }));
    this.tp = this.sum((set) => set.positives.all(this.n));
    this.fp = this.sum((set) => set.negatives.all(this.n));
    this.P = this.sets.reduce((sum, set) => sum + set.positives.n, 0);
    this.N = this.sets.reduce((sum, set) => sum + set.negatives.n, 0);
    this.tolerance = data.tolerance;
    this.tie = data.tie;
  }

  sum(of) {
    const [first, ...others] = this.sets.map(of);
    for (const other of others) for (let k = 0; k < first.length; k++) first[k] += other[k];
    return first;
  }

  threshold(k) { return k in this.exact ? this.exact[k] : this.thresholds[k]; }
  tpr(k) { return this.tp[k] / this.P; }
  tnr(k) { return (this.N - this.fp[k]) / this.N; }
  fpr(k) { return this.fp[k] / this.N; }
  counts(k) { return { tp: this.tp[k], fp: this.fp[k], fn: this.P - this.tp[k], tn: this.N - this.fp[k] }; }

  // Rows that are called at k and not at the other point, and the other way round.
  changed(k, other) {
    const lost = (here, there) => this.sets.reduce((sum, set) => sum + set.positives.lost(here, there) + set.negatives.lost(here, there), 0);
    return [lost(other, k), lost(k, other)];
  }

  // What one false and one true positive are as shares of the rows in use.
  prices(prevalence) {
    const share = prevalence === null ? this.P / (this.P + this.N) : prevalence;
    return [(1 - share) / this.N, share / this.P];
  }

  least(cost) {
    let best = 0, value = Infinity;
    for (let k = 0; k < this.n; k++) {
      const here = cost(k);
      if (here < value) [best, value] = [k, here];
    }
    return best;
  }

  // The cheapest point where a miss costs `ratio` false alarms.
  cheapest(ratio, prevalence) {
    const [a, b] = this.prices(prevalence), dear = ratio * b;
    return this.least((k) => a * this.fp[k] + dear * (this.P - this.tp[k]));
  }

  nearestAlarms(alarms, prevalence) {
    const [a, b] = this.prices(prevalence);
    return this.least((k) => Math.abs(1000 * (b * this.tp[k] + a * this.fp[k]) - alarms));
  }

  alarms(k, prevalence) {
    const [a, b] = this.prices(prevalence);
    return 1000 * (b * this.tp[k] + a * this.fp[k]);
  }

  // The points that are the cheapest at some price, from few alarms to many (the upper convex hull, Andrew's chain).
  makeHull() {
    const order = Int32Array.from({ length: this.n }, (_, k) => this.n - 1 - k); // thresholds that fall call more
    if (this.sets.some((set) => set.positives.turning.length + set.negatives.turning.length)) {
      order.sort((a, b) => this.fp[a] - this.fp[b] || this.tp[a] - this.tp[b]);
    }
    const hull = [];
    for (const k of order) {
      const fp = this.fp[k], tp = this.tp[k];
      for (let last = hull.length - 1; last > 0; last--) {
        const a = hull[last - 1], b = hull[last];
        if ((b.fp - a.fp) * (tp - a.tp) < (b.tp - a.tp) * (fp - a.fp)) break;
        hull.pop();
      }
      hull.push({ fp, tp });
    }
    return hull;
  }

  // Between which prices of a miss no other point is cheaper; low > high where there is always one. `near` is the price
  // at which the frontier turns about here.
  costRatios(k, prevalence) {
    const [a, b] = this.prices(prevalence), { hull } = this, tp = this.tp[k], fp = this.fp[k];
    this.hull = hull || this.makeHull();
    const price = (from, to) => (from && to ? (a * (to.fp - from.fp)) / (b * (to.tp - from.tp)) : undefined);
    let at = this.hull.findIndex((one) => one.fp >= fp);
    while (at < this.hull.length - 1 && this.hull[at].fp === fp && this.hull[at].tp < tp) at++;
    const one = this.hull[at], isIt = one.fp === fp && one.tp === tp;
    const low = price(this.hull[at - 1], one) || 0;
    const next = price(one, this.hull[at + 1]);
    const high = isIt ? (next === undefined ? Infinity : next) : low;
    const near = Math.sqrt(Math.min(1e9, Math.max(low, 1e-9)) * Math.min(1e9, Math.max(high, 1e-9)));
    return isIt && high > 0 && low < Infinity ? { low, high, near } : { low: Infinity, high: 0, near };
  }

  // The point of largest value among those that meet the conditions, of equals the one of most skill: frontier.best_point.
  // Without any, the point that misses them least, and found is false.
  best(measure, conditions, prevalence) {
    const smoothing = 0.5 / (this.P + this.N), share = prevalence === null ? this.P / (this.P + this.N) : prevalence;
    const values = new Float64Array(this.n);
    let top = -Infinity, closest = 0, least = -Infinity;
    for (let k = 0; k < this.n; k++) {
      const tpr = this.tpr(k), tnr = this.tnr(k);
      let slack = Infinity;
      for (const condition of conditions) slack = Math.min(slack, condition(tpr, tnr, share, smoothing));
      if (slack > least) [least, closest] = [slack, k];
      values[k] = slack >= -this.tolerance ? measure(tpr, tnr, share, smoothing) : NaN;
      if (values[k] > top) top = values[k];
    }
    if (top === -Infinity && !values.some((value) => value === -Infinity)) return { k: closest, found: false };
    const enough = Number.isFinite(top) ? top - this.tie * (1 + Math.abs(top)) : top;
    let best = -1, skill = -Infinity;
    for (let k = 0; k < this.n; k++) {
      if (values[k] >= enough && this.tpr(k) + this.tnr(k) > skill) [best, skill] = [k, this.tpr(k) + this.tnr(k)];
    }
    return { k: best, found: true };
  }
}

// How far inside a constraint a point lies: Constraint.slack.
function slackOf({ cleared, below, body }) {
  const [value, divisor, whole] = [cleared, below, body].map((tape) => tape && compiled(tape));
  return (...at) => (divisor && divisor(...at) === 0 ? whole(...at) : value(...at));
}

// The same for one of the box: a quantity, top over below, at most or at least a bound.
function slackOfBound(quantity, sense, bound) {
  const top = compiled(quantity.top), below = compiled(quantity.below), sign = sense === "<=" ? 1 : -1;
  return (...at) => {
    const under = below(...at);
    return sign * (under === 0 ? bound : bound * under - top(...at));
  };
}
