"""The pipelines of the gallery: the tables, the score, a small run and a small comparison."""

import json

import joblib
import pandas as pd
import pytest
from sklearn.model_selection import cross_val_score

pytest.importorskip("optuna")

import dagsearch as ds
from experiments.__main__ import main
from experiments.gallery.pipeline import TABLES
from experiments.gallery.pipeline.steps import Score, _folds, plan
from experiments.gallery.pipeline.tables import load
from support.interrupts import interrupted_after

# Every test fits models.
pytestmark = pytest.mark.slow


def random_choices(score, count):
    made = [ds.problems.Choose({"…": seed}) for seed in range(count)]
    for choose in made:
        plan(choose, score.table.is_classification)
    return [choose.made for choose in made]


def planned(choices, score):
    return plan(lambda name, _: choices[name], score.table.is_classification)


@pytest.mark.parametrize("name", TABLES)
def test_tables_have_categories_and_gaps_and_are_the_same_each_time(name):
    table = load(name)
    text = [column for column in table.features if not pd.api.types.is_numeric_dtype(table.features[column])]
    assert 3 <= len(text) < table.features.shape[1]
    assert 0.12 < table.features.isna().to_numpy().mean() < 0.18
    assert table.digest() == load(name).digest()
    seen, held_out = table.split()
    assert set(seen.features.index).isdisjoint(held_out.features.index)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # of pipelines drawn at random
@pytest.mark.parametrize("name", TABLES)
def test_the_score_is_that_of_cross_validation_of_the_whole_pipeline(name):
    score = Score(load(name).split()[0])
    scoring = "balanced_accuracy" if score.table.is_classification else "r2"
    for choices in random_choices(score, 4):
        chosen = planned(choices, score)
        expected = cross_val_score(
            score.fitted(chosen),
            score.table.features,
            score.table.target,
            cv=_folds(score.table.is_classification),
            scoring=scoring,
        )
        assert score.of(chosen) == pytest.approx(expected.mean(), abs=1e-12)


def test_a_run_survives_ctrl_c_and_continues(tmp_path, capsys, monkeypatch):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    main(["gallery", "pipeline", "--small", "--out", str(whole)])
    wanted = capsys.readouterr().out.replace("whole", "parts")
    with monkeypatch.context() as patch:
        patch.setattr(Score, "of", interrupted_after(5, Score.of))
        main(["gallery", "pipeline", "--small", "--out", str(parts)])
    shown = capsys.readouterr()
    assert "after 5 evaluations" in shown.out
    assert "the same command continues" in shown.err
    main(["gallery", "pipeline", "--small", "--out", str(parts)])
    assert capsys.readouterr().out == wanted
    choices = json.loads((parts / "choices.json").read_text())
    assert choices["model"] in wanted
    predicted = joblib.load(parts / "pipeline.joblib").predict(load("wine").features)
    assert (predicted == load("wine").target).mean() > 0.8


def test_a_table_of_your_own_has_its_own_run(tmp_path, capsys):
    table = load("diabetes")
    path = tmp_path / "mine.csv"
    table.features.assign(progress=table.target).head(120).to_csv(path, index=False)
    mine = [
        "gallery",
        "pipeline",
        "--csv",
        str(path),
        "--target",
        "progress",
        "--budget",
        "4",
        "--out",
        str(tmp_path),
    ]
    main(mine)
    assert "mine: R²" in capsys.readouterr().out
    table.features.assign(progress=table.target).tail(120).to_csv(path, index=False)
    with pytest.raises(SystemExit, match="another problem"):
        main(mine)
    with pytest.raises(SystemExit, match="no column 'price'"):
        main(["gallery", "pipeline", "--csv", str(path), "--target", "price", "--out", str(tmp_path)])
