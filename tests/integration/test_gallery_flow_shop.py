"""The flow shop of the gallery: Taillard's instances, the simulation, a small run and a small comparison."""

from itertools import pairwise

import numpy as np
import pytest

pytest.importorskip("simpy")

from experiments.__main__ import main
from experiments.gallery import flow_shop
from experiments.gallery.flow_shop import neh
from experiments.gallery.flow_shop.shop import COUNT, instance, makespan, simulated
from support.interrupts import interrupted_after

TA001_FIRST_MACHINE = [54, 83, 15, 71, 77, 36, 53, 38, 27, 87, 76, 91, 14, 29, 12, 77, 32, 87, 68, 94]
NEH_PUBLISHED = [1286, 1365, 1159, 1325, 1305, 1228, 1278, 1223, 1291, 1151]


def recurrence(times, order):
    done = np.zeros(len(times[0]) + 1)
    for job in order:
        for machine, time in enumerate(times[job]):
            done[machine + 1] = max(done[machine], done[machine + 1]) + time
    return done[-1]


def test_the_generator_makes_the_published_instance():
    assert [row[0] for row in instance(1).times] == TA001_FIRST_MACHINE


@pytest.mark.slow
def test_neh_has_its_published_makespans():
    shops = [instance(number) for number in range(1, COUNT + 1)]
    assert [makespan(shop.times, neh(shop.times)) for shop in shops] == NEH_PUBLISHED


def test_the_simulation_is_the_recurrence_of_the_literature():
    rng = np.random.default_rng(0)
    for number in range(1, COUNT + 1):
        times, order = instance(number).times, rng.permutation(20).tolist()
        assert makespan(times, order) == recurrence(times, order)
        assert makespan(times, order) >= instance(number).best_known


def test_no_machine_works_on_two_jobs_and_no_job_is_on_two_machines():
    schedule = simulated(instance(2).times, range(20))
    for kind in ("machine", "job"):
        for number in {getattr(one, kind) for one in schedule}:
            mine = sorted((one.start, one.end) for one in schedule if getattr(one, kind) == number)
            assert all(before[1] <= after[0] for before, after in pairwise(mine))


@pytest.mark.slow
def test_a_run_survives_ctrl_c_and_continues(tmp_path, capsys, monkeypatch):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    main(["gallery", "flow_shop", "--small", "--out", str(whole)])
    wanted = capsys.readouterr().out.replace("whole", "parts")
    with monkeypatch.context() as patch:
        patch.setattr(flow_shop, "makespan", interrupted_after(17, makespan))
        main(["gallery", "flow_shop", "--small", "--out", str(parts)])
    shown = capsys.readouterr()
    assert "after 17 simulations" in shown.out
    assert "the same command continues" in shown.err
    main(["gallery", "flow_shop", "--small", "--out", str(parts)])
    assert capsys.readouterr().out == wanted
    assert len((parts / "schedule.csv").read_text().splitlines()) == 1 + 8 * 3
    with pytest.raises(SystemExit, match="another problem"):
        main(["gallery", "flow_shop", "--budget", "31", "--instance", "2", "--out", str(parts)])
