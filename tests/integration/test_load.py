"""``python -m experiments benchmark load``, small."""

from contextlib import contextmanager

import pytest

from experiments.benchmarks import load
from experiments.harness.markdown import aligned
from experiments.harness.runner import read_rows


@contextmanager
def killed_twice():
    """Processes of which two are killed, one after each of the first two rewards."""
    with load.processes() as around:
        yield around._replace(disturb=lambda number: number < 2 and around.disturb(number))


@pytest.mark.slow
def test_nothing_is_lost_or_repeated_under_load(monkeypatch, tmp_path):
    monkeypatch.setattr(load, "WORKERS", 2)
    monkeypatch.setitem(load.KINDS, "processes", killed_twice)
    outcome = load.run(load.Size(evaluations=40, every=0.0), ["processes"], progress=False)
    found = {row.setting: row.value for row in outcome.rows}
    assert found["evaluations told"] == 40
    assert found["disturbances: workers killed, or changes of their number"] == 2
    assert found["rewards that the journal lacks or has otherwise"] == 0
    assert found["leaves told twice"] == 0
    assert found["evaluations begun again"] <= 2
    others = load.Outcome(
        "load", [load.Row("Dask", what, 0, 40, 1.0) for what in load.FIGURES], {"cores": {"Dask": 3}}
    )
    others.write(tmp_path)
    both = load.run(load.Size(evaluations=2, every=1e9), ["processes"], tmp_path, progress=False)
    assert {row.method: row.step for row in both.rows} == {"processes": 2, "Dask": 40}
    assert both.settings["cores"]["Dask"] == 3
    written = both.write(tmp_path)
    assert aligned(load.table(read_rows(written[0]))) == load.summary(both)


def test_an_unknown_kind_of_workers_is_named():
    with pytest.raises(load.ExperimentError, match="does not know threads"):
        load.run(load.QUICK, ["threads"])
