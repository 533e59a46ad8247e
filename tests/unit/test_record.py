"""One record of a run: folded from its events, it is the one that the process itself has."""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.neighbors import KNeighborsClassifier

import dagsearch as ds
from dagsearch.sklearn import DAGSearchSelector
from support.runs import record


class Refusing(KNeighborsClassifier):
    """Cannot be fitted to two features."""

    def fit(self, X, y):  # noqa: N803
        if X.shape[1] == 2:
            raise ValueError("not two")
        return super().fit(X, y)


@pytest.mark.filterwarnings("ignore:.*could not be scored")
def test_a_selection_that_is_continued_knows_what_it_had_scored_itself(tmp_path):
    X, y = load_wine(return_X_y=True, as_frame=True)
    path = tmp_path / "run.db"
    settings = {"n_features_to_select": (1, 4), "budget": 24, "random_state": 0, "storage": path}
    fitted, again = (DAGSearchSelector(Refusing(), **settings).fit(X, y) for _ in range(2))
    own, read = fitted._run, again._run
    assert repr(list(read.scored.items())) == repr(list(own.scored.items()))
    assert read.repeated == own.repeated is not None
    failed = [one for one in read.scored.values() if one.failure]
    assert {one.failure for one in failed} == {"ValueError: not two"}
    assert all(np.isnan(one.scores).all() and len(one.scores) == 5 for one in failed)
    assert len(read.successes()) + len(failed) == 24
    shown = record(path)
    assert (bool(shown.about), shown.labels, len(shown.failures)) == (True, list(X.columns), len(failed))


def test_a_note_that_is_not_of_a_selection_means_nothing(tmp_path):
    path = tmp_path / "run.db"
    search = ds.Search.default(ds.problems.Subsets(6, 2, reward=sum), seed=0, storage=path)
    for note in ({"features": ["a"], "data": "x"}, {"columns": 3}, {"belief": 1}, {"repeated": None}):
        search.note(note)
    search.run(4)
    search.close()
    found = record(path)
    assert (bool(found.about), found.labels) == (False, None)
    best = max(one.reward for one in found.told)
    assert found.told[found.best].reward == best
    assert all(one.reward < best for one in found.told[: found.best])
