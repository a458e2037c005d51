"""The page in a real browser: controls move the point, and what it shows is what Python's objects say, digit by digit."""

import json
import re

import numpy as np
import pytest

import steelyard as sy

SHARES = {"tpr", "fpr", "Precision()", "fnr", "tnr"}


class Page:
    """A report that is open in the browser, and the hands of a user."""

    def __init__(self, browser, report, path):
        report.save(path)
        self.browser, self.report, self.path = browser, report, path
        browser.get_log("browser")
        browser.get_log("performance")
        browser.get(path.as_uri())

    def run(self, script, *arguments):
        return plain(self.browser.execute_script(script, *arguments))

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0]).textContent", selector)

    def settled(self):
        self.browser.execute_async_script(
            "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(done))"
        )

    def slide(self, name, value):
        self.run(
            "const s = document.getElementById(arguments[0]); s.focus(); s.value = arguments[1];"
            "s.dispatchEvent(new Event('input', {bubbles: true}))",
            name,
            str(value),
        )
        self.settled()
        return float(self.run("return document.getElementById(arguments[0]).value", name))

    def click(self, name):
        self.run("document.getElementById(arguments[0]).click()", name)
        self.settled()

    def place(self):
        """Of the chosen point on the plane, in pixels."""
        return self.run(
            "const p = document.getElementById('here'); return p && [p.getAttribute('cx'), p.getAttribute('cy')]"
        )

    def table(self, name):
        return self.run(
            "return Array.from(document.querySelectorAll(`#${arguments[0]} tbody tr`), row => "
            "Array.from(row.cells, cell => cell.innerText))",
            name,
        )

    def figures(self):
        return self.run(
            "return Object.fromEntries(Array.from(document.querySelectorAll('#figures tbody tr'), row => "
            "[row.dataset.name, [row.querySelector('.value').textContent, row.querySelector('.ends').textContent]]))"
        )

    def shows(self, point):
        """Compare all that is shown with an OperatingPoint."""
        assert self.figures() == expected_figures(point)
        tp, fp, fn, tn = point.counts
        cells = [cell.split("\n")[0] for row in self.table("counts") for cell in row[1:]]
        assert cells == [f"{count:,}" for count in (tp, fn, fp, tn)]
        assert float(re.search(r"(?:threshold=|\.at\()([^,)]+)", self.text("#code"))[1]) == point.threshold
        assert self.text("#threshold-out") == js_short(point.threshold)
        changed = self.text("#changed")
        if point.changed != (0, 0):
            more, fewer = point.changed
            assert f"{more + fewer:,} of " in changed
            assert f"{more:,} are called in addition, {fewer:,} no longer" in changed
        for row, (name, figures) in zip(self.table("groups"), point.groups.items(), strict=False):
            assert row[0] == name
            shown = [cell.replace("\n", " ") for cell in row[4:]]
            assert shown == [group_cell(figures.get(rate)) for rate in ("tpr", "fpr", "Precision()")]


def plain(found):
    """The same with plain spaces."""
    if isinstance(found, str):
        return found.replace("\u00a0", " ")
    if isinstance(found, list):
        return [plain(one) for one in found]
    return {name: plain(one) for name, one in found.items()} if isinstance(found, dict) else found


def written(name, value):
    if name == "alarms":
        return f"{value:.1f}"
    return (f"{100 * value:.2f} %" if name in SHARES else f"{value:.4f}").replace("-", "−")


def expected_figures(point):
    figures = {name: one for name, one in point.figures.items() if name not in ("prevalence", "Recall()")}
    return {
        name: [written(name, one.value), f"{written(name, one.low)} – {written(name, one.high)}"]
        for name, one in (figures | {"alarms": point.alarms}).items()
    }


def group_cell(figure):
    return "–" if figure is None else f"{100 * figure.value:.1f} % {100 * figure.low:.1f} – {100 * figure.high:.1f}"


def js_short(number):
    """Six digits, without zeros at the end."""
    text = f"{number:.6g}"
    return text.replace("e-0", "e-")


@pytest.fixture
def page(browser, report, tmp_path):
    made = Page(browser, report, tmp_path / "report.html")
    yield made
    assert_quiet(made)


def assert_quiet(page):
    """Nothing went wrong, and nothing was asked of anybody."""
    assert page.browser.get_log("browser") == []
    asked = [json.loads(entry["message"])["message"] for entry in page.browser.get_log("performance")]
    urls = {one["params"]["request"]["url"] for one in asked if one["method"] == "Network.requestWillBeSent"}
    assert {url for url in urls if not url.startswith("data:")} <= {page.path.as_uri()}


def test_it_opens_at_the_recommended_point(page, report):
    page.shows(report.recommended_)
    assert "recommended point" in page.text("#changed")
    assert "✓ promised by" in page.text("#limits")


def test_each_slider_moves_the_point(page, report):
    seen = [page.place()]
    ratio = 10 ** page.slide("cost", 1.3)
    page.shows(report.at(cost_ratio=ratio))
    seen.append(page.place())
    k = int(page.slide("threshold", 640))
    page.shows(report.at(report._reading.points.threshold(k)))
    seen.append(page.place())
    alarms = page.slide("alarms", 57)
    page.shows(report.at(alarms=alarms))
    seen.append(page.place())
    assert len({tuple(one) for one in seen}) == len(seen)
    share = 10 ** page.slide("prevalence", -1.7)
    page.shows(report._point(report.at(alarms=alarms).index, share))
    assert page.place() == seen[-1]  # the rates stay, precision does not
    page.shows(report.at(cost_ratio=10 ** page.slide("cost", 1.9), prevalence=share))
    page.shows(report.at(alarms=page.slide("alarms", 20), prevalence=share))
    page.click("reset")
    page.shows(report.recommended_)


def test_prices_at_which_a_point_is_the_cheapest(page, report):
    for price in (-0.5, 0.4, 1.1):
        page.slide("cost", price)
        low, high = report.at(cost_ratio=10**price).cost_ratios
        said = page.text("#cost-hint").removeprefix("this point is the cheapest for ").split(" to ")
        assert [float(one) for one in said] == pytest.approx([low, high], rel=0.06)


def test_a_point_for_every_number_of_alarms(page, report):
    """Half-way cases, ends and ties, by what a screen reader hears."""
    for k in np.linspace(0, len(report._reading.points) - 1, 9).astype(int).tolist():
        k = int(page.slide("threshold", k))
        page.shows(report._point(k, None))
        assert page.run("return document.getElementById('alarms').getAttribute('aria-valuetext')") == (
            f"{report._point(k, None).alarms.value:.1f}"
        )


@pytest.mark.parametrize(
    ("quantity", "sense", "bound", "limit"),
    [
        ("fpr", "<=", "2", "fpr <= 0.02"),
        ("Precision()", ">=", "75", "Precision() >= 0.75"),
        ("tpr", ">=", "90", "tpr >= 0.9"),
        ("alarms", "<=", "40", "prevalence * tpr + (1 - prevalence) * fpr <= 0.04"),
    ],
)
def test_the_constraint_box_finds_the_best_point(page, report, quantity, sense, bound, limit):
    fill = """
    const set = (id, value, kind) => { const e = document.getElementById(id); e.value = value; e.dispatchEvent(new Event(kind)); };
    set('quantity', arguments[0], 'change'); set('sense', arguments[1], 'change'); set('bound', arguments[2], 'input');
    document.getElementById('keep').checked = arguments[3];
    document.getElementById('box').requestSubmit();"""
    page.run(fill, quantity, sense, bound, False)
    page.settled()
    page.shows(report.best(limit))
    assert "best" in page.text("#answer")
    page.run(fill, quantity, sense, bound, True)
    page.settled()
    both = [limit, *report.constraints]
    try:
        page.shows(report.best(both))
    except sy.InfeasibleError as error:
        assert "No point" in page.text("#answer")
        page.shows(report._point(error.closest.index, None))


def test_baselines_and_strange_names(page, report):
    table = page.table("baselines")
    tp, fp, fn, _ = report._baselines["plain <b>"]
    assert table[1][:3] == [
        "1  plain <b>".replace("  ", " "),
        f"{2 * tp / (2 * tp + fp + fn):.4f}",
        f"{100 * tp / (tp + fn):.1f} %",
    ]
    assert page.table("groups")[0][0] == "<script>alert(1)</script>"
    assert page.run("return document.querySelectorAll('main script, main b.no').length") == 0


def test_at_most_500_points_are_drawn(page):
    for name in ("all", "near"):
        page.click(name)
        path = page.run("return document.querySelector('path.curve').getAttribute('d')")
        assert 20 < path.count("L") + 1 <= 500


def test_a_click_on_the_plane_takes_the_nearest_point(page):
    page.click("all")
    before = page.place()
    page.run(
        "const s = document.querySelector('#chart svg'), f = s.getBoundingClientRect(); s.setPointerCapture = () => {};"
        "s.dispatchEvent(new PointerEvent('pointerdown', {clientX: f.left + f.width / 2, clientY: f.top + 20, buttons: 1, pointerId: 1}))"
    )
    page.settled()
    assert page.place() != before


def test_by_keys_alone(page, browser):
    from selenium.webdriver import ActionChains, Keys

    before, seen = page.text("#threshold-out"), []
    for _ in range(40):
        ActionChains(browser).send_keys(Keys.TAB).perform()
        seen.append(page.run("return document.activeElement.id || document.activeElement.tagName"))
        if seen[-1] == "threshold":
            ActionChains(browser).send_keys(Keys.ARROW_LEFT, Keys.ARROW_LEFT).perform()
            page.settled()
            assert page.text("#threshold-out") != before
    assert {
        "near",
        "all",
        "reset",
        "cost",
        "threshold",
        "alarms",
        "prevalence",
        "quantity",
        "sense",
        "bound",
        "copy",
    } <= set(seen)


def test_what_a_screen_reader_finds(page):
    """Every control has a name, the picture a description, the change of the point is announced, tables have heads."""
    unnamed = page.run(
        "return Array.from(document.querySelectorAll('input, select, button'), e => e.labels && e.labels.length ? e.labels[0].textContent : e.textContent)"
        ".filter(name => !name.trim()).length"
    )
    assert unnamed == 0
    assert "recall of" in page.run("return document.querySelector('#chart svg').getAttribute('aria-label')")
    assert page.run("return document.getElementById('summary').getAttribute('aria-live')") == "polite"
    assert page.run(
        "return Array.from(document.querySelectorAll('tbody tr')).every(row => row.querySelector('th[scope=row]'))"
    )
    before = page.text("#summary")
    page.slide("alarms", 300)
    assert page.text("#summary") != before


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_sticks_out_and_text_can_be_read(page, browser, width, scheme):
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    )
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        page.settled()
        assert page.run("return document.documentElement.scrollWidth") <= width
        for selector in ("body", ".hint", "#limits li", "#figures .ends", "#summary"):
            assert page.run(CONTRAST, selector) >= 4.5, selector
        labels = page.run(
            "return Array.from(document.querySelectorAll('#chart text'), e => { const r = e.getBoundingClientRect(); return [e.textContent, r.left, r.top, r.right, r.bottom] })"
        )
        assert not overlapping(labels)
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


# The contrast of WCAG between the text of an element and the first ground below it that is not clear.
CONTRAST = """
const light = ([r, g, b]) => [r, g, b].map(v => v / 255).map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
  .reduce((sum, v, k) => sum + v * [0.2126, 0.7152, 0.0722][k], 0);
const numbers = text => text.match(/[0-9.]+/g).map(Number);
let e = document.querySelector(arguments[0]);
const ink = light(numbers(getComputedStyle(e).color));
let ground = numbers(getComputedStyle(e).backgroundColor);
while (ground.length === 4 && ground[3] === 0) { e = e.parentElement; ground = numbers(getComputedStyle(e).backgroundColor); }
const [a, b] = [ink, light(ground)].sort((x, y) => y - x);
return (a + 0.05) / (b + 0.05);
"""


def overlapping(labels):
    def meet(a, b):
        return a[1] < b[3] and b[1] < a[3] and a[2] < b[4] and b[2] < a[4]

    return [(a[0], b[0]) for k, a in enumerate(labels) for b in labels[:k] if meet(a, b)]


def test_a_path_by_its_tau(browser, path_report, tmp_path):
    page = Page(browser, path_report, tmp_path / "path.html")
    page.shows(path_report.recommended_)
    for k in (3, 200, 500):
        k = int(page.slide("threshold", k))
        page.shows(path_report._point(k, None))
    page.shows(path_report.at(cost_ratio=10 ** page.slide("cost", 0.7)))
    assert_quiet(page)


def test_quantiles_of_beta_are_those_of_scipy(page):
    from scipy.special import betaincinv

    levels = [0.0005, 0.025, 0.3, 0.5, 0.975, 0.9995]
    for a, b in ((0.5, 3.5), (45.5, 15.5), (0.5, 60000.5), (283301.5, 297711.5), (1.5, 0.5), (500000.5, 0.5)):
        found = page.run(f"return Array.from(betaQuantiles({a}, {b}, {levels}))")
        assert found == pytest.approx(betaincinv(a, b, levels), rel=1e-9, abs=1e-14)


def test_numbers_are_rounded_as_python_does(page):
    given = [0.5, 1.5, 2.5, 0.125, 0.375, 0.03125, 1 / 3, 0.00005, 12.34565, 1e-9, 99.995, 0.045, 0.0625]
    for digits in (0, 1, 2, 4):
        found = page.run("return arguments[0].map(x => fixed(x, arguments[1]))", given, digits)
        assert found == [f"{x:.{digits}f}" for x in given]
    assert page.run("return [fixed(-0.00001, 2), fixed(-1.25, 1), fixed(NaN, 1)]") == ["0.00", "−1.2", "–"]


def test_the_view_of_a_notebook_works_in_its_frame(browser, report, tmp_path):
    path = tmp_path / "notebook.html"
    path.write_text(f"<!doctype html><meta charset=utf-8><body>{report._repr_html_()}</body>", encoding="utf-8")
    browser.get_log("browser")
    browser.get(path.as_uri())
    browser.switch_to.frame(0)
    try:
        shown = browser.execute_script("return document.getElementById('threshold-out').textContent")
        assert shown == js_short(report.recommended_.threshold)
        assert browser.execute_script("return document.querySelectorAll('#groups tbody tr').length") == 3
    finally:
        browser.switch_to.default_content()
    assert browser.get_log("browser") == []
