"""What can be asked of the command line."""

from __future__ import annotations

import argparse
from pathlib import Path

from .. import __version__

MODELS = ("threshold", "batch", "online", "path", "kernel", "count")
FORMATS = ("csv", "parquet", "svmlight", "npz")


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="steelyard", description="Train a classifier for the measure you report.")
    made.add_argument("--version", action="version", version=f"steelyard {__version__}")
    made.add_argument("--debug", action="store_true", help="show tracebacks")
    commands = made.add_subparsers(dest="command", required=True)
    demo = commands.add_parser(
        "demo", help="a search under a limit, in three tables and a picture, in under 30 seconds"
    )
    demo.add_argument("--svg", type=Path, default=Path("steelyard-demo.svg"), help="where to write the picture")
    _add_measures(commands.add_parser("measures", help="the measures that there are, or what is known about one"))
    _add_compare(commands.add_parser("compare", help="which model, and which door, for a measure on a table"))
    _add_report(commands.add_parser("report", help="a page with every operating point of a model, to move by hand"))
    _add_fit(commands.add_parser("fit", help="a model for a measure, written to a file"))
    predict = commands.add_parser("predict", help="labels of new rows by a model, in constant memory")
    _add_model(predict)
    predict.add_argument("--scores", action="store_true", help="the model's score beside the label")
    predict.add_argument("--out", type=Path, help="a file for the labels; standard output if not given")
    quantify = commands.add_parser("quantify", help="how many of the new rows are of each class")
    _add_model(quantify)
    quantify.add_argument("--confidence", type=float, default=0.95)
    _add_decoys(commands.add_parser("decoys", help="rescore peptide-spectrum matches and list what is accepted"))
    return made


def _add_decoys(command: argparse.ArgumentParser) -> None:
    command.add_argument("data", nargs="+", help="Percolator's pin, also .gz, or Parquet with the same columns")
    command.add_argument(
        "--max-q", type=float, default=0.01, help="the false-discovery rate to train and to report for"
    )
    command.add_argument(
        "--proof", choices=("reset",), help="half of the decoys train and the others judge; needs --score"
    )
    command.add_argument(
        "--score", help="with --proof: the feature by which matches of a spectrum compete beforehand; larger is better"
    )
    command.add_argument("--decoy-prefix", help="of proteins, for a list of proteins; each competes with its decoy")
    command.add_argument("--folds", type=int, default=3, help="of whole spectra, each scored by what the others teach")
    command.add_argument("--seed", type=int, default=0, help="of the folds, the coins of --proof, and ties")
    command.add_argument("--out", type=Path, default=Path(), help="the folder for steelyard.psms.txt and so on")
    command.add_argument("--decoys", action="store_true", help="lists of decoys too")
    command.add_argument("--json", action="store_true", help="the counts for machines")
    command.add_argument("--quiet", action="store_true")


def _add_measures(command: argparse.ArgumentParser) -> None:
    command.add_argument("expression", nargs="?", help="explained, such as '0.5*BalancedAccuracy() + 0.5*NegKLD()'")
    command.add_argument("--json", action="store_true")


def _add_compare(command: argparse.ArgumentParser) -> None:
    _add_table(command)
    _add_goal(command)
    command.add_argument("--folds", type=int, default=5)
    command.add_argument("--jobs", type=int, default=None, help="processes")
    command.add_argument("--out", type=Path, help="a file for the recommended model")


def _add_report(command: argparse.ArgumentParser) -> None:
    _add_table(command)
    _add_goal(command)
    command.set_defaults(measure=None)
    command.add_argument(
        "--from", dest="source", help="a model that fit or compare has written; DATA are rows that it has not seen. "
        "Without it a model is fitted on 70 %% of DATA, and judged on the others",
    )  # fmt: skip
    command.add_argument("--model", choices=MODELS[:2] + MODELS[3:5], default="threshold", help="as of fit")
    command.add_argument("--groups", help="a column of groups that are judged apart")
    command.add_argument("--trusted", action="append", help="as of predict")
    command.add_argument("--save-model", type=Path, help="a file for the model that was fitted")
    command.add_argument("--out", type=Path, default=Path("report.html"), help="the page")


def _add_fit(command: argparse.ArgumentParser) -> None:
    _add_table(command)
    _add_goal(command)
    command.add_argument(
        "--model", choices=MODELS, default="threshold",
        help="threshold: logistic regression with the threshold set exactly; batch: a linear model trained for the "
        "measure; online: one pass, any size of file; path, kernel: the whole path of costs; count: for quantify",
    )  # fmt: skip
    command.add_argument("--features", type=int, help="columns of an svmlight file, for --model online")
    command.add_argument("--out", type=Path, required=True, help="the file of the model")


def _add_table(command: argparse.ArgumentParser) -> None:
    command.add_argument("data", help="CSV, Parquet, svmlight or npz; - is a CSV on standard input")
    command.add_argument("--target", help="the column to predict (CSV and Parquet)")
    _add_reading(command)


def _add_reading(command: argparse.ArgumentParser) -> None:
    command.add_argument("--format", choices=FORMATS, help="if the name of the file does not say it")
    command.add_argument("--delimiter", help="of a CSV; comma, semicolon or tab is found out")
    command.add_argument("--json", action="store_true", help="the result for machines")
    command.add_argument("--quiet", action="store_true", help="no progress")


def _add_goal(command: argparse.ArgumentParser) -> None:
    command.add_argument("--measure", default="f1", help="a name (f1) or an expression; `steelyard measures` has them")
    command.add_argument(
        "--subject-to", action="append", help="such as 'fpr <= 0.01'; more with a comma or by repeating"
    )
    command.add_argument("--delta", type=float, help="the constraint holds on unseen rows but for this probability")
    command.add_argument("--pos-label", help="the positive class; the last of the two in order if not given")
    command.add_argument("--seed", type=int, default=0)


def _add_model(command: argparse.ArgumentParser) -> None:
    command.add_argument("model", help="a file that fit or compare has written, or sy.save")
    command.add_argument("data", help="CSV, Parquet, svmlight or npz; - is a CSV on standard input")
    command.add_argument(
        "--trusted", action="append", help="a type inside the model that is run, as the refusal names it; with care"
    )
    _add_reading(command)
