"""One record of a run: folded from its events, it is the one that the process itself has."""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.neighbors import KNeighborsClassifier

import dagsearch as ds
from dagsearch.report.parts import parts_of
from dagsearch.selection.record import SelectionRecord
from dagsearch.sklearn import DAGSearchSelector
from support.runs import record


class Refusing(KNeighborsClassifier):
    """Cannot be fitted to two features."""

    def fit(self, X, y):  # noqa: N803
        if X.shape[1] == 2:
            raise ValueError("not two")
        return super().fit(X, y)


def selection(found):
    """What a record says of a feature selection, in types that compare."""
    entries = [(*one.scored._replace(scores=one.scored.scores.tolist()), one.best) for one in found.entries]
    told = [(parts_of(one, found), one.reward) for one in found.told]  # leaves are encoded by the problem
    about = found.labels, found.rows, found.folds, found.digest, found.best
    return repr((entries, found.repeated, told, about))


@pytest.mark.filterwarnings("ignore:.*could not be scored")
def test_a_selection_reads_from_its_run_what_it_had_recorded_itself(tmp_path):
    X, y = load_wine(return_X_y=True, as_frame=True)
    path = tmp_path / "run.db"
    settings = {"n_features_to_select": (1, 4), "budget": 24, "random_state": 0, "storage": path}
    fitted = DAGSearchSelector(Refusing(), **settings).fit(X, y)
    own, read = fitted._run.record, record(path, kind=SelectionRecord)
    assert selection(read) == selection(own)
    assert {one.scored.failure for one in read.failed()} == {"ValueError: not two"}
    assert all(np.isnan(one.scored.scores).all() and len(one.scored.scores) == 5 for one in read.failed())
    assert len(read.repeated) > 0
    assert len(read.successes()) + len(read.failed()) == len(read.entries) == 24


def test_a_note_that_is_not_of_a_selection_means_nothing(tmp_path):
    path = tmp_path / "run.db"
    search = ds.Search.default(ds.problems.Subsets(6, 2, reward=sum), seed=0, storage=path)
    for note in ({"features": ["a"], "data": "x"}, {"columns": 3}, {"belief": 1}, {"repeated": None}):
        search.note(note)
    search.run(4)
    search.close()
    found = record(path, kind=SelectionRecord)
    assert (found.selection, found.labels, found.entries) == (False, None, [])
    best = max(one.reward for one in found.told)
    assert found.told[found.best].reward == best
    assert all(one.reward < best for one in found.told[: found.best])
