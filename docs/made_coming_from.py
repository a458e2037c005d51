"""What the code of the "Coming from" pages printed, from ``benchmarks/results/coming_from.json``."""

import json


def texts(results, folder):
    pages = json.loads((results / "coming_from.json").read_text())["pages"]
    for name, page in pages.items():
        for side in ("theirs", "ours"):
            if side in page:
                (folder / f"coming_{name}_{side}.txt").write_text(page[side] + "\n")
        if "with" in page:
            (folder / f"coming_{name}_with.md").write_text(f"Both blocks were run, theirs with {page['with']}:\n")
