// The page: what was chosen, the controls that choose, and everything that follows from it.

(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const points = new Points(data), posterior = new Posterior(data);
  const measure = compiled(data.measure.tape);
  const figures = data.figures.map((one) => ({ ...one, value: compiled(one.tape) }));
  const limits = data.constraints.map((one) => ({ text: one.text, slack: slackOf(one) }));
  const $ = (id) => document.getElementById(id);
  const chart = new Chart($("chart"), points, data);
  const here = points.P / (points.P + points.N);
  const state = { k: data.recommended, prevalence: null, near: true, ratio: null };
  const step = Math.max(1, Math.floor(points.n / 1000));
  const PRICES = 3; // decades of the slider of costs on either side of 1

  const text = (node, said) => { node.textContent = said; return node; };
  const made = (kind, said, name) => {
    const node = document.createElement(kind);
    if (said !== undefined) node.textContent = said;
    if (name) node.className = name;
    return node;
  };
  const share = (name) => !["alarms"].includes(name) && (figures.find((one) => one.name === name) || {}).title !== name;
  const written = (name, value) => (name === "alarms" ? fixed(value, 1) : share(name) ? percent(value, 2) : fixed(value, 4));

  // -- what stands on the page from the start -------------------------------------------------------------------------
  function begin() {
    text($("title"), data.title);
    text($("facts"), data.facts + (data.chosenHere ? " The recommended point was chosen on these rows, so its figures are flattered." : ""));
    text($("threshold-title"), data.scale.title);
    Object.assign($("threshold"), { max: points.n - 1, step });
    text($("as-here"), `as in these rows, ${percent(here, 2)}`);
    text($("interval-title"), `${fixed(100 * data.confidence, 0)} % interval`);
    text($("measure-title"), data.measure.name);
    for (const quantity of data.quantities) {
      const option = made("option", quantity.title);
      option.value = quantity.name;
      $("quantity").append(option);
    }
    $("given").hidden = !limits.length;
    text($("given").querySelector("span"), `and keep ${limits.map((one) => one.text).join(", ")}`);
    $("groups-card").hidden = data.sets.length < 2;
    for (const [name, said] of data.about) $("about").append(made("dt", name), made("dd", said));
    legend();
    bound();
    chart.look(state.near, state.k);
    show(true);
  }

  function legend() {
    const entries = [["curve", "frontier"], ["band", `${fixed(100 * data.confidence, 0)} % band`], ["here", "the point, with intervals"], ["start", "recommended"]];
    entries.push(...limits.map(({ text: said }) => ["limit", `breaks ${said}`]));
    if (data.promise) entries.push([data.promise.points ? "promised-point" : "promise", "promised on unseen rows"]);
    data.baselines.forEach(({ name }, k) => entries.push(["base", `${k + 1} ${name}`]));
    for (const [kind, said] of entries) {
      const item = made("li"), svg = drawn("svg", { viewBox: "0 0 22 14", "aria-hidden": "true" });
      if (kind === "curve") svg.append(drawn("path", { class: kind, d: "M1 12L21 2" }));
      else if (kind === "base") svg.append(drawn("rect", { class: kind, x: 7, y: 3, width: 8, height: 8, transform: "rotate(45 11 7)" }));
      else if (["here", "start", "promised-point"].includes(kind)) svg.append(drawn("circle", { class: kind, cx: 11, cy: 7, r: 5 }));
      else svg.append(drawn("rect", { class: kind, x: 1, y: 1, width: 20, height: 12 }));
      item.append(svg, made("span", said));
      $("legend").append(item);
    }
  }

  // -- what follows from the point ------------------------------------------------------------------------------------
  function show(redraw) {
    const { k, prevalence } = state, counts = points.counts(k);
    const found = posterior.figures(figures, counts, prevalence);
    const by = Object.fromEntries(found.map((one) => [one.name, one]));
    if (redraw) chart.draw(state);
    if (!chart.point(k, by) && state.near) return look(false);
    controls(k, prevalence);
    showFigures(found);
    showCounts(counts, prevalence);
    showGroups(k);
    showBaselines(k, prevalence);
    showCode(k);
    const name = data.measure.name, value = valueAt(points.tpr(k), points.tnr(k));
    const said = `At ${data.scale.name} ${short(points.threshold(k))}, ${fixed(by.alarms.value, 1)} of 1,000 rows are called. Of the positives ${percent(by.tpr.value)} are found; of the rows called ${percent(by["Precision()"].value)} are positive. ${name} is ${fixed(value, 4)}.`;
    text($("summary"), said);
    chart.say(`Recall against false-alarm rate, with ${chart.drawnPoints} points of the frontier drawn. The chosen point has a false-alarm rate of ${percent(by.fpr.value, 2)} and a recall of ${percent(by.tpr.value, 2)}.`);
    return undefined;
  }

  const share0 = () => (state.prevalence === null ? here : state.prevalence);
  const valueAt = (tpr, tnr) => measure(tpr, tnr, share0(), 0.5 / (points.P + points.N));
  const short = (number) => String(Number(number.toPrecision(6)));

  function controls(k, prevalence) {
    const { low, high, near } = points.costRatios(k, prevalence);
    const ratio = state.ratio !== null ? state.ratio : near;
    const price = Math.min(PRICES, Math.max(-PRICES, Math.log10(ratio)));
    set("cost", price, `${alarmsOf(10 ** price)}`);
    text($("cost-hint"), low <= high ? `this point is the cheapest for ${span(low, high)}` : "for no price is this point the cheapest");
    set("threshold", k, short(points.threshold(k)));
    const alarms = points.alarms(k, prevalence);
    set("alarms", alarms, fixed(alarms, 1));
    set("prevalence", Math.log10(share0()), percent(share0(), share0() < 0.01 ? 3 : 2));
    $("as-here").disabled = prevalence === null;
  }
  const priced = (ratio) => (ratio >= 100 ? fixed(ratio, 0) : ratio >= 10 ? fixed(ratio, 1) : ratio >= 0.1 ? fixed(ratio, 2) : ratio.toPrecision(2));
  const alarmsOf = (ratio) => `${priced(ratio)} false alarm${priced(ratio) === "1.00" ? "" : "s"}`;
  const span = (low, high) => (high === Infinity ? `${priced(low)} and more` : low === 0 ? `up to ${priced(high)}` : `${priced(low)} to ${priced(high)}`);
  function set(id, value, said) {
    if (document.activeElement !== $(id) || !moving) $(id).value = value;
    $(id).setAttribute("aria-valuetext", said);
    text($(`${id}-out`), said);
  }

  function showFigures(found) {
    const body = $("figures").tBodies[0];
    body.replaceChildren(...found.map(({ name, value, low, high }, k) => {
      const row = made("tr", undefined, name === data.measure.figure ? "main" : "");
      const title = made("th", figures[k].title);
      title.scope = "row";
      const drawnBar = made("td", undefined, "drawn");
      drawnBar.append(bar(name, value, low, high));
      row.dataset.name = name;
      row.append(title, made("td", written(name, value), "value"), drawnBar, made("td", `${written(name, low)} – ${written(name, high)}`, "ends"));
      return row;
    }));
    const at = [points.tpr(state.k), points.tnr(state.k), share0(), 0.5 / (points.P + points.N)];
    const said = limits.map(({ text: words, slack }) => {
      const kept = slack(...at) >= -data.tolerance;
      return made("li", `${kept ? "✓ keeps" : "✗ breaks"} ${words} on these rows`, kept ? "good" : "bad");
    });
    if (data.promise) {
      const kept = data.promise.points ? data.promise.points.includes(state.k) : state.k >= data.promise.from && state.k <= data.promise.to;
      said.push(made("li", kept ? `✓ promised by ${whole(data.promise.rows)} other rows: ${data.promise.text}` : "✗ outside what was promised for unseen rows", kept ? "good" : "bad"));
    }
    $("limits").replaceChildren(...said);
  }

  function bar(name, value, low, high) {
    const whole = made("div", undefined, "bar");
    whole.setAttribute("aria-hidden", "true");
    const top = name === "alarms" ? 1000 : 1, place = (number) => `${Math.min(100, Math.max(0, (100 * number) / top))}%`;
    if (low < 0 || high > top || !Number.isFinite(low)) return whole;
    const range = made("i"), at = made("b");
    range.style.left = place(low);
    range.style.right = `calc(100% - ${place(high)})`;
    at.style.left = place(value);
    whole.append(range, at);
    return whole;
  }

  function showCounts({ tp, fp, fn, tn }, prevalence) {
    const [a, b] = points.prices(prevalence);
    const cell = (count, price, kind, said) => {
      const node = made("td", whole(count), kind);
      node.append(made("span", `${said}, ${fixed(1000 * price * count, 1)} of 1,000`));
      return node;
    };
    const row = (label, ...cells) => {
      const node = made("tr"), title = made("th", label);
      title.scope = "row";
      node.append(title, ...cells);
      return node;
    };
    $("counts").tBodies[0].replaceChildren(
      row(`is “${data.classes[1]}”`, cell(tp, b, "right", "found"), cell(fn, b, "wrong", "missed")),
      row(`is “${data.classes[0]}”`, cell(fp, a, "wrong", "false alarms"), cell(tn, a, "right", "left alone")));
    text($("in-use"), prevalence === null ? "Shares are those of these rows." : `Counts are of these rows; shares of 1,000 are at ${percent(prevalence, 2)} positives in use.`);
    const [more, fewer] = points.changed(state.k, data.recommended);
    text($("changed"), state.k === data.recommended ? "This is the recommended point."
      : `${whole(more + fewer)} of ${whole(data.rows)} rows change sides: ${whole(more)} are called in addition, ${whole(fewer)} no longer.`);
  }

  // On a narrow screen the heads of a table are not above its cells, so each cell has its own.
  function labelled(id, rows) {
    const heads = Array.from($(id).tHead.rows[0].cells, (cell) => cell.textContent);
    for (const row of rows) Array.from(row.cells).forEach((cell, k) => { cell.dataset.label = heads[k]; });
    $(id).tBodies[0].replaceChildren(...rows);
  }

  function showGroups(k) {
    if (data.sets.length < 2) return;
    labelled("groups", points.sets.map(({ name, positives, negatives }) => {
      const row = made("tr"), title = made("th", name), tp = positives.called(k), fp = negatives.called(k);
      title.scope = "row";
      const cell = (hits, rest) => {
        const node = made("td", hits + rest ? percent(hits / (hits + rest)) : "–");
        if (hits + rest) {
          const [low, high] = posterior.interval(hits, rest);
          node.append(made("br"), made("small", `${fixed(100 * low, 1)} – ${fixed(100 * high, 1)}`));
        }
        return node;
      };
      row.append(title, made("td", whole(positives.n + negatives.n)), made("td", whole(positives.n)), made("td", whole(tp + fp)),
        cell(tp, positives.n - tp), cell(fp, negatives.n - fp), cell(tp, fp));
      return row;
    }));
  }

  function showBaselines(k, prevalence) {
    const [a, b] = points.prices(prevalence);
    const all = [{ name: "the chosen point", tp: points.tp[k], fp: points.fp[k] }, ...data.baselines];
    $("kept-title").hidden = !limits.length;
    labelled("baselines", all.map(({ name, tp, fp }, place) => {
      const row = made("tr", undefined, place ? "" : "main"), title = made("th", place ? `${place}  ${name}` : name);
      title.scope = "row";
      const tpr = tp / points.P, tnr = (points.N - fp) / points.N, called = b * tp + a * fp;
      row.append(title, made("td", fixed(valueAt(tpr, tnr), 4)), made("td", percent(tpr)), made("td", percent(fp / points.N, 2)),
        made("td", tp + fp ? percent((b * tp) / called) : "–"), made("td", fixed(1000 * called, 1)));
      if (limits.length) {
        const kept = limits.every(({ slack }) => slack(tpr, tnr, share0(), 0.5 / (points.P + points.N)) >= -data.tolerance);
        row.append(made("td", kept ? "✓ kept" : "✗ broken", kept ? "good" : "bad"));
      }
      return row;
    }));
  }

  function showCode(k) {
    const threshold = points.threshold(k) - data.scale.shift;
    const line = data.scale.line.replace("{threshold}", String(threshold));
    text($("code"), data.scale.imports ? `${data.scale.imports}\n\n${line}` : line);
  }

  // -- controls -------------------------------------------------------------------------------------------------------
  let moving = false, waiting = false;
  function move(change, redraw = false) {
    Object.assign(state, { ratio: null }, change);
    moving = true;
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      show(redraw);
      moving = false;
    });
  }
  function look(near) {
    state.near = near;
    $("near").setAttribute("aria-pressed", String(near));
    $("all").setAttribute("aria-pressed", String(!near));
    chart.look(near, state.k);
    show(true);
  }
  function bound() {
    const quantity = data.quantities.find((one) => one.name === $("quantity").value);
    $("sense").value = quantity.sense;
    $("bound").value = quantity.start;
    text($("unit"), quantity.times === 100 ? "%" : "");
  }
  function find(event) {
    event.preventDefault();
    const quantity = data.quantities.find((one) => one.name === $("quantity").value), sense = $("sense").value;
    const conditions = [slackOfBound(quantity, sense, Number($("bound").value) / quantity.times)];
    if (limits.length && $("keep").checked) conditions.push(...limits.map((one) => one.slack));
    const { k, found } = points.best(measure, conditions, state.prevalence);
    move({ k });
    text($("answer"), found ? `The best ${data.measure.name} of these rows under this limit: ${fixed(valueAt(points.tpr(k), points.tnr(k)), 4)}. Chosen on these rows, it is flattered.`
      : "No point of this model meets it; this is the closest.");
  }
  $("cost").addEventListener("input", (event) => {
    const ratio = 10 ** Number(event.target.value);
    move({ k: points.cheapest(ratio, state.prevalence), ratio });
  });
  $("threshold").addEventListener("input", (event) => move({ k: Math.min(points.n - 1, Number(event.target.value)) }));
  $("alarms").addEventListener("input", (event) => move({ k: points.nearestAlarms(Number(event.target.value), state.prevalence) }));
  $("prevalence").addEventListener("input", (event) => move({ prevalence: 10 ** Number(event.target.value) }, limits.length > 0));
  $("as-here").addEventListener("click", () => move({ prevalence: null }, true));
  $("reset").addEventListener("click", () => { move({ k: data.recommended, prevalence: null }, true); text($("answer"), ""); });
  $("near").addEventListener("click", () => look(true));
  $("all").addEventListener("click", () => look(false));
  $("quantity").addEventListener("change", bound);
  $("box").addEventListener("submit", find);
  $("copy").addEventListener("click", async () => {
    const done = () => { text($("copy"), "copied"); setTimeout(() => text($("copy"), "copy"), 1500); };
    try {
      await navigator.clipboard.writeText($("code").textContent);
      done();
    } catch (refused) { // an old browser, or a frame that may not: select it, so that a key copies it
      getSelection().selectAllChildren($("code"));
      if (document.execCommand("copy")) done();
    }
  });
  // The nearest point of the curve to a click or a drag.
  chart.svg.addEventListener("pointerdown", (event) => { chart.svg.setPointerCapture(event.pointerId); drag(event); });
  chart.svg.addEventListener("pointermove", (event) => { if (event.buttons) drag(event); });
  function drag(event) {
    const frame = chart.svg.getBoundingClientRect(), scale = chart.width / frame.width;
    const x = (event.clientX - frame.left) * scale, y = (event.clientY - frame.top) * scale;
    move({ k: points.least((k) => (chart.x(points.fpr(k)) - x) ** 2 + (chart.y(points.tpr(k)) - y) ** 2) });
  }
  let width = chart.place.clientWidth;
  new ResizeObserver(() => {
    if (chart.place.clientWidth !== width) { width = chart.place.clientWidth; show(true); }
  }).observe(chart.place);
  begin();
})();
