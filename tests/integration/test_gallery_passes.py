"""LLVM's passes, where its library is installed."""

import math
import os

import numpy as np
import pytest

import dagsearch as ds
from experiments.gallery import passes
from experiments.gallery.passes.compiler import LLVM, NAMES, Module, bitcode, installed, printed
from experiments.gallery.passes.methods import methods
from experiments.gallery.passes.problem import PassOrder
from experiments.harness.contest import Contest, one_run
from experiments.harness.evaluations import EvaluationFailed
from experiments.harness.runner import Row

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(installed() is None, reason="libLLVM is not installed"),
]


@pytest.fixture(scope="module")
def llvm():
    llvm = LLVM()
    yield llvm
    llvm.close()


def test_every_program_prints_the_same_after_oz(llvm):
    assert len(NAMES) >= 10
    for name in NAMES[::4]:
        optimised = llvm.applied(bitcode(name), "default<Oz>")
        assert optimised.size < llvm.read(bitcode(name)).size
        assert printed(optimised.bitcode) == printed(bitcode(name)) != b""


def test_every_pass_can_be_applied_and_equal_modules_are_equal_states(llvm):
    assert len(llvm.passes) >= 30
    start = llvm.read(bitcode("hash"))
    assert llvm.read(start.bitcode) == start
    after = [llvm.applied(start.bitcode, name) for name in llvm.passes]
    assert len(set(after)) < len(after)  # some change nothing, so that they lead back to the start
    assert start in after
    assert min(module.size for module in after) < start.size


def test_a_pass_that_does_not_exist_and_bitcode_that_is_none_fail(llvm):
    for given, name in ((bitcode("hash"), "no-such-pass"), (b"no bitcode", "")):
        with pytest.raises(EvaluationFailed):
            llvm.applied(given, name)
    assert llvm.read(bitcode("hash")).size > 0  # the process lives, or another was started


def test_a_crash_of_llvm_fails_one_step_only():
    llvm = LLVM()
    size = llvm.read(bitcode("hash")).size
    os.kill(llvm._server.pid, 9)
    with pytest.raises(EvaluationFailed, match="crashed"):
        llvm.read(bitcode("hash"))
    assert llvm.read(bitcode("hash")).size == size


def test_a_program_that_prints_something_else_is_no_answer(llvm):
    problem = PassOrder("hash", llvm)
    other = llvm.applied(bitcode("matrix"), "default<Oz>")
    smaller = Module(other.bitcode, problem.oz - 1)
    with pytest.raises(EvaluationFailed, match="prints something else"):
        problem.checked(smaller)
    right = llvm.applied(bitcode("hash"), "default<Oz>")
    assert problem.works(right)


def test_the_search_makes_a_program_smaller(llvm):
    problem = PassOrder("hash", llvm)
    result = ds.search(problem, 60, seed=0, on_error="skip")
    assert len(result.history) <= 60
    assert result.best_state.size < problem.start.size
    assert result.best_reward == pytest.approx(math.log(problem.oz / result.best_state.size))
    module = problem.start
    for name in result.best_path:
        module = problem.expand(module, name).state
    assert module == result.best_state
    assert printed(module.bitcode) == printed(bitcode("hash"))


@pytest.mark.parametrize("name", ["whole orders", "greedy", "genetic", "UCT", "random", "dagsearch"])
def test_methods_spend_exactly_their_budget(name, llvm):
    problem = PassOrder("hash", llvm)
    *_, last, own = one_run(Contest("hash", methods(problem), problem.reward, 25, math.exp), name, 0)
    assert last.step == own.step == 25
    assert last.value > 0.0


def test_merging_is_measured_on_pairs_of_runs():
    values = {(passes.OURS, "a"): 2.0, (passes.OURS, "b"): 8.0, (passes.ON_A_TREE, "a"): 1.0}
    values[(passes.ON_A_TREE, "b")] = 1.0
    found = passes.merging([Row(*key, 0, 1, value) for key, value in values.items()])
    assert "dagsearch over dagsearch on a tree, 2 pairs" in found
    assert found.count(f"4.000 ± {np.log(8.0 / 2.0) / 2.0:.3f}") == len(passes.COUNTS)
