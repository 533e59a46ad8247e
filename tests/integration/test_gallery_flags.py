"""The choice of compiler flags, with the real GCC."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import dagsearch as ds
from experiments.gallery import frame
from experiments.gallery.flags.__main__ import Measured, main
from experiments.gallery.flags.compiler import PROGRAMS, Compiler
from experiments.gallery.flags.methods import METHODS
from experiments.gallery.flags.space import LEVELS, PLACES, command, preset
from experiments.harness.evaluations import EvaluationFailed

pytestmark = pytest.mark.slow

SORT = [PROGRAMS / "sort.c"]
WRONG = """
#include <stdio.h>
int main(void) {
#ifdef __OPTIMIZE__
    puts("wrong");
#else
    puts("right");
#endif
    return 0;
}
"""
HANGING = """
int main(int argc, char **argv) {
#ifdef __OPTIMIZE__
    __builtin_trap();
#endif
    return 0;
}
"""


def test_the_size_is_what_size_says(tmp_path):
    sources = sorted(PROGRAMS.glob("*.c"))
    subprocess.run(["gcc", "-c", "-O2", *sources], cwd=tmp_path, check=True)
    rows = subprocess.run(["size", *tmp_path.glob("*.o")], capture_output=True, text=True, check=True).stdout
    expected = sum(int(row.split()[0]) + int(row.split()[1]) for row in rows.splitlines()[1:])
    assert Compiler().size(["-O2"]) == expected


def test_levels_have_different_sizes_and_all_programs_work_with_them():
    compiler = Compiler()
    sizes = {level: compiler.size([level]) for level in LEVELS}
    assert sizes["-Os"] < sizes["-O2"] < sizes["-O3"]


@pytest.mark.parametrize("text", [WRONG, HANGING], ids=["wrong result", "crash"])
def test_a_program_that_optimisation_breaks_is_a_failed_evaluation(text, tmp_path):
    (tmp_path / "program.c").write_text(text)
    compiler = Compiler([tmp_path / "program.c"])
    for measured in (compiler.size, compiler.seconds):
        assert measured(["-O0"]) > 0
        with pytest.raises(EvaluationFailed):
            measured(["-O1"])


def test_flags_that_gcc_refuses_are_a_failed_evaluation():
    with pytest.raises(EvaluationFailed, match="unrecognized"):
        Compiler(SORT).size(["-fno-such-flag"])


def test_gcc_knows_every_option():
    every = [option for options in PLACES.values() for option in options]
    assert 30 <= len(PLACES) <= 62
    assert Compiler(SORT).size(every) > 0


def test_failed_evaluations_count_and_the_search_goes_on():
    def reward(point):
        if "-O3" in point:
            raise EvaluationFailed
        return -float(len(" ".join(point)))

    for method in METHODS.values():
        (run,) = frame.compare([frame.Contest({"method": method}, reward, 30)], seeds=1)
        assert len(run.best) == 30
        assert run.best[-1] < 0.0


def test_evaluations_run_in_parallel_and_time_is_noisy():
    problem = ds.problems.Choices(PLACES, Measured(Compiler(SORT), "time"))
    result = ds.search(problem, 4, seed=0, noisy=True, n_jobs=2, on_error="skip")
    assert len(result.history) == 4
    assert set(command(result.best_state)) <= {option for options in PLACES.values() for option in options}


@pytest.mark.parametrize("level", ["-O1", "-Os"])
def test_the_choices_of_a_level_compile_to_its_size(level):
    """At other levels the smallest numbers make smaller programs."""
    compiler = Compiler(SORT)
    found = compiler.size(command(preset(level, compiler.enabled(level))))
    assert found == pytest.approx(compiler.size([level]), rel=0.02)


def test_a_small_run_writes_flags_and_continues(tmp_path, monkeypatch, capsys):
    def run(budget):
        options = ["--small", "--budget", str(budget), "--programs", str(SORT[0]), "--out", str(tmp_path)]
        monkeypatch.setattr(sys, "argv", ["flags", *options])
        assert main() == 0
        return capsys.readouterr().out

    assert "best of 3 evaluations" in run(3)
    assert "best of 5 evaluations" in run(5)
    flags = shlex.split((tmp_path / "flags.txt").read_text())
    assert len(flags) == len(PLACES)
    compiled = ["gcc", f"@{tmp_path / 'flags.txt'}", str(SORT[0]), "-o", str(tmp_path / "program")]
    subprocess.run(compiled, check=True)


def test_a_run_of_another_measure_is_refused(tmp_path):
    compiler = Compiler(SORT)
    one, other = (Measured(compiler, measure).identity() for measure in ("size", "time"))
    assert one != other


def test_a_small_comparison_writes_its_files(tmp_path, monkeypatch):
    options = ["compare", "--small", "--budget", "2", "--seeds", "2", "--programs", str(SORT[0])]
    monkeypatch.setattr(sys, "argv", ["flags", *options, "--out", str(tmp_path)])
    assert main() == 0
    assert {path.name for path in Path(tmp_path).iterdir()} == {
        "curves.csv",
        "runs.csv",
        "comparison.json",
        "comparison.png",
    }
