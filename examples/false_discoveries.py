"""
Spectra at 1 % false discoveries
================================

Which matches may be reported when one in a hundred may be wrong? A search has proposed
matches. A fifth of them is right; nobody knows which. Decoys, known to be wrong, were
searched along with them. The classifier learns from both and reports as many targets as it
can at a false-discovery rate of 1 %.
"""

import numpy as np
from sklearn.linear_model import LogisticRegression

import steelyard as sy

rng = np.random.default_rng(0)
n = 12_000
right = rng.random(n) < 0.2
is_target = right | (
    rng.random(n) < 0.5
)  # where nothing is right, target and decoy win equally often
length = rng.exponential(2.0, n)
X = rng.normal(size=(n, 6))
X[right, :2] += [3.0, 2.0]
X[:, 0] += 2 * length  # the score of a long match is higher, right or wrong
X[:, 3] = length + 0.2 * X[:, 3]

train, new = slice(0, n // 2), slice(n // 2, n)
model = sy.QValueClassifier(max_q=0.01, random_state=0).fit(X[train], is_target[train])
accepted = model.accepted(X[new], is_target[new])


def at_one_percent(scores):
    return is_target[new] & (sy.q_values(scores, is_target[new]) <= 0.01)


plain = at_one_percent(
    LogisticRegression().fit(X[train], is_target[train]).decision_function(X[new])
)
column = max((at_one_percent(X[new, j]) for j in range(6)), key=np.sum)
print(f"{right[new].sum()} of {is_target[new].sum()} new targets are right")
for name, chosen in (
    ("best column", column),
    ("logistic regression", plain),
    ("QValueClassifier", accepted),
):
    wrong = (chosen & ~right[new]).sum()
    share = wrong / max(1, chosen.sum())
    print(f"{name:20s} accepts {chosen.sum():4d}, of which {wrong} wrong ({share:.1%})")

# %%
# The same over the rates that one may ask for. What is known to be right here is not known
# in practice: the decoys tell. One target in three is right here, and a plain logistic
# regression of targets against decoys does as well. Where few are right it spends itself on
# rows that no list could hold, and falls behind: the results pages have such tables.

import matplotlib.pyplot as plt

rates = np.geomspace(0.003, 0.1, 30)
scores = {"QValueClassifier": model.decision_function(X[new])}
scores["logistic regression"] = (
    LogisticRegression().fit(X[train], is_target[train]).decision_function(X[new])
)
figure, ax = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
for name, score in scores.items():
    q = sy.q_values(score, is_target[new])
    ax.semilogx(rates, [(is_target[new] & (q <= rate)).sum() for rate in rates], label=name)
ax.axhline(right[new].sum(), color="grey", linestyle=":", label="all that are right")
ax.set(
    xlabel="false-discovery rate asked for",
    ylabel="targets accepted",
    title="How many may be reported?",
)
ax.legend()
plt.show()
