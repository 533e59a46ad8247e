"""The benchmark of every kind of choice: its problems, its peers, and what its tables say."""

import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import dagsearch as ds
from experiments.__main__ import main
from experiments.general import SUITE, optima, page, process, settings, suite
from experiments.general.methods import METHODS, OURS
from experiments.general.page import ALL, ORDERED, RELABELLED, Measures
from experiments.general.problems import KINDS, TASKS, Instance, Task
from experiments.general.problems.base import relabelled
from experiments.general.spaces import (
    Condition,
    Order,
    Places,
    Repeated,
    Subset,
    is_logarithmic,
    suggested_number,
)
from experiments.general.stated import stated
from experiments.harness.evaluations import Evaluations
from experiments.harness.runner import Row, read_rows

# Most tests also run other packages.
pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
RNG = np.random.default_rng
CONDITIONAL = Places([2, 3, 2, 2], {1: Condition(0, (1,)), 2: Condition(1, (0, 2))}, "abcd")
NUMBERS = Places(
    [2, 4, 5],
    {1: Condition(0, (0,)), 2: Condition(0, (1,))},
    ("model", "depth", "C"),
    [("tree", "svm"), (1, 2, 3, 4), (0.001, 0.01, 0.1, 1.0, 10.0)],
)
SPACES = {
    "places": Places([2, 3, 4]),
    "conditional": CONDITIONAL,
    "subset": Subset(6, 2),
    "order": Order(4),
}


def names_of(points):
    return [tuple(point) for point in points.tolist()]


def everything(space):
    return {name for points in space.everything() for name in names_of(points)}


# Spaces ----------------------------------------------------------------------------------------------


def test_all_points_are_listed_once():
    assert len(everything(Places([2, 3, 4]))) == Places([2, 3, 4]).size == 24
    assert len(everything(Subset(6, 2))) == Subset(6, 2).size == 15
    # a = 0: b and c are absent; a = 1: b = 1 without c, b = 0 or 2 with one of two c; d always
    assert len(everything(CONDITIONAL)) == CONDITIONAL.size == 2 * (1 + 1 + 2 * 2)


@pytest.mark.parametrize("name", ["places", "conditional", "subset"])
def test_random_points_children_and_neighbours_are_points(name):
    space, rng = SPACES[name], RNG(0)
    points, known = space.sample(200, rng), everything(space)
    assert set(names_of(points)) == known
    for mother, father in pairwise(points[:40]):
        assert set(names_of(space.neighbours(mother, rng))) < known
        assert tuple(space.cross(mother, father, rng).tolist()) in known


@pytest.mark.parametrize(("name", "count"), [("places", 6), ("subset", 8), ("order", 13)])
def test_neighbours_are_different_and_exclude_the_point_itself(name, count):
    # Orders of four: 6 exchanges, 2 × 3 moves over more than one place, and 1 reversal that is none of these.
    space, rng = SPACES[name], RNG(1)
    point = space.sample(1, rng)[0]
    found = names_of(space.neighbours(point, rng))
    assert len(found) == len(set(found)) == count
    assert tuple(point.tolist()) not in found
    if name != "order":
        changed = [sum(a != b for a, b in zip(point, other, strict=True)) for other in found]
        assert set(changed) == ({1} if name == "places" else {2})


def test_orders_with_repetition_keep_how_often_an_item_occurs():
    space, rng = Repeated(3, 2), RNG(0)
    assert space.size == 90
    points = space.sample(400, rng)
    assert len(set(names_of(points))) == 90
    around = names_of(space.neighbours(points[0], rng))
    children = [space.cross(points[0], points[k], rng).tolist() for k in range(1, 20)]
    assert len(around) == len(set(around))
    assert tuple(points[0].tolist()) not in around
    assert all(sorted(point) == [0, 0, 1, 1, 2, 2] for point in [*around, *children])
    trial = Trial(**{f"x{k}": value for k, value in enumerate(rng.random(6))})
    assert sorted(space.suggested(trial)) == [0, 0, 1, 1, 2, 2]


class Trial:
    """Answers as Optuna would."""

    def __init__(self, **answers):
        self.answers = answers

    def suggest_float(self, name, low, high, log=False):
        return self.answers[name]

    suggest_int = suggest_float

    def suggest_categorical(self, name, options):
        return self.answers[name]


def test_numbers_are_suggested_on_a_line_or_on_one_of_logarithms():
    assert is_logarithmic((0.1, 0.001, 0.01))
    assert is_logarithmic((8, 16, 32, 64))
    assert not is_logarithmic(tuple(range(1, 9)))
    assert not is_logarithmic((0.0, 0.3, 0.9))
    rates = (0.1, 0.001, 0.01)
    assert [suggested_number(Trial(x=value), "x", rates) for value in (0.1, 0.0012, 0.02)] == [0, 1, 2]
    assert suggested_number(Trial(x=23), "x", (8, 16, 32, 64)) == 2  # nearer to 32 than to 16 by its ratio


def test_suggestions_make_points():
    assert NUMBERS.suggested(Trial(model=1, C=0.5)).tolist() == [1, 4, 3]  # no depth
    assert Subset(4, 2).suggested(Trial(x0=0.9, x1=0.1, x2=0.5, x3=0.2)).tolist() == [1, 0, 1, 0]
    assert Order(3).suggested(Trial(x0=0.9, x1=0.1, x2=0.5)).tolist() == [1, 2, 0]


# Problems --------------------------------------------------------------------------------------------


def test_every_kind_has_a_problem_and_the_standard_problems_are_relabelled_too():
    assert {task.kind for task in TASKS.values()} == set(KINDS)
    assert len([task for task in TASKS.values() if task.relabels is None]) >= 15
    ordered = {"pest", "ackley", "contamination", "labs", "maxsat", "ising", "stages", "leading"}
    assert {task.relabels for task in TASKS.values()} - {None} == ordered
    assert all(60 <= task.budget <= 300 for task in TASKS.values())


# Mean score of 50 points of instance 1 (0 where there is one): what is drawn must not change unnoticed.
MEANS = """
cover 0.411663625  regression 0.258762173  portfolio -0.730638649  knapsack -95.5810584
tardiness -7485.53712  tour -6.59118805  assignment -59.4577844  flow-shop -1043.1  landscape 0.489744883
motifs 0.388533333  folding -1.72  labs 1.14384443  labs-relabelled 1.15185546  contamination -23.4322
ising -14.6322869  maxsat 1.48716514  pest -18.435592  ackley -21.3589214  contamination-relabelled -23.4086
ising-relabelled -14.3489637  maxsat-relabelled -1.15727073  pest-relabelled -18.450872
ackley-relabelled -21.3414441  pipeline -0.473390369  network -0.128281157  cell 0.241992761
job-shop -901.24  layers 0.311920728  tumours 0.8996351  numerals 0.70460726  diabetes 0.3289369
stages -17.7935212  stages-relabelled -17.499661  leading 0.025  leading-relabelled 0.03125
blocks 0.0924310421  needles 0.036  switches -0.016544392  checks -430.875533
"""


def test_instances_stay_as_they_are():
    names, means = MEANS.split()[::2], map(float, MEANS.split()[1::2])
    assert set(names) == {task.name for task in TASKS.values() if task.same is None}
    for name, mean in zip(names, means, strict=True):
        instance = TASKS[name].instance(1)
        scores = instance.scores(instance.space.sample(50, RNG(5)))
        assert scores.mean() == pytest.approx(mean, rel=1e-6), name


@pytest.mark.parametrize("name", TASKS)
def test_instances_differ_and_are_the_same_again(name):
    task = TASKS[name]
    points = task.make(0).space.sample(20, RNG(0))
    first, again, other = (task.instance(number).scores(points) for number in (0, 4, 1))
    assert np.array_equal(first, again)
    assert np.array_equal(first, other) == (task.instances == 1)


def points_of(name, count=4):
    instance = TASKS[name].instance(0)
    points = instance.space.sample(count, RNG(3))
    return zip(points.tolist(), instance.scores(points), strict=True)


def test_pest_control_is_that_of_mcbo():
    beta_of = {1: 2 / 7, 2: 3 / 7, 3: 3 / 7, 4: 5 / 7}
    develops = {1: 1 / 7, 2: 2.5 / 7, 3: 2 / 7, 4: 0.5 / 7}
    price, discount = {1: 1.0, 2: 0.8, 3: 0.7, 4: 0.5}, {1: 0.2, 2: 0.3, 3: 0.3, 4: 0.0}
    for x, score in points_of("pest"):
        share = np.random.RandomState(0).beta(1.0, 30.0, size=100)
        beta, cost = dict(beta_of), 0.0
        for stage in x:
            cost += np.mean(share > 0.1)
            if stage:
                share = share * (1.0 - np.random.RandomState(0).beta(1.0, beta[stage], size=100))
                beta[stage] += develops[stage] / 25
                cost += price[stage] * (1.0 - discount[stage] / 25 * x.count(stage))
            else:
                share = share + np.random.RandomState(0).beta(1.0, 17 / 3, size=100) * (1.0 - share)
        assert score == pytest.approx(-cost)


def test_ising_is_the_divergence_of_two_distributions():
    rng = RNG([0, 41])
    couplings = rng.choice([-1.0, 1.0], size=24) * rng.uniform(0.05, 5.0, size=24)
    spins = 2 * np.array(np.unravel_index(np.arange(1 << 16), [2] * 16)).T.reshape(-1, 4, 4) - 1
    products = np.column_stack(
        [
            *(spins[:, r, c] * spins[:, r, c + 1] for r in range(4) for c in range(3)),
            *(spins[:, r, c] * spins[:, r + 1, c] for r in range(3) for c in range(4)),
        ]
    )

    def log_density(kept):
        energy = 2.0 * products @ (couplings * kept)
        return energy - energy.max() - np.log(np.sum(np.exp(energy - energy.max())))

    full = log_density(np.ones(24))
    for x, score in points_of("ising"):
        divergence = np.sum(np.exp(full) * (full - log_density(np.array(x))))
        assert score == pytest.approx(-(divergence + 0.01 * sum(x)), rel=1e-6)


@pytest.mark.parametrize("name", settings.TABLES)
def test_tables_hold_what_fitting_gives(name):
    every, known = settings.pipelines(name), settings.scores(name)
    assert len(every) == len(known)
    boosted = next((n for n, made in enumerate(every) if made["model"] == "boosting"), 7)
    for number in (3, boosted):
        assert known[number] == pytest.approx(settings.fitted(name, every[number]), abs=0.005)


def test_relabelling_keeps_all_scores():
    def make(number):
        return Instance(Places([2, 3, 4]), lambda points: points @ np.array([100.0, 10.0, 1.0]))

    task = relabelled(Task("small", KINDS[3], "", 60, make, instances=1))
    points = np.concatenate(list(Places([2, 3, 4]).everything()))
    original, first, second = (t.instance(n).scores(points) for t, n in ((task, 0), (task, 1), (task, 2)))
    plain = make(0).scores(points)
    assert sorted(plain) == sorted(original) == sorted(first) == sorted(second)
    assert not np.array_equal(first, second)
    assert task.relabels == "small"


# Optima ----------------------------------------------------------------------------------------------


def test_no_best_score_is_better_than_what_its_point_earns():
    for (name, number), scale in optima.scales().items():
        point = np.array([scale.point])
        instance = TASKS[name].make(number)
        assert instance.scores(point)[0] == pytest.approx(scale.best, rel=1e-9, abs=1e-9), (name, number)


# The problems as stated ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [name for name, task in TASKS.items() if task.relabels is None],
)
def test_stated_problems_are_sound_and_earn_the_scores(name):
    asked = []

    def scores(points):
        asked.append(points)
        return instance.scores(points)

    instance = TASKS[name].instance(1)
    problem = stated(instance._replace(scores=scores))
    ds.testing.check_problem(problem)
    rng, state = RNG(2), problem.root()
    while actions := problem.actions(state):
        state = problem.step(state, actions[rng.integers(len(actions))])
    asked.clear()
    reward = problem.reward(state)
    (points,) = asked
    assert reward == instance.scores(points)[0]
    assert points.shape == instance.space.sample(1, rng).shape
    assert len(state) <= points.shape[1]


def test_conditional_choices_are_offered_where_they_exist():
    problem = stated(Instance(CONDITIONAL, lambda points: points @ np.array([1000.0, 100.0, 10.0, 1.0])))
    leaves, pending = set(), [problem.root()]
    while pending:
        state = pending.pop()
        children = [problem.step(state, action) for action in problem.actions(state)]
        pending += children
        if not children:
            leaves.add(problem.reward(state))
    codes = np.concatenate(list(CONDITIONAL.everything()))
    assert leaves == set((codes @ np.array([1000.0, 100.0, 10.0, 1.0])).tolist())

    def offered(*values):
        state = problem.root()
        for value in values:
            (action,) = [action for action in problem.actions(state) if action.value == value]
            state = problem.step(state, action)
        return [(action.name, action.value) for action in problem.actions(state)]

    assert offered(1, 2) == [("c", 0), ("c", 1)]
    assert offered(0) == [("d", 0), ("d", 1)]


# Methods ---------------------------------------------------------------------------------------------

WEIGHTS = np.array([0.3, -1.0, 2.0, 0.7, 1.5, -0.2, 0.1, 1.1])
SMALL = {
    "cell": Instance(Places([3] * 4), lambda points: -np.sum((points - [2, 0, 1, 2]) ** 2, axis=1) * 1.0),
    "conditional": Instance(CONDITIONAL, lambda points: points @ np.array([1.0, 0.2, 0.1, 0.3])),
    "subset": Instance(Subset(8, 3), lambda points: points @ WEIGHTS),
    "order": Instance(Order(5), lambda points: -np.abs(points - [3, 1, 4, 0, 2]).sum(axis=1) * 1.0),
    "numbers": Instance(NUMBERS, lambda points: points @ np.array([1.0, 0.2, 0.1])),
    "repeated": Instance(
        Repeated(3, 2), lambda points: -np.abs(points - [2, 0, 1, 1, 0, 2]).sum(axis=1) * 1.0
    ),
}
PEERS = [name for name in METHODS if name not in (OURS, "paper's method", "GP (Optuna)")]  # as TPE, but slow
ALL_FORMS = [(name, form) for name in ("hill climbing", "genetic") for form in ("subset", "repeated")]


@pytest.mark.parametrize(("name", "form"), [*((name, "cell") for name in PEERS), *ALL_FORMS])
def test_peers_evaluate_distinct_points_and_the_budget_holds(name, form):
    asked = []

    def scores(points):
        asked.extend(names_of(points))
        return SMALL[form].scores(points)

    evaluate = suite.evaluated(METHODS[name], Instance(SMALL[form].space, scores), 24, 0)
    assert len(evaluate.rewards) == len(asked) == len(set(asked))
    # Packages may propose the same for ever.
    assert 10 <= len(asked) <= 24 if METHODS[name].needs else len(asked) == 24
    assert evaluate.own_seconds > 0.0


def test_noisy_runs_are_judged_by_the_true_score_of_what_is_recommended():
    instance = SMALL["cell"]._replace(noise=3.0)
    for name in (OURS, "random"):
        evaluate = suite.evaluated(METHODS[name], instance, 20, 0)
        scores = suite.recommended(instance, evaluate)
        assert len(scores) == 20
        assert set(scores) <= set(instance.scores(np.array(evaluate.points)))
        assert not np.array_equal(evaluate.rewards, instance.scores(np.array(evaluate.points)))


@pytest.mark.filterwarnings("ignore")
def test_log_improvement_is_that_of_botorch():
    import torch
    from botorch.acquisition import LogExpectedImprovement
    from botorch.models import SingleTaskGP
    from botorch.models.kernels.categorical import CategoricalKernel
    from gpytorch.constraints import GreaterThan
    from gpytorch.kernels import ScaleKernel

    space, scores = TASKS["tardiness"].instance(0)[:2]
    evaluate, rng = Evaluations(lambda point: scores(point[None])[0], 100, key=bytes), RNG(0)
    for point in space.sample(30, rng):
        evaluate(point)
    known = np.array(evaluate.points)
    with threadpool_limits(limits=1):
        fitted = process.fit(space, known, np.array(evaluate.rewards), None)
    points = space.sample(100, rng)
    found = process.Improvement(space, evaluate, fitted)(points)
    compared = torch.tensor(space.compared(known), dtype=torch.float64)
    lengths = compared.shape[1] if space.own_lengths else None
    kernel = ScaleKernel(CategoricalKernel(ard_num_dims=lengths, lengthscale_constraint=GreaterThan(1e-6)))
    rewards = (torch.tensor(evaluate.rewards, dtype=torch.float64)[:, None] - fitted.shift) / fitted.divisor
    model = SingleTaskGP(compared, rewards, covar_module=kernel, outcome_transform=None)
    model.load_state_dict(fitted.state)
    acquisition = LogExpectedImprovement(model, best_f=rewards.max())
    with torch.no_grad():
        wanted = acquisition(torch.tensor(space.compared(points), dtype=torch.float64).unsqueeze(1)).numpy()
    assert found == pytest.approx(wanted, abs=0.01)


def test_a_method_that_cannot_be_imported_is_not_left_out_silently(monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ModuleNotFoundError, match=r"needs optuna: pip install '.\[benchmark\]'"):
        SUITE.run(quick=True)


# Runs and what they say ------------------------------------------------------------------------------


def made_rows():
    """Two runs of three methods on two problems and a relabelled one."""
    ends = {
        ("cell", OURS): (0.0, 0.2),
        ("cell", "GP (BoTorch)"): (0.0, 0.1),
        ("cell", "random"): (0.5, 0.9),
        ("pest", OURS): (0.1, 0.0),
        ("pest", "GP (BoTorch)"): (0.2, 0.3),
        ("pest", "random"): (0.8, 0.6),
        ("pest-relabelled", OURS): (0.4, 0.4),
        ("pest-relabelled", "GP (BoTorch)"): (0.2, 0.3),
        ("pest-relabelled", "random"): (0.8, 0.6),
    }
    rows = []
    for (problem, method), values in ends.items():
        for number, value in enumerate(values):
            rows += [Row(method, problem, number, step, 1.0) for step in (1, 25)]
            rows += [Row(method, problem, number, step, value) for step in (50, 100, 200)]
            rows.append(Row(method, f"{problem}, own ms", number, 200, 4.0 + number))
    return rows


def test_ranks_and_wins_are_counted_run_by_run():
    found = Measures(made_rows())
    assert found.methods == [OURS, "GP (BoTorch)", "random"]
    assert found.groups[ALL] == ["pest", "cell"]
    assert found.groups[ORDERED] == ["pest"]
    assert found.groups[RELABELLED] == ["pest-relabelled"]
    ranks = found.ranks(["cell"])  # a tie, then second
    assert [ranks[method].value for method in found.methods] == [1.75, 1.25, 3.0]
    assert ranks["random"].error == 0.0
    assert found.regret(OURS, ["cell", "pest"]).tolist() == [0.0, 0.2, 0.1, 0.0]
    assert found.regret(OURS, ["cell"], 25).tolist() == [1.0, 1.0]


def test_problems_that_not_all_have_run_are_named_and_unequal_runs_refused():
    rows = [row for row in made_rows() if row.method != "random" or not row.setting.startswith("cell")]
    found = Measures(rows)
    assert found.problems == ["pest", "pest-relabelled"]
    assert "Not run by all methods: cell" in page.summary(found)
    with pytest.raises(ValueError, match="pest: methods have different runs"):
        Measures([row for row in made_rows() if row.method == OURS or row.round == 0])


def test_the_command_writes_and_keeps(tmp_path, capsys):
    command = ["benchmark", "general", "--quick", "--problems", "cell", "--jobs", "1", "--out", str(tmp_path)]
    assert main([*command, "--methods", "random", "hill climbing"]) == 0
    assert "mean rank at the end" in capsys.readouterr().out
    assert main([*command, "--methods", "genetic", "--keep", str(tmp_path)]) == 0
    rows = read_rows(tmp_path / "general.csv.gz")
    assert {row.method for row in rows} == {"random", "hill climbing", "genetic"}
    assert {path.name for path in tmp_path.iterdir()} == {
        "general.csv.gz",
        "general.json",
        "general.png",
        "general.pdf",
        "front.png",
        "front.pdf",
    }
