"""Small versions of the paper's experiments, and the parts they are made of."""

import gzip
import hashlib
import json
import os
import signal
import struct
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

import dagsearch as ds
from experiments.__main__ import main
from experiments.harness.curves import best_setting, curves, recorded_steps
from experiments.harness.runner import ExperimentError, Outcome, Row, read_rows, run_rounds
from experiments.paper import claims, convnet, counts, maximum, mnist, tictactoe
from experiments.paper.methods import PIXELS
from support.exact import exact_max_of_many

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared" / "data" / "mnist"


# The runner ---------------------------------------------------------------------------------------


def squares(name, count):
    return [Row(name, "", 0, i, float(i * i)) for i in range(count)]


@pytest.mark.parametrize("jobs", [1, 2])
def test_rounds_come_back_in_order_from_any_number_of_processes(jobs):
    rows = run_rounds(squares, [("a", 3), ("b", 2)], jobs)
    assert rows == squares("a", 3) + squares("b", 2)


def test_a_failing_round_is_not_swallowed():
    with pytest.raises(TypeError):
        run_rounds(squares, [("a", "three")], 2)


def test_written_rows_are_read_back(tmp_path):
    rows = [Row("m, with comma", "beta=0.1", 3, 7, 0.123456), Row("n", "", 0, 1, -1.0)]
    written = Outcome("test", rows, {"seed": 1}).write(tmp_path / "new")
    assert [path.name for path in written] == ["test.csv.gz", "test.json"]
    assert read_rows(written[0]) == [rows[0]._replace(value=0.12346), rows[1]]
    about = json.loads(written[1].read_text())
    assert about["seed"] == 1
    assert about["versions"]["dagsearch"] == ds.__version__


def test_curves_and_best_settings():
    rows = [
        Row("m", setting, number, step, value * step + number)
        for setting, value in (("a", 1.0), ("b", 2.0))
        for number in range(3)
        for step in (1, 5)
    ]
    curve = curves(rows)["m", "a"]
    assert curve.steps.tolist() == [1, 5]
    assert curve.mean.tolist() == [2.0, 6.0]
    assert curve.deviation.tolist() == [1.0, 1.0]
    assert (curve.at(1), curve.at(4), curve.at(9)) == (0, 0, 1)
    assert best_setting(rows)["m"][0] == "b"
    changes = [Row("m", "", number, step, float(step)) for number, step in ((0, 1), (0, 3), (1, 1), (1, 2))]
    assert curves(changes)["m", ""].values.tolist() == [[1.0, 1.0, 3.0], [1.0, 2.0, 2.0]]


def test_recorded_steps_hold_first_last_and_round_numbers():
    steps = recorded_steps(300, 1.3)
    assert {1, 50, 100, 200, 300} <= set(steps)
    assert steps == sorted(set(steps))
    assert recorded_steps(1, 1.3) == [1]


def die(number):
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_that_dies_is_told_plainly():
    with pytest.raises(ExperimentError, match="a worker process died"):
        run_rounds(die, [(0,), (1,)], 2)


@pytest.mark.parametrize("out", ["a file", "/proc/nowhere"])
def test_a_folder_that_cannot_be_written_is_refused_before_the_work(out, tmp_path, capsys):
    if out == "a file":
        out = tmp_path / "file"
        out.write_text("")
    assert main(["reproduce", "synthetic", "--out", str(out)]) == 1  # at full size: it would take minutes
    assert capsys.readouterr().err.startswith("python -m experiments reproduce: error:")


# Each experiment, small -----------------------------------------------------------------------------


def test_counts_are_the_papers():
    outcome = counts.run()
    for row in outcome.rows:
        said = float(row.setting.removeprefix("paper: "))
        assert row.value == pytest.approx(said, rel=5e-3 if said > 1e6 else 0.0)


def test_max_figure_shows_a_density_with_the_exact_moments():
    grid = np.linspace(-8, 10, 20_001)
    assert np.trapezoid(maximum.true_density(grid), grid) == pytest.approx(1.0, abs=1e-9)
    found = {(row.method, row.setting): row.value for row in maximum.run().rows}
    for name, prior in (("no prior", None), ("with prior", maximum.PRIOR)):
        exact = exact_max_of_many(maximum.MEANS, maximum.VARIANCES, prior)
        moments = [found[f"{name}, true", what] for what in ("mean", "variance")]
        assert moments == pytest.approx(exact, abs=1e-9)


SLOW = (pytest.param(name, marks=pytest.mark.slow) for name in ("synthetic", "digits"))


@pytest.mark.parametrize("name", ["counts", "max", "tictactoe", *SLOW])
def test_reproduce_from_the_command_line(name, tmp_path, capsys):
    assert main(["reproduce", name, "--quick", "--jobs", "2", "--out", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert str(tmp_path / f"{name}.csv.gz") in shown
    rows = read_rows(tmp_path / f"{name}.csv.gz")
    assert rows
    assert json.loads((tmp_path / f"{name}.json").read_text())["versions"]["numpy"]
    if name != "counts":
        assert imread(tmp_path / f"{name}.png").shape[0] > 300
        assert (tmp_path / f"{name}.pdf").read_bytes().startswith(b"%PDF")


def test_perfect_players_draw():
    game = ds.problems.TicTacToe()
    search = ds.Search.paper(game, c=0.5, noise=0.1, seed=0)
    search.run(300)
    rng = np.random.default_rng(0)
    assert {tictactoe.play(search, game, rng) for _ in range(50)} == {0.0}
    tree = ds.baselines.uct(game, seed=0)
    assert tictactoe.play(tree, game, rng) <= 0.0  # nobody wins against it, an empty tree least of all


# MNIST ------------------------------------------------------------------------------------------------


def idx(array):
    """An array in the IDX format of the MNIST files, compressed."""
    header = bytes([0, 0, 8, array.ndim]) + b"".join(struct.pack(">I", size) for size in array.shape)
    return gzip.compress(header + array.astype(np.uint8).tobytes(), mtime=0)


def write_mnist(folder, images, monkeypatch):
    """Some images to train on and 60 to test on, made up: the label is which tenth of the rows is bright."""
    rng = np.random.default_rng(0)
    folder.mkdir()
    checksums = {}
    for kind, count in (("train", images), ("t10k", 60)):
        labels = rng.integers(10, size=count)
        pictures = rng.integers(0, 40, size=(count, 28, 28))
        for picture, label in zip(pictures, labels, strict=True):
            picture[2 * label + 4 : 2 * label + 6] += 200
        for name, array in (("images-idx3", pictures), ("labels-idx1", labels)):
            content = idx(array)
            file = f"{kind}-{name}-ubyte.gz"
            (folder / file).write_bytes(content)
            checksums[file] = hashlib.md5(content).hexdigest()
    ordered = {name: checksums[name] for name in convnet.CHECKSUMS}
    monkeypatch.setattr(convnet, "CHECKSUMS", ordered)
    return folder


@pytest.fixture
def small_mnist(tmp_path, monkeypatch):
    """1,100 images, 1,000 of them held back."""
    return write_mnist(tmp_path / "mnist", 1_100, monkeypatch)


@pytest.fixture
def tiny_mnist(tmp_path, monkeypatch):
    """200 images, 50 of them held back."""
    monkeypatch.setattr(convnet, "VALIDATION", 50)
    return write_mnist(tmp_path / "mnist", 200, monkeypatch)


def test_mnist_files_are_split_as_described(small_mnist):
    data = convnet.load(small_mnist)
    assert data.train.shape == (100, 784)
    assert data.validation.shape == (1_000, 784)
    assert data.test_labels.shape == (60,)
    held = np.random.default_rng(0).permutation(1_100)[:1_000]
    raw = gzip.decompress((small_mnist / "train-labels-idx1-ubyte.gz").read_bytes())[8:]
    assert data.validation_labels.tolist() == np.frombuffer(raw, dtype=np.uint8)[held].tolist()


def test_damaged_and_missing_files_are_named(small_mnist, tmp_path, capsys):
    (small_mnist / "t10k-images-idx3-ubyte.gz").write_bytes(b"damaged")
    arguments = ["reproduce", "mnist", "--quick", "--out", str(tmp_path)]
    assert main([*arguments, "--data", str(small_mnist)]) == 1
    assert "is damaged" in capsys.readouterr().err
    assert main([*arguments, "--data", str(tmp_path)]) == 1
    assert "is missing" in capsys.readouterr().err


@pytest.mark.slow
def test_mnist_experiment_on_a_small_data_set(tiny_mnist, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(mnist, "QUICK", mnist.Settings(rounds=1, steps=22, epochs=1))
    monkeypatch.setattr(mnist, "PIXELS", {name: PIXELS[name] for name in list(PIXELS)[:2]})
    places = [
        "--data",
        str(tiny_mnist),
        "--out",
        str(tmp_path),
        "--save-weights",
        str(tmp_path / "kept.npz"),
    ]
    assert main(["reproduce", "mnist", "--quick", "--jobs", "1", *places]) == 0
    about = json.loads((tmp_path / "mnist.json").read_text())
    assert convnet.load_weights(tmp_path / "kept.npz", "cpu") is not None
    assert len(about["chosen"]) == 10
    for figure in ("mnist", "mnist-pixels", "mnist-classes"):
        assert imread(tmp_path / f"{figure}.png").shape[0] > 300
    rows = read_rows(tmp_path / "mnist.csv.gz")
    assert {row.method for row in rows} == set(list(PIXELS)[:2])


@pytest.mark.slow
def test_training_learns_and_weights_survive_a_file(small_mnist, tmp_path):
    data = convnet.load(small_mnist)
    swapped = convnet.Mnist(
        data.validation, data.validation_labels, data.train, data.train_labels, data.test, data.test_labels
    )
    net = convnet.train(swapped, "cpu", epochs=2)
    everything = frozenset(range(784))
    score = convnet.SubsetAccuracy(net, swapped.validation, swapped.validation_labels, "cpu")
    trained = score([everything, frozenset(range(10))])
    assert trained[0] > 0.3
    convnet.save_weights(net, tmp_path / "net.npz")
    loaded = convnet.load_weights(tmp_path / "net.npz", "cpu")
    again = convnet.SubsetAccuracy(loaded, swapped.validation, swapped.validation_labels, "cpu")
    assert again([everything, frozenset(range(10))]) == trained


def test_bad_weights_and_devices_are_named(small_mnist, tmp_path, capsys):
    np.savez(tmp_path / "wrong.npz", a=np.zeros(3))
    (tmp_path / "empty.npz").write_bytes(b"")
    arguments = ["reproduce", "mnist", "--quick", "--data", str(small_mnist), "--out", str(tmp_path)]
    for name in ("wrong.npz", "empty.npz", "missing.npz"):
        assert main([*arguments, "--weights", str(tmp_path / name)]) == 1
        assert "does not contain the network's weights" in capsys.readouterr().err
    if not convnet.on_device().cuda.is_available():
        assert main([*arguments, "--device", "cuda"]) == 1
        assert "sees no GPU" in capsys.readouterr().err


def test_without_torch_it_says_what_to_install(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(sys.modules, "torch", None)
    assert main(["reproduce", "mnist", "--quick", "--out", str(tmp_path)]) == 1
    assert "pip install '.[mnist]'" in capsys.readouterr().err


if SHARED.is_dir():  # the real data is not part of the repository

    def test_reference_subsets_score_what_they_are_known_to(tmp_path):
        given = ["--data", str(SHARED), "--weights", str(SHARED / "convnet-k10.npz"), "--out", str(tmp_path)]
        assert main(["reproduce", "references", *given]) == 0
        found = [
            [row.value for row in read_rows(at / "references.csv.gz")] for at in (tmp_path, ROOT / "results")
        ]
        assert found[0] == pytest.approx([0.717, 0.701], abs=0.0021)
        assert found[0] == pytest.approx(found[1], abs=0.0021)


# The committed results ----------------------------------------------------------------------------------


def test_the_claims_table_states_the_committed_figures():
    page = (ROOT / "docs" / "reproduction.md").read_text()
    for claim, figure in claims.figures(ROOT / "results").items():
        assert figure in page, f"{claim}: {figure}"
