"""The command line: ``steelyard demo``."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from . import __version__


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="steelyard", description="Train a classifier for the measure you report.")
    parser.add_argument("--version", action="version", version=f"steelyard {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    demo = commands.add_parser("demo", help="a table of goals and contenders, and a picture, in under 30 seconds")
    demo.add_argument("--svg", type=Path, default=Path("steelyard-demo.svg"), help="where to write the picture")
    given = parser.parse_args(arguments)
    return _demo(given.svg)


def _demo(svg: Path) -> int:
    from . import demo

    start = time.perf_counter()
    print("Finding the eights among scikit-learn's 1,797 digits: half to train, half to test,")
    print(f"mean over {demo.SPLITS} splits; higher is better.\n")
    outcomes = list(demo.run())
    print(demo.table(outcomes))
    print(f"\n{demo.leads(outcomes)}")
    try:
        svg.write_text(demo.picture(outcomes), encoding="utf-8")
    except OSError as error:
        print(f"\nThe picture could not be written to {svg}: {error.strerror}. Give another place with --svg.")
        return 1
    print(f"\nThe points in the (TPR, TNR) plane: {svg}    [{time.perf_counter() - start:.0f} s]")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
