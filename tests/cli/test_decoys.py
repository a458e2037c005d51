"""``steelyard decoys``: from a pin to lists of matches, peptides and proteins in mokapot's format."""

import csv
import json
import re

import numpy as np
import pytest

import steelyard as sy
from steelyard.cli import main

COLUMNS = ["SpecId", "Label", "ScanNr", "Peptide", "mokapot score", "mokapot q-value", "mokapot PEP", "Proteins"]


@pytest.fixture(scope="module")
def pin(tmp_path_factory):
    """Two matches a spectrum, a third of the spectra right; several peptides of a protein."""
    rng, n = np.random.default_rng(0), 3000
    right = (np.arange(n) % 2 == 0) & (rng.random(n) < 0.4)
    target = right | (rng.random(n) < 0.5)
    X = rng.normal(size=(n, 3))
    X[right] += [3.0, 2.0, 0.0]
    lines = ["SpecId\tLabel\tScanNr\tscore\tother\tnoise\tPeptide\tProteins"]
    for i in range(n):
        numbers = "\t".join(f"{x:.6f}" for x in X[i])
        protein = f"{'' if target[i] else 'decoy_'}protein{i % 400}" + ("\tprotein_more" if i % 50 == 0 else "")
        lines.append(
            f"{'right' if right[i] else 'wrong'}_{i}\t{1 if target[i] else -1}\t{i // 2}\t{numbers}\tPEP{i % 2500}\t{protein}"
        )
    path = tmp_path_factory.mktemp("pin") / "matches.pin"
    path.write_text("\n".join(lines) + "\n")
    return path


def rows(path):
    with open(path) as file:
        found = list(csv.reader(file, delimiter="\t"))
    assert found[0] == COLUMNS
    return [dict(zip(COLUMNS, [*row[:7], "\t".join(row[7:])], strict=True)) for row in found[1:]]


def test_lists_of_matches_peptides_and_proteins(pin, tmp_path, capsys):
    assert main(["decoys", str(pin), "--out", str(tmp_path), "--decoy-prefix", "decoy_", "--decoys", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert list(said["accepted"]) == ["psms", "peptides", "proteins"]
    psms = rows(tmp_path / "steelyard.psms.txt")
    accepted = [row for row in psms if float(row["mokapot q-value"]) <= 0.01]
    assert len(accepted) == said["accepted"]["psms"] > 300
    assert sum(row["SpecId"].startswith("wrong") for row in accepted) < 0.04 * len(accepted)
    assert {row["Label"] for row in psms} == {"True"}
    scores = [float(row["mokapot score"]) for row in psms]
    assert scores == sorted(scores, reverse=True)
    decoys = rows(tmp_path / "steelyard.decoy.psms.txt")
    together = psms + decoys
    assert len({row["ScanNr"] for row in together}) == len(together) == 1500
    q = sy.q_values([float(r["mokapot score"]) for r in together], [r["Label"] == "True" for r in together])
    assert q == pytest.approx([float(row["mokapot q-value"]) for row in together])
    for level, column in (("peptides", "Peptide"), ("proteins", "Proteins")):
        found = rows(tmp_path / f"steelyard.{level}.txt") + rows(tmp_path / f"steelyard.decoy.{level}.txt")
        names = [row[column].removeprefix("decoy_") if level == "proteins" else row[column] for row in found]
        assert len(set(names)) == len(names)
    assert not any("\t" in row["Proteins"] for row in rows(tmp_path / "steelyard.proteins.txt"))
    risk = np.array([float(row["mokapot PEP"]) for row in psms])
    assert (np.diff(risk) >= 0).all()


def test_a_list_with_a_proof(pin, tmp_path, capsys):
    given = ["decoys", str(pin), "--max-q", "0.05", "--proof", "reset", "--out", str(tmp_path)]
    assert main(given) == 2
    assert "--proof needs --score" in capsys.readouterr().err
    assert main([*given, "--score", "score", "--decoys"]) == 0
    assert "peptides accepted at q <= 0.05" in capsys.readouterr().out
    found = rows(tmp_path / "steelyard.peptides.txt")
    accepted = [row for row in found if float(row["mokapot q-value"]) <= 0.05]
    assert len(accepted) > 250
    judges = rows(tmp_path / "steelyard.decoy.peptides.txt")
    above = lambda table, u: sum(float(row["mokapot score"]) >= u for row in table)
    end = float(accepted[-1]["mokapot score"])
    assert 2 * (1 + above(judges, end)) / above(found, end) <= 0.05


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--max-q", "0"], 2, "--max-q is a rate above 0"),
        (["--folds", "1"], 2, "--folds is 2 or more"),
        (["--seed", "-1"], 2, "--seed is 0 or more"),
        (["--decoy-prefix", "rev_"], 2, "no decoy's protein begins so, .* the first decoy has 'decoy_protein"),
    ],
)
def test_options_that_cannot_be(pin, tmp_path, capsys, options, code, message):
    assert main(["decoys", str(pin), "--out", str(tmp_path), *options]) == code
    assert re.search(message, capsys.readouterr().err)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("proof", [[], ["--proof", "reset", "--score", "score"]], ids=["scored", "proven"])
@pytest.mark.parametrize(
    ("label", "said"), [("1", r"are targets .*without decoys"), ("-1", r"are decoys .*without targets")]
)
def test_matches_of_one_kind(pin, tmp_path, capsys, proof, label, said):
    header, *lines = pin.read_text().splitlines()
    kept = [line for line in lines if line.split("\t")[1] == label]
    (tmp_path / "one.pin").write_text("\n".join([header, *kept]))
    assert main(["decoys", str(tmp_path / "one.pin"), *proof]) == 1
    assert re.search(rf"one\.pin: all {len(kept):,} matches {said}", capsys.readouterr().err)


@pytest.mark.parametrize(("proof", "least"), [([], 100), (["--proof", "reset", "--score", "score"], 200)])
@pytest.mark.filterwarnings("ignore:infeasible")
def test_too_few_for_any_list(pin, tmp_path, capsys, proof, least):
    (tmp_path / "few.pin").write_text("\n".join(pin.read_text().splitlines()[:101]))
    assert main(["decoys", str(tmp_path / "few.pin"), "--out", str(tmp_path), *proof]) == 0
    said = capsys.readouterr().out
    assert re.search(
        rf"^0 peptides accepted at q <= 0.01: at this rate a list has {least} or more, and there are \d\d$", said, re.M
    )


def test_no_file(tmp_path, capsys):
    assert main(["decoys", str(tmp_path / "none.pin")]) == 1
    assert "none.pin: No such file" in capsys.readouterr().err
