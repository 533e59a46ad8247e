"""The page of a search in a browser: what it shows, and that nothing in it can act."""

import json
import re

import pytest

import dagsearch as ds
from dagsearch.cli import main
from dagsearch.report.report import Report
from support.browser import in_browser

HOSTILE = '</script><img src=x onerror="document.title=1">{{content}}\u2028<b>'


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """Hostile names, notes and failures."""
    path = tmp_path_factory.mktemp("hostile") / "<i>run&.db"
    places = {HOSTILE: ["a", HOSTILE, "c"], "y": range(6)}
    problem = ds.problems.Choices(places, reward=lambda chosen: chosen["y"] + 2.0 * (chosen[HOSTILE] == "a"))
    search = ds.Search.default(problem, seed=0, storage=path, initial=5)
    search.run(12)
    search.forget(search.ask(), again=False, note={"failure": HOSTILE})
    search.ask()
    search.note(HOSTILE)
    search.close()
    return path


def content_of(page):
    found = re.search(r'<script type="application/json" id="content">(.*?)</script>', page, re.DOTALL)
    return json.loads(found[1])


def test_the_page_is_one_file_that_loads_nothing(stored):
    page = Report.of_runs(stored).to_html()
    assert not re.search(r'(src|href|action)\s*=\s*["\']', page.replace("src=x", ""))
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in page
    assert page.count("<script") == 2
    assert not re.search("<(script|img)", Report.of_runs(stored)._repr_html_())
    assert HOSTILE not in page
    assert "{{" not in re.sub(r"\{\{content\}\}", "", page)


def test_a_result_has_a_report(tmp_path):
    result = ds.search(ds.problems.Subsets(12, 3, reward=sum), 40, seed=0)
    report = result.report()
    (view,) = report.to_dict()
    assert view["best"] == result.best_reward
    assert view["evaluations"] == 40
    assert view["state"] == "ended"
    assert view["calibration"]["covered"] == result.coverage
    path = report.write(tmp_path / "page.html")
    assert path.read_text(encoding="utf-8") == report.to_html()
    assert "Best so far 30 after 40 evaluations" in repr(report)


def test_the_command_writes_the_page(stored, tmp_path):
    out = tmp_path / "page.html"
    assert main(["report", str(stored), "--out", str(out)]) == 0
    (run,) = content_of(out.read_text(encoding="utf-8"))["runs"]
    assert run["name"] == "<i>run&.db"
    assert run["failures"][0]["text"] == HOSTILE
    assert any(part.startswith(HOSTILE[:20]) for part in run["best_leaf"])


@in_browser
@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1400])
def test_the_page_fits_and_nothing_in_it_acts(stored, show, width):
    page = show(Report.of_runs(stored, stored).to_html(), width)
    assert page.noticed == []
    assert page.locator("html").evaluate("html => html.scrollWidth - html.clientWidth") == 0
    assert page.title().endswith("dagsearch")
    assert page.locator("img, main b, main i").count() == 0
    ids = page.locator("main > section").evaluate_all("all => all.map(one => one.id)")
    order = ["headline", "progress", "calibration", "effects", "path", "gain", "pending", "evaluations"]
    assert ids == ["headline", "comparison", *order[1:]]
    assert HOSTILE[:20] in page.locator("#pending").inner_text()


@in_browser
@pytest.mark.slow
def test_a_leaf_to_propose_is_written_by_names_where_there_are_names(stored, show):
    page = show(Report.of_runs(stored).to_html())
    written = (
        "([text, labels]) => { try { return asLeaf(text, labels); } catch (error) { return error.message; } }"
    )

    def leaf(text, labels):
        return page.evaluate(written, [text, labels])

    assert leaf("income, age", ["age", "income"]) == [1, 0]
    assert leaf('["income", "age"]', ["age", "income"]) == [1, 0]
    assert leaf("20, 10", ["10", "20"]) == leaf("[20, 10]", ["10", "20"]) == [1, 0]
    assert leaf("income, heigth", ["age", "income"]) == "there is no item heigth"
    assert leaf('[["a", 1]]', None) == [["a", 1]]
    assert "must be JSON" in leaf("age", None)


@in_browser
@pytest.mark.parametrize("search", [ds.maximize, ds.minimize])
def test_all_evaluations_can_be_sorted(show, search):
    result = search(lambda choose: choose("a", range(9)) + 0.25 * choose("b", range(9)), 30, seed=0)
    page = show(result.report().to_html())
    rows = page.locator("#evaluations tbody tr")
    assert rows.count() == 20
    page.get_by_role("button", name="Show more").click()
    assert rows.count() == 30

    def column(place):
        texts = rows.locator(f"xpath=*[{place}]").all_inner_texts()
        return [float(text.replace("−", "-")) for text in texts if text != "–"]

    rewards = [one.reward for one in result.history]
    assert column(2) == sorted(rewards, reverse=search is ds.maximize)  # the best first
    assert rows.nth(0).locator(".plus").count() == 0
    assert rows.nth(29).locator(".plus").count() > 0  # it differs from the best one
    page.get_by_role("button", name="Number").click()
    assert column(1) == list(range(30, 0, -1))
    page.get_by_role("button", name="Number").click()
    assert column(1) == list(range(1, 31))
    assert column(2) == rewards
    assert page.locator("#evaluations th[aria-sort=ascending]").inner_text().startswith("Number")


@in_browser
def test_numbers_of_one_table_have_as_many_decimals(show, stored):
    page = show(Report.of_runs(stored).to_html())
    for value, shown in (("9.38e-6", "9.4e−6"), ("-2.5e12", "−2.5e+12"), ("-7134201.4", "−7,134,201")):
        assert page.evaluate(f"number({value})") == shown
    assert page.evaluate("[0.5, 0.123456, -0.00001, null].map(alike([0.5, 0.123456, -0.00001]))") == [
        "0.500",
        "0.123",
        "0.000",
        "–",
    ]
    assert page.evaluate("[3, -1200].map(alike([3, -1200]))") == ["3", "−1,200"]


@in_browser
def test_all_runs_of_a_database_are_listed_and_laid_over_each_other(tmp_path, show):
    problem, path = ds.problems.Subsets(8, 3, reward=sum), tmp_path / "run.db"
    best = [ds.search(problem, 4 + n, seed=n, storage=path, name=f"n{n}").best_reward for n in range(3)]
    page = show(Report.of_runs(path).to_html())
    compared = page.locator("#comparison")
    rows = [row.split("\t")[:4] for row in compared.locator("tbody tr").all_inner_texts()]
    assert rows == [[f"run.db: n{n}", "ended", f"{4 + n}", f"{best[n]:.0f}"] for n in range(3)]
    assert compared.locator("path.run-line").count() == 6  # with those of the legend
    page.locator("#run").select_option("2")
    assert "evaluation" in page.locator("h1").inner_text()
    assert page.locator(".source").inner_text().startswith("run.db: n2")
