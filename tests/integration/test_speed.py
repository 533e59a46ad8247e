"""The measuring side of speed: that it measures what it says. No time is judged here."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import dagsearch as ds
from experiments import speed
from experiments.__main__ import main
from experiments.benchmarks.subset_peers import Trial
from experiments.speed import breakeven, compare, floors, growth, measure, memory, page, steps
from experiments.speed.results import Figure, Measurement
from support.clock import Clock

ROOT = Path(__file__).parents[2]


def subsets():
    return ds.problems.Subsets(12, 3, reward=lambda chosen: float(sum(chosen)))


def searches():
    return {
        "weights": ds.Search.paper(subsets(), seed=0),
        "kernel": ds.Search.default(subsets(), initial=6, seed=0),
        "averages": ds.baselines.uct(ds.problems.TicTacToe(), seed=0),
    }


@pytest.mark.parametrize("name", ["weights", "kernel", "averages"])
def test_timing_does_not_change_the_search(name):
    timed, split, plain = (searches()[name] for _ in range(3))
    seconds = measure.timed_steps(timed, 30)
    measure.split_steps(split, 30)
    plain.run(30)
    leaves = [[evaluation.leaf for evaluation in search.history] for search in (timed, split, plain)]
    assert leaves[0] == leaves[1] == leaves[2]
    assert seconds.shape == (30,)
    assert np.all(seconds > 0.0)


def test_parts_are_those_that_the_search_has():
    found = {name: set(measure.split_steps(search, 30)) for name, search in searches().items()}
    assert {"descent", "roll-out", "condition", "back-up", "track", "book-keeping"} <= found["weights"]
    assert {"climb", "evidence"} <= found["kernel"]
    assert not {"climb", "evidence"} & (found["weights"] | found["averages"])
    assert set().union(*found.values()) <= set(measure.PARTS)


def test_parts_add_up_to_the_whole():
    """In seconds of this process, of which a busy machine takes none."""
    search = searches()["kernel"]
    search.run(10)
    began = measure.clock()
    parts = measure.split_steps(search, 40, reward=lambda leaf: float(sum(leaf)))
    whole = 1e3 * (measure.clock() - began) / 40
    assert 0.5 * whole < sum(parts.values()) <= whole


def test_a_part_within_a_part_counts_once_and_the_reward_not_at_all():
    clock = Clock()
    split = measure.Split(clock)
    inner = split.timed("condition", lambda: clock.advance(2.0))
    outer = split.timed("back-up", inner)
    with split.rest("descent"):
        outer()
        inner()
        clock.advance(1.0)
    assert split.seconds == {"back-up": 2.0, "condition": 2.0, "descent": 1.0}


def test_methods_are_put_back_even_after_an_error():
    search = searches()["weights"]
    owners = [search.values.backup, search.portfolio.descent.rollout, search.index.scores]
    methods = list(zip(map(type, owners), ("back_up", "finish", "condition"), strict=True))
    kept = [getattr(*method) for method in methods]

    def broken(leaf):
        raise RuntimeError("no reward")

    with pytest.raises(RuntimeError, match="no reward"):
        measure.split_steps(search, 5, broken)
    assert [getattr(*method) for method in methods] == kept


def test_an_interruption_is_not_typical_but_a_slow_turn_is():
    seconds = np.tile([1.0, 1.0, 4.0], 20)
    assert measure.typical(seconds) == pytest.approx(2.0)
    seconds[7] = 1_000.0
    assert measure.typical(seconds) == pytest.approx(2.0)


def test_floors_are_positive_and_grow():
    assert 0.0 < floors.weights(10) < floors.weights(800)
    assert 0.0 < floors.kernel(10, 10) < floors.kernel(500, 1_000)
    assert 0.0 < floors.back_up(10, 10) < floors.back_up(100_000, 100_000)


def test_a_search_grows_to_the_size_asked_for():
    problem = steps.cheap_subsets(30, 5)
    default = ds.Search.default(problem, covariance=ds.covariances.Overlap.of(problem), seed=0)
    rng = np.random.default_rng(0)
    for search in (default, ds.Search.paper(problem, seed=0)):
        assert growth.grow(search, growth.Size(80, 400), rng, until=float("inf"))
        assert 50 <= len(search.history) < 80
    assert len(search.explored.graph) >= 5 * len(search.history)  # with a descent
    assert not growth.grow(search, growth.Size(1_000, 5_000), rng, until=time.perf_counter())


def test_features_and_branching_are_varied_apart():
    few, many = growth.Codes(8, 48), growth.Codes(64, 48)
    rng = np.random.default_rng(0)
    for codes in (few, many, growth.Codes(8, 300)):
        ds.testing.check_problem(codes)
        leaves = rng.integers(codes.branching_factor, size=(2_000, 6)).tolist()
        assert len({item for leaf in leaves for item in codes.items(tuple(leaf))}) == codes.features
    assert len(many.actions(())) == 8 * len(few.actions(()))


def test_memory_is_filled_with_different_nodes():
    search = ds.Search.paper(memory.Numbers(40), expansion=ds.expansions.AllChildren(), seed=0)
    memory.fill(search, 500)
    assert 500 <= len(search.explored.graph) < 560
    search.run(2)


def test_break_even_is_where_the_lines_cross():
    def runs(evaluations, own):
        rewards = [0.5] * (evaluations - 1) + [0.9]
        return [[Trial(frozenset(), reward, True, own) for reward in rewards]]

    found = {
        breakeven.OURS: breakeven.until(runs(100, 0.004), 0.85),
        "hill climbing": breakeven.until(runs(300, 0.0), 0.85),
        "random subsets": breakeven.until(runs(50, 0.0), 0.85),
    }
    cost = breakeven.crossing(found, "hill climbing")
    assert cost == pytest.approx(0.002)
    assert found[breakeven.OURS].seconds(cost) == pytest.approx(found["hill climbing"].seconds(cost))
    assert breakeven.crossing(found, "random subsets") is None
    assert breakeven.until(runs(10, 0.0), 0.95) == breakeven.Reached(10.0, 0.0, 0.0)


def test_a_figure_knows_whether_it_is_where_it_should_be():
    assert Figure("a", 2.0, "ms", 3.0).reached
    assert not Figure("a", 2.0, "ms", 3.0, at_least=True).reached
    assert not Figure("a", None, "ms", 3.0).reached
    assert Figure("a", 2.0, "ms", 3.0).wanted == "≤ 3 ms"


def test_a_small_version_judges_nothing(tmp_path):
    figure = Figure("a", 2.0, "ms", 3.0)
    for quick, verdict in ((True, None), (False, True)):
        written = Measurement("growth", [figure], {"sizes": []}, quick).write(tmp_path)
        assert json.loads(written.read_text())["figures"][0]["reached"] is verdict
        assert Measurement.read(written) == Measurement("growth", [figure], {"sizes": []}, quick)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in speed.MEASUREMENTS if name != "startup"])
def test_every_measurement_runs_and_writes(name, tmp_path):
    outcome = speed.run([name], quick=True, progress=False)
    assert [path.name for path in outcome.write(tmp_path)] == [f"{name}.json", "speed.png"]
    about = json.loads((tmp_path / f"{name}.json").read_text())
    assert about["quick"] is True
    assert {"cpu", "cores"} <= set(about["machine"])
    assert {"dagsearch", "numpy", "numba", "python"} <= set(about["versions"])
    assert about["measured"]
    for figure in about["figures"]:
        assert {"what", "value", "unit", "target", "reached"} <= set(figure)
        assert figure["value"] is None or figure["value"] > 0.0
        assert figure["what"] in speed.summary(outcome)


def test_the_start_of_a_process_is_measured():
    # Compiling everything anew takes long: the script alone is run, and with what is compiled already.
    from experiments.speed import startup

    assert startup._printed(startup._IMPORT) > 0.0
    assert startup._printed(startup._FIRST_SEARCH) > 0.0


def test_the_command_adds_to_what_is_there(tmp_path, capsys):
    for name in ("scaling", "tictactoe"):
        assert main(["benchmark", "speed", "--quick", "--only", name, "--out", str(tmp_path)]) == 0
    assert "they are not judged by targets" in capsys.readouterr().out
    assert set(page.read(tmp_path, list(speed.MEASUREMENTS))) == {"scaling", "tictactoe"}
    assert main(["benchmark", "speed", "--only", "nothing", "--out", str(tmp_path)]) == 1
    assert "no measurement 'nothing'" in capsys.readouterr().err
    assert main(["benchmark", "synthetic", "--quick", "--only", "growth", "--out", str(tmp_path)]) == 1
    assert "does not accept --only" in capsys.readouterr().err


def test_the_page_shows_every_measurement_at_full_size():
    found = page.read(ROOT / "results" / "speed", list(speed.MEASUREMENTS))
    assert set(found) == set(speed.MEASUREMENTS)
    assert not any(measurement.quick for measurement in found.values())


# Comparing commits ------------------------------------------------------------------------------------


def test_ratios_are_of_the_same_repeat():
    old, new = [{"a": 1.0, "gone": 1.0}, {"a": 4.0}, {"a": 2.0}], [{"a": 0.5}, {"a": 2.0}, {"a": 3.0}]
    shown = compare.table(old, new, ("old", "new")).splitlines()
    assert shown[1].split() == ["a", "2", "2", "0.50", "0.50", "0.50", "1.50"]
    assert len(shown) == 2


def test_all_sizes_of_a_measurement_are_compared():
    found = dict(compare.numbers({"sizes": [{"ms": 1.0, "parts_ms": {"track": 0.5}}, {"ms": 2.0}]}))
    names = ["sizes, size 1, ms a step", "sizes, size 1, ms of track", "sizes, size 2, ms a step"]
    assert list(found) == names


def test_larger_is_better_is_turned_round():
    figures = [
        {"what": "rate", "value": 4.0, "unit": "×", "at_least": True},
        {"what": "time", "value": 4.0, "unit": "ms", "at_least": False},
        {"what": "unknown", "value": None, "unit": "ms", "at_least": False},
    ]
    assert dict(compare.figures(figures)) == {"1 / rate": 0.25, "time, ms": 4.0}


_COMPILED_BY = """
import sys
import dagsearch as ds
from dagsearch._internal.compiled import Compiled

ds.search(ds.problems.Subsets(20, 4, reward=lambda chosen: float(sum(chosen))), 30, seed=0)
ds.Search.paper(ds.problems.TicTacToe(), seed=0).run(30)
ds.Search.paper(ds.problems.TicTacToe(), backup=ds.backups.Softmax(), seed=0).run(30)
ds.baselines.uct(ds.problems.TicTacToe(), seed=0).run(30)
modules = [module for name, module in list(sys.modules.items()) if name.startswith("dagsearch")]
found = {id(one): one for module in modules for one in vars(module).values() if isinstance(one, Compiled)}
called = [one for one in found.values() if "dispatcher" in vars(one)]
print(sorted(one.__name__ for one in called if one.stats.cache_misses))
"""


@pytest.mark.slow
def test_nothing_is_compiled_twice(tmp_path):
    """A function that closes over another compiled one would be, by every process."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    first, second = (
        subprocess.run(
            [sys.executable, "-c", _COMPILED_BY], env=environment, capture_output=True, text=True, check=True
        ).stdout.strip()
        for _ in range(2)
    )
    assert "_value_pass" in first
    assert second == "[]"


@pytest.mark.parametrize(
    ("command", "file"), [("reproduce", "mnist.json"), ("benchmark", "beyond/mnist.json")]
)
def test_the_page_has_the_wall_times_of_the_committed_runs(command, file):
    seconds = json.loads((ROOT / "results" / file).read_text())["seconds"]
    (row,) = [
        line
        for line in (ROOT / "docs" / "speed.md").read_text().splitlines()
        if line.startswith(f"| `python -m experiments {command} mnist`")
    ]
    kinds = ("searches", "evaluations", "evaluations one by one")
    assert [cell.strip() for cell in row.split("|")[3:-1]] == [f"{seconds[kind]:.0f} s" for kind in kinds]


def test_a_figure_without_a_target_is_not_judged():
    figure = Figure("pause", 5.0, "s", None)
    assert figure.reached is None
    assert figure.wanted == "– s"
    assert Measurement("startup", [figure]).verdict(figure) is None


def test_a_run_can_be_stored_without_compilation(tmp_path):
    """As a debugger or a coverage tool wants it."""
    code = f"""
import dagsearch as ds

problem = ds.problems.Subsets(8, 3, reward=lambda chosen: float(sum(chosen)))
path = {str(tmp_path / "run")!r}
search = ds.Search.paper(problem, expansion=ds.expansions.OneChild(), storage=path, seed=0)
print(len(search.run(6).history))
"""
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "6"), done.stderr


@pytest.mark.slow
def test_every_blas_has_one_thread_while_a_search_thinks():
    """SciPy brings one of its own, and is imported late."""
    code = """
import dagsearch as ds
from threadpoolctl import threadpool_info

seen = []

class Noting(ds.problems.Subsets):
    def step(self, state, action):
        if search is not None and len(seen) < 20:  # a look takes milliseconds
            seen.append({one["filepath"]: one["num_threads"] for one in threadpool_info()
                         if one["user_api"] == "blas"})
        return super().step(state, action)

search = None
problem = Noting(200, 3, reward=lambda chosen: float(sum(chosen)))
search = ds.Search.paper(problem, seed=0)
search.run(3)
import scipy.linalg

now = {one["filepath"] for one in threadpool_info() if one["user_api"] == "blas"}
print(seen != [] and all(set(libraries) == now and set(libraries.values()) == {1} for libraries in seen))
"""
    environment = {name: value for name, value in os.environ.items() if "NUM_THREADS" not in name}
    environment["OPENBLAS_NUM_THREADS"] = "2"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "True"), done.stderr
