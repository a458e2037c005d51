"""Every kind of file that steelyard writes: how to make one, and what to ask of the model that comes back."""

import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import steelyard as sy
import steelyard.measures as m


def rows(n=160, d=4):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] + 0.7 * rng.normal(size=n) > 0.5, "yes", "no")


X, Y = rows()
EDGES = make_pipeline(StandardScaler(), sy.OnlineClassifier(m.FBeta(1), random_state=0))

# Those without a model of scikit-learn inside.
OURS = {
    "measure": lambda: sy.MeasureClassifier(
        0.3 * m.BalancedAccuracy() + 0.7 * m.NegKLD(), C=[0.1, 1.0], random_state=0
    ),
    "can": lambda: sy.MeasureClassifier(m.FBeta(1), subject_to=[m.fpr <= 0.5], solver="can", C=1.0, random_state=0),
    "online": lambda: sy.OnlineClassifier(m.FBeta(1), random_state=0),
    "measure classes": lambda: sy.MeasureClassifier(m.macro(m.FBeta(1)), C=1.0, loss="logistic", cv=2, random_state=0),
    "online classes": lambda: sy.OnlineClassifier(m.macro(m.FBeta(1)), random_state=0),
    "online cap": lambda: sy.OnlineClassifier(m.Recall(), subject_to=m.fpr <= 0.2, random_state=0),
    "online letter": lambda: sy.OnlineClassifier(m.CQReward(), guard=False, eta0=0.1, random_state=0),
    "mini-batch": lambda: sy.OnlineClassifier(m.GMean(), solver="1pmb", random_state=0),
    "structural": lambda: sy.StructuralSVM("kld"),
    "path": lambda: sy.CostPath(C=1.0),
    "path rbf": lambda: sy.CostPath(kernel="rbf"),
    "path approximate": lambda: sy.CostPath(method="approximate", tol=0.01),
    "path poly": lambda: sy.CostPath(method="approximate", tol=0.1, kernel="poly", degree=2),
    "np": lambda: sy.NeymanPearsonClassifier(0.2, random_state=0),
    "np linear": lambda: sy.NeymanPearsonClassifier(0.2, kernel="linear", C=[0.1, 1.0], random_state=0),
    "np generative": lambda: sy.NeymanPearsonClassifier(0.2, solver="generative", random_state=0),
    "q-value": lambda: sy.QValueClassifier(0.3, random_state=0),
    "q-value proven": lambda: sy.QValueClassifier(0.3, proof="reset", random_state=0),
    "quantifier": lambda: sy.Quantifier(sy.StructuralSVM("zero_one"), method="ms", random_state=0),
    "threshold": lambda: sy.ThresholdClassifier(sy.OnlineClassifier(random_state=0), m.FBeta(2), pos_label="no"),
    "threshold promised": lambda: sy.ThresholdClassifier(
        sy.OnlineClassifier(random_state=0),
        m.Recall(),
        subject_to=m.Precision() >= 0.5,
        delta=0.2,
        cv=0.5,
        random_state=0,
    ),
    "threshold promised twice": lambda: sy.ThresholdClassifier(
        sy.OnlineClassifier(random_state=0),
        m.FBeta(1),
        subject_to=[m.Precision() >= 0.3, m.fnr <= 0.6],
        delta=0.3,
        cv=0.5,
        random_state=0,
    ),
}
# Those that skops helps with.
WITH_SKOPS = {
    "threshold sklearn": lambda: sy.ThresholdClassifier(LogisticRegression(), m.FBeta(1), subject_to=[m.fpr <= 0.4]),
    "threshold classes": lambda: sy.ThresholdClassifier(
        sy.OnlineClassifier(random_state=0), m.of("no", m.FBeta(1)) + 0.5 * m.macro(m.Recall()), cv=2
    ),
    "threshold classes promised": lambda: sy.ThresholdClassifier(
        sy.OnlineClassifier(random_state=0),
        m.of("no", m.tpr) - 0.01 * m.NegCost(table=[[0, 1], [2, 0]]),
        subject_to=m.of("yes", m.fnr) <= 0.6,
        delta=0.3,
        cv=0.5,
        random_state=0,
    ),
    "threshold pipeline": lambda: sy.ThresholdClassifier(EDGES, m.GMean(), cv=0.3, random_state=0),
    "expected": lambda: sy.ExpectedFBetaClassifier(beta=2),
    "quantifier sklearn": lambda: sy.Quantifier(random_state=0),
}
# Those with a life of their own: made, not fitted by (X, Y).
MADE = {
    "quantile path": lambda: sy.QuantilePath().fit(X, X[:, 1] + X[:, 0]),
    "quantile model": lambda: sy.QuantilePath(kernel="rbf").fit(X[:60], X[:60, 1]).at(0.3),
    "cost classifier": lambda: sy.CostPath().fit(X, Y).at(0.3),
    "cost classifier rbf": lambda: sy.CostPath(kernel="rbf").fit(sp.csr_matrix(X), Y).at(0.3),
    "path precomputed": lambda: sy.CostPath(kernel="precomputed").fit(X @ X.T, Y),
    "q-value rbf": lambda: _with_landmarks(),
    "stream quantifier": lambda: _stream(sy.OnlineClassifier(random_state=0)),
    "watch": lambda: _watch(),
    "threshold groups": lambda: _groups(),
}
MADE_WITH_SKOPS = {"stream quantifier sklearn": lambda: _stream(None)}
PLAIN, SKOPS = [*OURS, *MADE], [*WITH_SKOPS, *MADE_WITH_SKOPS]


def _with_landmarks():
    rng = np.random.default_rng(1)
    A, target = rng.normal(size=(1200, 2)), np.arange(1200) % 2 == 0
    right = target & (rng.uniform(size=1200) < 0.6)
    angle = rng.uniform(0, 2 * np.pi, 1200)
    A[right] = 4.0 * np.column_stack([np.cos(angle), np.sin(angle)])[right] + 0.2 * A[right]
    model = sy.QValueClassifier(0.2, kernel="rbf", gamma=0.3, n_components=10, random_state=0).fit(A, target)
    assert model._model.features is not None
    return model


def _stream(classifier):
    made = sy.StreamQuantifier(classifier, window=60, cv=2, random_state=0).partial_fit(X[:100], Y[:100])
    return made.update(X[:90])


def _groups():
    inner, slices = sy.OnlineClassifier(random_state=0), np.where(np.arange(len(Y)) % 3 == 0, "a", "b")
    asked = [m.within("a", m.fpr) <= 0.6, m.gap(m.tpr) <= 0.9]
    model = sy.ThresholdClassifier(inner, m.FBeta(1), subject_to=asked, delta=0.3, cv=0.5, random_state=0)
    return model.fit(X, Y, slices=slices)


def _watch():
    inner = sy.OnlineClassifier(random_state=0)
    rates = [m.fpr <= 0.2, m.fpr <= 0.5 * m.tpr]
    model = sy.ThresholdClassifier(inner, m.FBeta(1), subject_to=rates, random_state=0, rule="exact").fit(X, Y)
    return sy.Watch(model, level=0.1).update(Y, model.predict(X + 0.5))


def make(name):
    """The fitted model of a name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name in MADE or name in MADE_WITH_SKOPS:
            return {**MADE, **MADE_WITH_SKOPS}[name]()
        return {**OURS, **WITH_SKOPS}[name]().fit(X, Y)


def answers(model):
    """What a model says, in all the ways that it can be asked."""
    d = getattr(model, "n_features_in_", X.shape[1])
    asked = X[:, :d] if d <= X.shape[1] else X @ X.T
    if isinstance(model, sy.StreamQuantifier):
        return {"prevalence": model.prevalence_, "interval": model.interval(), "seen": np.array(model.n_seen_)}
    if isinstance(model, sy.Watch):
        ends = [end for pair in model.intervals().values() for end in pair]
        return {"e": np.array([*model.e_values().values()]), "seen": np.array(model.n_seen), "ends": np.array(ends)}
    found = {"predict": np.asarray(model.predict(asked))}
    for name in ("decision_function", "predict_proba", "predict_interval"):
        if hasattr(model, name):
            found[name] = np.asarray(getattr(model, name)(asked))
    for name in ("coef_", "intercept_", "best_threshold_", "recrossing_", "multiplier_"):
        if hasattr(model, name):
            found[name] = np.asarray(getattr(model, name))
    if isinstance(model, sy.CostPath):
        best = model.best(m.FBeta(1), asked, Y)
        found["best"], found["tau"] = best.predict(asked), np.array(best.tau)
    return found


def goes_on(model):
    """The model after more rows, where it can learn from them; those it has from before count too."""
    more, labels = rows(300)
    if isinstance(model, sy.OnlineClassifier):
        return model.partial_fit(more, labels)
    return model.partial_fit(more[:40], labels[:40]).update(more)
