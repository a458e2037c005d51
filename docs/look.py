"""Look at the built pages with a real browser: does anything scroll sideways, and what is it like in the dark?

given a folder of built pages; says which pages are wider than the screen at 1280 and at 390 pixels, which pictures
have no words for those who do not see them, and which links lead nowhere. ``--shots FOLDER`` keeps a picture of every
page at both widths, light and dark. Needs selenium and Debian's ``chromium`` and ``chromium-driver``.

    python docs/look.py docs/_build --shots shots
"""

import argparse
import functools
import http.server
import os
import re
import shutil
import sys
import threading
import urllib.parse
from pathlib import Path

WIDTHS = (1280, 390)  # a laptop and a phone
TALLEST = 12_000  # pixels of a picture; longer pages are cut there

# What sticks out of the page or is cut: elements that end right of the window, but not those inside a box that scrolls
# by itself (the article is none: the theme lets it scroll, and hides that it does), and text that its own box hides.
STICKS_OUT = """
document.querySelectorAll('article details').forEach(folded => { folded.open = true; });
const wide = document.documentElement.clientWidth;
const scrolls = e => e && e.tagName != 'ARTICLE'
  && (['auto', 'scroll'].includes(getComputedStyle(e).overflowX) || scrolls(e.parentElement));
const hides = e => getComputedStyle(e).overflowX == 'hidden' && e.scrollWidth > e.clientWidth + 1;
const shown = e => e.checkVisibility() && e.textContent.trim();
const out = [];
for (const e of document.querySelectorAll('article *, .prev-next-area *')) {
  const r = e.getBoundingClientRect();
  if (r.width > 0 && shown(e) && !scrolls(e) && (r.right > wide + 1 || hides(e)))
    out.push(e.tagName + '.' + e.className + ': ' + e.textContent.trim().slice(0, 60));
}
return [document.documentElement.scrollWidth, wide, out.slice(0, 5)];
"""
# Sphinx puts the file's name where nobody wrote words. The gallery's small pictures stand beside their titles.
SILENT = """
return [...document.querySelectorAll('article img')].filter(i => !i.closest('.sphx-glr-thumbnails'))
  .filter(i => !i.alt.trim() || /[.](svg|png)$/.test(i.alt)).map(i => i.src.split('/').pop())
"""
# At the wide size code that people copy and formulas are seen whole: which are cut, and by how many pixels?
CUT = """
const whole = ['div.highlight-python pre', 'div.highlight-r pre', 'div.formula'];
return [...document.querySelectorAll(whole.map(one => 'article ' + one).join(', '))]
  .filter(p => p.scrollWidth > p.clientWidth + 1)
  .map(p => (p.scrollWidth - p.clientWidth) + ' pixels of ' + p.textContent.trim().slice(0, 40))
"""


def has_browser():
    return bool(shutil.which("chromium") and shutil.which("chromedriver"))


def browser(width=1280, height=900):
    """Chromium without a window. Flags: CI runs as root, in containers whose shared memory is small."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for flag in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars", "--disable-gpu"):
        options.add_argument(flag)
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    resize(driver, width, height)
    return driver


def resize(driver, width, height):
    """Windows have a smallest width, phones are narrower: the page is told its size instead."""
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format, *args):
        pass


def serve(folder):
    """A server of the folder on a free port, and its address: search does not work from files."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, f"http://127.0.0.1:{server.server_port}"


def pages_of(folder):
    skipped = ("_static", "_modules", "_downloads", "_sources", "_images")
    found = (path.relative_to(folder) for path in sorted(folder.rglob("*.html")))
    return [str(path) for path in found if not str(path).startswith(skipped)]


def faults_of_page(driver, address, page, width):
    driver.get(f"{address}/{page}")
    reached, wide, out = driver.execute_script(STICKS_OUT)
    faults = [f"{page} at {width}: {reached} pixels wide, {'; '.join(out)}"] if reached > wide + 1 or out else []
    if width == max(WIDTHS):
        faults += [f"{page} at {width}: code is cut, {cut}" for cut in driver.execute_script(CUT)]
    return faults + [f"{page}: picture {name} has no words" for name in driver.execute_script(SILENT)]


def dead_links(folder):
    """Links between pages, and to places within them, that lead nowhere."""
    texts = {page: (folder / page).read_text() for page in pages_of(folder)}
    places = {page: set(re.findall(r'\bid="([^"]+)"', text)) for page, text in texts.items()}
    dead = []
    for page, text in texts.items():
        for link in set(re.findall(r'<a [^>]*href="([^"]+)"', text)):
            target, _, place = urllib.parse.unquote(link).partition("#")
            if re.match(r"[a-z]+:", target) or link == "#":
                continue
            to = os.path.normpath(os.path.join(os.path.dirname(page), target)) if target else page
            if not (folder / to).exists():
                dead.append(f"{page}: no {to}")
            elif place and to in places and place not in places[to]:
                dead.append(f"{page}: no place {place} in {to}")
    return dead


def shoot(driver, address, page, width, ground, path):
    for key in ("mode", "theme"):  # where the theme keeps the reader's choice
        driver.execute_script("localStorage.setItem(arguments[0], arguments[1])", key, ground)
    resize(driver, width, 900)
    driver.get(f"{address}/{page}")
    resize(driver, width, min(TALLEST, driver.execute_script("return document.documentElement.scrollHeight")))
    path.parent.mkdir(parents=True, exist_ok=True)
    driver.save_screenshot(str(path))


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--shots", type=Path)
    parser.add_argument("--only", help="pages whose name has this in it")
    given = parser.parse_args(argv)
    if not has_browser():
        print("not looked at: chromium and chromedriver are not here (Debian: chromium chromium-driver)")
        return 0
    server, address = serve(given.folder)
    driver = browser()
    pages = [page for page in pages_of(given.folder) if not given.only or given.only in page]
    try:
        faults = dead_links(given.folder)
        for width in WIDTHS:
            resize(driver, width, 900)
            faults += [fault for page in pages for fault in faults_of_page(driver, address, page, width)]
            for ground in ("light", "dark") if given.shots else ():
                for page in pages:
                    shoot(driver, address, page, width, ground, given.shots / f"{width}_{ground}" / f"{page[:-5]}.png")
    finally:
        driver.quit()
        server.shutdown()
    print(*dict.fromkeys(faults), sep="\n")
    print(f"{len(pages)} pages at {' and '.join(map(str, WIDTHS))} pixels: {len(set(faults))} faults")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
