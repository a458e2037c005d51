import mokapot
import numpy as np
import pandas as pd

rng = np.random.default_rng(0)
n = 12_000
right = rng.random(n) < 0.2
is_target = right | (rng.random(n) < 0.5)
X = rng.normal(size=(n, 4))
X[right] += [3.0, 2.0, 1.0, 0.0]
table = pd.DataFrame(X, columns=["score", "delta", "length", "charge"])
table.insert(0, "Label", np.where(is_target, 1, -1))
table.insert(0, "SpecId", [f"scan_{k}" for k in range(n)])
table["ScanNr"] = np.arange(n)
table["Peptide"], table["Proteins"] = [f"K.PEPTIDE{k}.R" for k in range(n)], "protein"
table.to_csv("matches.pin", sep="\t", index=False)

psms = mokapot.read_pin("matches.pin")
results, models = mokapot.brew(psms, test_fdr=0.01, rng=1)
accepted = (results.psms["mokapot q-value"] <= 0.01).sum()
print(f"{accepted} matches at 1 %")
