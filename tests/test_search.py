"""What people type into the search of the built docs, and the page that must come first: asked of a real browser."""

import sys
import urllib.parse
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BUILT = ROOT / "docs" / "_build"
QUESTIONS = {
    "multiclass": "classes",
    "xgboost": "comparing",
    "imbalanced": "thresholds",
    "precision at least": "promises",
    "drift": "counting",
    "false alarm": "promises",
    "f1": "thresholds",
    "fairness": "promises",
    "gpu": "gpu",
    "cost": "path",
    "stream": "online",
    "pytorch": "neural",
    "TunedThresholdClassifierCV": "coming_from/tuned_threshold",
    "ThresholdClassifier": "api/steelyard.ThresholdClassifier",
}


@pytest.fixture(scope="module")
def first():
    """The first hit for a question, as the name of its page."""
    if not (BUILT / "search.html").exists():
        pytest.skip("the docs are not built: sphinx-build docs docs/_build")
    pytest.importorskip("selenium", reason="a browser is driven by selenium: pip install 'steelyard[docs]'")
    sys.path.insert(0, str(ROOT / "docs"))
    import look

    if not look.has_browser():
        pytest.skip("chromium and chromedriver are not here (Debian: chromium chromium-driver)")
    from selenium.webdriver.support.ui import WebDriverWait

    server, address = look.serve(BUILT)
    driver = look.browser()

    def ask(question):
        driver.get(f"{address}/search.html?q={urllib.parse.quote(question)}")
        # Sphinx says how many it found when it has found all.
        wait = WebDriverWait(driver, 30)
        wait.until(lambda d: "found" in d.execute_script("return document.querySelector('#search-results').innerText"))
        found = "return document.querySelector('ul.search li a')"
        link = wait.until(lambda d: d.execute_script(f"{found} && document.querySelector('ul.search li a').href"))
        return urllib.parse.urlparse(link).path.removeprefix("/").removesuffix(".html")

    yield ask
    driver.quit()
    server.shutdown()
    sys.path.remove(str(ROOT / "docs"))


@pytest.mark.slow
@pytest.mark.parametrize("question", QUESTIONS)
def test_the_right_page_comes_first(first, question):
    assert first(question) == QUESTIONS[question]
