"""How large the page of a report on 581,012 rows of covertype is, how long it takes to make, and to open and to move.

The page is opened in Chromium without a window (`apt-get install chromium chromium-driver`, `pip install selenium`);
opening is from the start of the navigation until the point is drawn and all figures stand, by the browser's own clock.
Class 2 against the rest, where nearly every row has a score of its own; with groups, the four wilderness areas.
"""

import os
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from selenium import webdriver
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import steelyard as sy
from _run import write

FITTED, OPENED = 20_000, 15  # rows that are fitted on; times that the page is opened


def browser():
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1280,900"):
        options.add_argument(flag)
    service = webdriver.ChromeService(executable_path=shutil.which("chromedriver"), log_output=subprocess.DEVNULL)
    return webdriver.Chrome(options=options, service=service)


def timed(page):
    """Seconds until it is open, of each of several times, and until a slider has moved everything."""
    driver = browser()
    opened, moved = [], []
    for _ in range(OPENED):
        driver.get(page.as_uri())
        entry = "performance.getEntriesByType('navigation')[0]"
        opened.append(driver.execute_script(f"return {entry}.domContentLoadedEventEnd / 1000"))
        moved += [driver.execute_async_script(MOVE, alarms) / 1000 for alarms in (50, 300, 450)]
    driver.quit()
    return {
        "open_s": opened,
        "open_median_s": statistics.median(opened),
        "open_best_s": min(opened),
        "move_median_s": statistics.median(moved),
    }


MOVE = """
const [alarms, done] = arguments, slider = document.getElementById('alarms'), start = performance.now();
slider.value = alarms;
slider.dispatchEvent(new Event('input'));
requestAnimationFrame(() => done(performance.now() - start));
"""


def main():
    with np.load(Path(os.environ["STEELYARD_DATA"]) / "covertype.npz") as held:
        X, y = held["X"].astype(np.float64), held["y"] == 2
    some = np.random.default_rng(0).permutation(len(y))[:FITTED]
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    tuned = sy.ThresholdClassifier(model, "f1", subject_to="fpr <= 0.1", delta=0.05, cv=0.3, random_state=0)
    tuned.fit(X[some], y[some])
    found = {"rows": len(y), "cpus": os.cpu_count()}
    with tempfile.TemporaryDirectory() as folder:
        for name, slices in (("plain", None), ("groups", X[:, 10:14].argmax(axis=1))):
            page, start = Path(folder) / f"{name}.html", time.perf_counter()
            report = sy.Report(tuned, X, y, slices=slices)
            report.save(page)
            seconds = time.perf_counter() - start
            points = len(report._reading.points)
            found[name] = {"bytes": page.stat().st_size, "points": points, "make_s": seconds, **timed(page)}
    write("report", found)


if __name__ == "__main__":
    main()
