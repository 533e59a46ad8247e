"""The page of a feature selection: what it holds, and that names from a table are text everywhere."""

import html
import json
import re
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

from dagsearch.selection import Comparison, Holdout, SelectionReport
from dagsearch.selection.page import selection_view
from dagsearch.sklearn import DAGSearchSelector
from support.browser import in_browser

HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    "$x_1$",
    "{{content}}",
    "\u2028&",
]


def made(names, noise=0.5, budget=40, warnings=()):
    rng = np.random.default_rng(0)
    data = pd.DataFrame(rng.normal(size=(80, len(names))), columns=names)
    target = (0.0 if noise > 10 else 1.0) * data.iloc[:, 0] + 0.5 * data.iloc[:, 1] * (noise < 10)
    target += noise * rng.normal(size=80)
    selector = DAGSearchSelector(
        Ridge(), n_features_to_select=(1, len(names) // 2), budget=budget, cv=3, random_state=0
    )
    comparisons = [Comparison("all features", len(names), 1, 0.5, 0.5, (0.3, 0.7))]
    holdout = Holdout(20, 0.7, (0.6, 0.8))
    return SelectionReport.of(
        selector.fit(data, target), None, comparisons, holdout, warnings=warnings
    ).to_dict()


@cache
def stored(name):
    return json.dumps(
        {
            "usual": lambda: made([f"column {i}" for i in range(9)]),
            "hostile": lambda: made(HOSTILE, warnings=HOSTILE),
            "noise": lambda: made([f"column {i}" for i in range(9)], noise=100.0),
            "few": lambda: made(["one", "two"], budget=5),
        }[name]()
    )


def example(name="usual"):
    return json.loads(stored(name))


REPORTS = ["usual", "hostile", "noise", "few"]


def embedded(page):
    """The JSON text in a page."""
    return re.search(r'<script type="application/json" id="content">(.*?)</script>', page, re.DOTALL)[1]


@pytest.mark.parametrize("name", REPORTS)
def test_page_holds_the_report_and_nothing_a_parser_could_take_for_markup(name):
    content = example(name)
    data = embedded(SelectionReport(content).to_html())
    (shown,) = json.loads(data)["runs"]
    assert content | shown["selection"] == content
    assert shown["history"][-1]["step"] == len(content["history"])
    assert data.isascii()
    assert not set(data) & set("<>&")


def test_page_and_report_have_one_order_of_features():
    content = example()
    shown = selection_view(content)["effects"]
    assert [one["label"] for one in shown] == [one["name"] for one in content["features"]]
    assert shown[0]["label"] == "column 0"
    assert [one["worth"] for one in shown] == sorted(
        [one["worth"] for one in content["features"]], reverse=True
    )
    assert "'column 0' is essential" in content["headline"]


def test_where_nothing_predicts_nothing_is_recommended():
    content = example("noise")
    assert content["result"]["signal"] is False
    assert "nothing here predicts the target better than no features" in content["headline"]
    assert (content["code"], content["result"]["simpler"]) == (None, None)
    assert {feature["worth"] for feature in content["features"]} == {None}
    assert selection_view(content)["effects"] is None


def test_only_sizes_that_were_searched_are_compared():
    content = example()
    assert content["by_size"]
    assert all(size["subsets"] >= 5 for size in content["by_size"])


def test_nothing_is_forecast_where_nothing_better_can_come():
    content = example()
    assert selection_view(content)["forecast"]
    best = content["result"]["score"]
    bounded = content | {"result": content["result"] | {"bounds": [None, best]}}
    assert selection_view(bounded)["forecast"] == []  # nothing better is possible
    content["result"]["stopped"] = "exhausted"
    view = selection_view(content)
    assert view["forecast"] == []


def test_numbers_that_json_does_not_know_are_refused():
    content = example() | {"data": {"rows": float("nan"), "columns": 1, "holdout_rows": None}}
    with pytest.raises(ValueError, match="not JSON compliant"):
        SelectionReport(content).to_html()


def test_undecodable_names_can_be_written():
    content, name = example(), b"caf\xe9".decode(errors="surrogateescape")
    content["features"][0]["name"] = name
    page = SelectionReport(content).to_html().encode()
    assert json.loads(embedded(page.decode()))["runs"][0]["selection"]["features"][0]["name"] == name


@pytest.mark.parametrize("name", ["usual", "hostile"])
def test_fragment_shows_the_chosen_features_as_text(name):
    content = example(name)
    fragment = SelectionReport(content)._repr_html_()
    assert set(re.findall(r"<(\w+)", fragment)) == {"div", "p", "strong", "table", "tbody", "tr", "th", "td"}
    assert ", ".join(content["result"]["features"]) in html.unescape(fragment)


@in_browser
@pytest.mark.parametrize(
    ("name", "width"), [("usual", 390), ("hostile", 1400), ("noise", 1400), ("few", 390)]
)
def test_page_is_quiet_and_fits(show, name, width):
    page = show(SelectionReport(example(name)).to_html(), width)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert example(name)["headline"][:20] in page.locator("#headline").inner_text()
    assert page.noticed == []
