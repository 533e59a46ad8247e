"""The most probable text: with a small model made here, and with the real one where it is installed."""

import importlib.util
import math
from functools import partial
from itertools import product

import numpy as np
import pytest

import dagsearch as ds
from experiments.gallery import frame
from experiments.gallery.text import OURS, Curves, beam, table
from experiments.gallery.text.__main__ import PROMPTS, main
from experiments.gallery.text.methods import Calls, beam_search, budget
from experiments.gallery.text.model import CharacterModel
from experiments.gallery.text.problem import Continuation

REAL = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("textgenrnn", "h5py")),
    reason="textgenrnn or h5py is not installed",
)


class Bigrams:
    """A model of six characters in which the next one depends on the last two."""

    characters = "abcdef"

    def __init__(self, seed):
        self.table = np.random.default_rng(seed).dirichlet(np.full(6, 0.4), size=(7, 7))
        self.calls = 0

    def log_probabilities(self, text):
        self.calls += 1
        one, other = (self.characters.find(character) for character in text[-2:].rjust(2))
        return np.log(self.table[one, other] + 1e-9)


def best_of_all(problem):
    def log_p(added):
        total = 0.0
        for count, character in enumerate(added):
            found = problem.model.log_probabilities(problem.prompt + added[:count])
            total += found[problem.model.characters.index(character)]
        return total

    return max(log_p("".join(added)) for added in product(problem.model.characters, repeat=problem.length))


@pytest.mark.parametrize("seed", range(4))
def test_the_search_finds_the_most_probable_text(seed):
    problem = Continuation("ab", 5, Bigrams(seed))
    best = best_of_all(problem)
    result = ds.search(problem, 200, seed=0)
    assert result.best_reward == pytest.approx(best)
    text = problem.whole(result.best_state)
    assert len(text) == 5
    assert "".join(result.best_path) == text[:-1]


def test_a_step_is_one_call_and_the_last_character_needs_none():
    model = Bigrams(0)
    problem = Continuation("ab", 5, model)
    result = ds.search(problem, 30, seed=0)
    assert model.calls == 1 + len(result.history)
    state = problem.root().state
    for count in range(4):
        step = problem.expand(state, state.characters[0])
        assert (step.value is None) == (count < 3)
        state = step.state
    assert step.value == state.log_p[0]
    assert step.actions == ()


def test_seeds_make_no_difference():
    runs = [ds.search(Continuation("ab", 5, Bigrams(0)), 60, seed=seed) for seed in range(3)]
    assert runs[0].history == runs[1].history == runs[2].history


def test_the_first_complete_text_is_that_of_best_first_search():
    """Before a text is complete, steps are rated by R + d + c n with c the mean of the best gains."""
    problem = Continuation("ab", 6, Bigrams(1))
    search = ds.StepSearch(problem, seed=0)
    while search.result().best_state is None:
        proposal = search.ask()
        search.tell(proposal, problem.expand(proposal.state, proposal.action))
    assert 5 <= len(search.history) <= 40


@pytest.mark.parametrize("width", [1, 2, 6**3])
def test_a_beam_makes_its_calls_and_a_wide_one_finds_the_best(width):
    problem = Continuation("ab", 4, Bigrams(2))
    contest = frame.Contest(
        {"beam": partial(beam_search, problem=problem, width=width)}, Calls(problem), 10_000
    )
    (run,) = frame.compare([contest], 1)
    assert len(run.best) == 1 + sum(min(width, 6**length) for length in range(1, 4))
    assert all(value == -math.inf for value in run.best[: 1 + sum(min(width, 6**n) for n in range(1, 3))])
    if width == 6**3:
        assert run.best[-1] == pytest.approx(best_of_all(problem))


def test_the_table_compares_at_equal_calls():
    ours = frame.Run(OURS, 0, [-math.inf, -5.0, -4.0, -4.0, -3.0], 1.0, 1.0)
    other = frame.Run(beam(2), 0, [-math.inf, -math.inf, -math.inf, -4.0], 1.0, 1.0)
    curves = Curves([ours, other])
    assert curves.after(0.6, beam(2)) == -5.0  # 2 of 4 calls
    assert curves.after(1.0, beam(2)) == -4.0
    assert curves.needed(beam(2)) == 75
    assert curves.optimal(OURS) == 1.0
    assert curves.optimal(beam(2)) == 0.0
    assert "| beam of 2 | 4 | -4.00 | -5.00 | -4.00 | 75 % |" in table([ours, other])
    assert budget(beam(3), 16) == 1 + 20 * 15


@REAL
def test_the_real_model_continues_words():
    model = CharacterModel()
    found = model.log_probabilities("The president of the Unite")
    assert np.exp(found).sum() == pytest.approx(1.0)
    assert model.characters[int(np.argmax(found))] == "d"


@REAL
@pytest.mark.slow
def test_a_small_run_and_a_small_comparison(tmp_path, capsys):
    assert len(PROMPTS) == 50
    assert main(["--small", "--length", "6", "--out", str(tmp_path / "run")]) == 0
    text = (tmp_path / "run" / "text.txt").read_text().rstrip("\n")
    assert text.startswith(PROMPTS[0])
    assert len(text) == len(PROMPTS[0]) + 6
    assert main(["compare", "--small", "--out", str(tmp_path / "compare")]) == 0
    assert "beam of 20" in capsys.readouterr().out
    assert (tmp_path / "compare" / "curves.csv").exists()


def test_without_the_package_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SystemExit, match="--no-deps textgenrnn"):
        CharacterModel()
