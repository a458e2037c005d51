"""All benchmarks: ``python -m benchmarks`` lists them, ``python -m benchmarks promise online`` runs some, ``all`` all.

``--quick`` is for a look whether they still run: fewer rows, splits, seeds and runs, and results in ``results/quick``
that no page shows. What is cut are the constants at the top of a file whose names are in `CUT`, the numbers that its
own arguments ask for, and the rows of the shared data sets.
"""

import argparse
import ast
import os
import re
import sys
import traceback
from pathlib import Path

HERE = Path(__file__).parent
# Constants of a file, and what a quick run makes of them: at most so many.
CUT = {"ROWS": 2_000, "MOST": 600, "MOST_ROWS": 300, "RUNS": 20, "REPEATS": 2, "SPLITS": 2, "SEEDS": 2, "PASSES": 2}
# Packages that some of them stand beside, and the extra that brings each; others are installed by their own name.
EXTRAS = {
    "dask": "dask", "distributed": "dask", "torch": "torch", "quapy": "quapy", "mlquantify": "quapy",
    "mokapot": "mokapot", "imblearn": "bench", "mapie": "bench", "matplotlib": "plot", "pyarrow": "arrow",
    "selenium": "docs",
}  # fmt: skip
NAMES = {"liblinear": "liblinear-official"}  # where the package index has another name


def programs():
    """Name and path of each, those of the papers with their folder."""
    found = sorted([*HERE.glob("[a-z]*.py"), *(HERE / "papers").glob("[a-z]*.py")])
    return {str(path.relative_to(HERE).with_suffix("")): path for path in found if _is_program(path)}


def _is_program(path):
    return 'if __name__ == "__main__"' in path.read_text()


def first_line(path):
    """What a benchmark asks: the first paragraph of its docstring."""
    return " ".join((ast.get_docstring(ast.parse(path.read_text())) or "").split("\n\n")[0].split())


def fewer(value, most):
    """At most so many: a number, or as many of a sequence or of a range."""
    if isinstance(value, dict):
        return {key: fewer(one, most) for key, one in value.items()}
    if isinstance(value, (tuple, list, range)):
        return value[:most]
    return min(value, most) if isinstance(value, int) else value


class Fewer(ast.NodeTransformer):
    """``SPLITS, FEWEST = 5, 8`` becomes itself with ``SPLITS = fewer(SPLITS, 2)`` behind it."""

    def visit_Assign(self, node):
        names = {n.id for target in node.targets for n in ast.walk(target) if isinstance(n, ast.Name)}
        cut = [f"{name} = __fewer({name}, {CUT[name]})" for name in sorted(names & CUT.keys())]
        return [node, *ast.parse("\n".join(cut)).body]

    def visit_FunctionDef(self, node):
        return node  # what is inside functions stays


def arguments(text, words, quick):
    """The words given, and for a quick run small numbers for the program's own ``--runs`` and the like."""
    asked = re.findall(r'add_argument\("(--(?:\w+-)?(?:runs|splits|sets|promises|rows))", type=int', text)
    return [*words, *(part for name in asked for part in (name, "2000" if name == "--rows" else "5") if quick)]


def run(path, words=(), quick=False):
    """As a program, in this process."""
    os.environ["STEELYARD_QUICK"] = "1" if quick else ""
    text = path.read_text()
    tree = ast.parse(text)
    if quick:
        tree = ast.fix_missing_locations(Fewer().visit(tree))
    sys.path[:0] = [str(path.parent), str(HERE)]
    sys.argv = [str(path), *arguments(text, words, quick)]
    exec(compile(tree, str(path), "exec"), {"__name__": "__main__", "__file__": str(path), "__fewer": fewer})


def missing(name, error):
    """What to install for a benchmark that stands beside a package which is not here."""
    package = error.name.split(".")[0]
    wanted = f"'steelyard[{EXTRAS[package]}]'" if package in EXTRAS else NAMES.get(package, package)
    return f"{name} was not run: it needs {package} (pip install {wanted})"


def in_a_process_of_its_own(name, path, words, quick):
    """Constants, threads and memory begin anew; the exit status comes back."""
    if os.fork() == 0:
        status = 1
        try:
            run(path, words, quick)
            status = 0
        except ModuleNotFoundError as error:
            print(missing(name, error))
        except SystemExit as end:
            status = end.code or 0
            if not isinstance(status, int):  # a text is a failure with its reason
                print(status)
                status = 1
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush()
        os._exit(status)
    return os.waitstatus_to_exitcode(os.wait()[1])


def main(argv=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.split("\n\n")[0])
    parser.add_argument("names", nargs="*", help="which to run; 'all' for all; none lists them")
    parser.add_argument("--quick", action="store_true", help="fewer rows, splits, seeds and runs; results/quick")
    given, words = parser.parse_known_args(argv)
    known = programs()
    if not given.names:
        width = max(map(len, known))
        print(*(f"{name:{width}}  {first_line(path)}" for name, path in known.items()), sep="\n")
        return 0
    unknown = [name for name in given.names if name not in known and name != "all"]
    if unknown:
        parser.error(f"no benchmark is called {', '.join(unknown)}; python -m benchmarks lists them")
    failed = []
    for name in known if "all" in given.names else given.names:
        print(f"== {name}", flush=True)
        if in_a_process_of_its_own(name, known[name], words, given.quick):
            failed.append(name)
    if failed:
        print("did not come to their end:", ", ".join(failed))
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
