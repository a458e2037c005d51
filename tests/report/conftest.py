"""Models and rows for reports, and a browser to open them in."""

import importlib.util
import os
import shutil
import subprocess

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import steelyard as sy


@pytest.fixture(scope="session")
def rows():
    """Rows to fit on, and others, with words as labels and a group of a strange name."""
    X, y = make_classification(1600, 8, n_informative=4, weights=[0.85], flip_y=0.03, random_state=3)
    y = np.where(y == 1, "default", "paid")
    group = np.where(X[:, 0] > 0.5, "<script>alert(1)</script>", np.where(X[:, 1] > 0, "north", "south"))
    return (X[:800], y[:800]), (X[800:], y[800:], group[800:])


@pytest.fixture(scope="session")
def tuned(rows):
    """A threshold for F1 under a cap that is promised."""
    (X, y), _ = rows
    model = sy.ThresholdClassifier(
        LogisticRegression(), "f1", subject_to="fpr <= 0.05", delta=0.1, cv=0.5, pos_label="default", random_state=0
    )
    return model.fit(X, y)


@pytest.fixture(scope="session")
def report(rows, tuned):
    (X, y), (X_new, y_new, group) = rows
    plain = {"plain <b>": LogisticRegression().fit(X, y)}
    return sy.Report(tuned, X_new, y_new, slices=group, baselines=plain)


@pytest.fixture(scope="session")
def path_report(rows):
    (X, y), (X_new, y_new, _) = rows
    path = make_pipeline(StandardScaler(), sy.CostPath(C=0.05, pos_label="default")).fit(X[:300], y[:300])
    return sy.Report(
        path, X_new, y_new, measure="0.5*BalancedAccuracy() + 0.5*NegKLD()", subject_to="Precision() >= 0.5"
    )


@pytest.fixture(scope="session")
def browser():
    """Chromium without a window, that writes down what it asks of the network and what goes wrong."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    missing = [] if chromium and driver else ["Chromium with its driver (apt-get install chromium chromium-driver)"]
    missing += [] if importlib.util.find_spec("selenium") else ["selenium (pip install selenium)"]
    if missing and "STEELYARD_BROWSER" not in os.environ:  # CI sets it, where a browser that is missing is a mistake
        pytest.skip(f"no {' and no '.join(missing)}")
    assert not missing, missing
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1280,900", "--hide-scrollbars"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.ChromeService(executable_path=driver, log_output=subprocess.DEVNULL)
    made = webdriver.Chrome(options=options, service=service)
    yield made
    made.quit()
