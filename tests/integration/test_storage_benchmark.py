"""``python -m experiments.storage``, small."""

import pytest

from experiments import storage


@pytest.mark.slow
def test_processes_that_share_a_file_tell_every_reward_once(tmp_path):
    for found in storage.crowd(True, tmp_path).values():
        assert found["exit codes"] == [0]
        assert found["told"] == found["asked"] == found["finished"]
        assert (found["told twice"], found["rewards of another leaf"]) == (0, 0)


@pytest.mark.slow
def test_what_storage_costs_is_measured(tmp_path):
    assert storage.pace(True, tmp_path).keys() >= {"dagsearch", "Optuna, RDBStorage"}
    assert storage.long(True, tmp_path)["evaluations"] == 200
    assert storage.pending(True, tmp_path)["milliseconds of an ask"] > 0.0
