"""The report's page in a browser, its snippet, and its figures."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from dagsearch.selection import page as report
from support.browser import in_browser


def visible(name):
    """The name as it is shown: what ends a line by its number."""
    return name.replace("\u2028", "\\u2028")


HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    "$x_1$",
    "{{content}}",
    "\u2028&amp;",
]
SECTIONS = [
    "headline",
    "progress",
    "calibration",
    "inclusion",
    "gain",
    "effects",
    "substitutes",
    "code",
    "explored",
    "leaves",
    "comparisons",
    "settings",
]


def example(features=30, chosen=8, steps=120, names=(), warnings=()):
    """A report of a made-up selection."""
    rng = np.random.default_rng(0)
    parts = ["radius", "texture", "perimeter", "area", "smoothness", "compactness", "concavity", "symmetry"]
    kinds = ["mean", "worst", "error of", "smallest", "median", "range of"]
    made = [f"{kinds[i // 8 % 6]} {parts[i % 8]}{'' if i < 48 else f' {i // 48}'}" for i in range(features)]
    names = [*names, *made][:features]
    chance = np.sort(rng.beta(0.5, 1.0, features))[::-1]
    scores = 0.97 - 0.12 * np.exp(-np.arange(steps) / 60) * rng.random(steps) - 0.01 * rng.random(steps)
    failed = rng.random(steps) < 0.02 if steps > 10 else np.zeros(steps, dtype=bool)
    best = np.maximum.accumulate(np.where(failed, -np.inf, scores))
    subsets = [sorted(rng.choice(features, chosen, replace=False).tolist()) for _ in range(steps)]
    # Many subsets differ from the chosen one, which has the best score, in one feature.
    for step in range(0, steps, 2):
        subsets[step] = list(range(chosen))
        subsets[step][step // 2 % chosen] = (chosen + step) % features
    subsets[int(np.argmax(best))] = list(range(chosen))

    def interval(middle, half):
        return [float(middle - half), float(middle + half)]

    return {
        "headline": f"With {chosen} of {features} features, predicting 'diagnosis' reaches accuracy 0.951.",
        "question": "classification · scored by accuracy · LogisticRegression() · 569 rows",
        "by_size": [],
        "code": f"features = {names[:chosen]!r}\nX[features]",
        "schema": 1,
        "dagsearch": "0.1.0",
        "settings": {
            "data": "cancer.csv",
            "target": "diagnosis",
            "features to select": chosen,
            "budget": steps,
            "estimator": "LogisticRegression()",
            "scoring": "accuracy",
            "cv": "StratifiedKFold(5)",
            "seed": 0,
            "groups": None,
        },
        "data": {"rows": 569, "columns": features, "holdout_rows": 142},
        "result": {
            "features": names[:chosen],
            "score": float(best[-1]),
            "score_interval": interval(best[-1], 0.01),
            "expected_score": float(best[-1]) - 0.003,
            "optimism": 0.003,
            "baseline": 0.627,
            "bounds": [0.0, 1.0],
            "signal": True,
            "simpler": {"features": names[: chosen - 1], "score": float(best[-1]) - 0.002},
            "probability_best": 0.41,
            "stopped": "budget",
            "evaluations": steps,
            "failed": int(failed.sum()),
            "seconds": 12.3,
            "holdout_score": 0.951,
            "holdout_interval": [0.92, 0.98],
        },
        "honest": {
            "score": 0.944,
            "interval": interval(0.944, 0.02),
            "scores": [0.93, 0.958],
            "stability": 0.62,
            "baseline": 0.627,
        },
        "model": {
            "skill": 0.71,
            "coverage": 0.88,
            "trust": 0.5,
            "sentence": "The model predicted 71% of the variance of the latter half of the scores beforehand",
        },
        "features": [
            {
                "name": name,
                "selected": i < chosen,
                "inclusion": float(chance[i]),
                "interval": [float(max(chance[i] - 0.06, 0)), float(min(chance[i] + 0.05, 1))],
                "evaluated_in": int(steps * chance[i]),
            }
            for i, name in enumerate(names)
        ],
        "comparisons": [
            {
                "name": name,
                "features": size,
                "subsets": subsets_scored,
                "score": value,
                "interval": interval(value, 0.012),
                "holdout_score": value - 0.01,
                "holdout_interval": interval(value - 0.01, 0.03),
            }
            for name, size, subsets_scored, value in [
                ("all features", features, 1, 0.951),
                ("forward selection", chosen, 212, 0.963),
                ("most correlated", chosen, 1, 0.934),
            ]
        ],
        "history": [
            {
                "step": i + 1,
                "score": None if failed[i] else float(scores[i]),
                "best": None if np.isinf(best[i]) else float(best[i]),
                "deviation": 0.02,
                "features": [names[j] for j in subsets[i]],
                "seconds": 0.1 * i,
                "failure": "ValueError: singular" if failed[i] else None,
                "predicted": None if failed[i] or i < 5 else [float(scores[i]) - 0.01, 0.02],
            }
            for i in range(steps)
        ],
        "belief": [
            {"step": i, "mean": 0.972 + 0.4 / i, "low": 0.966 + 0.1 / i, "high": 0.976 + 0.9 / i}
            for i in range(20, steps + 1, 5)
        ],
        "substitutes": {
            "selected": names[:chosen],
            "candidates": names[chosen : chosen + 12],
            "change": [
                [None if (i + j) % 17 == 3 else float(rng.normal(-0.01, 0.01)) for j in range(12)]
                for i in range(chosen)
            ],
        },
        "runners_up": [
            {
                "features": [*names[1:chosen], other],
                "score": 0.966 - 0.001 * i,
                "interval": interval(0.966 - 0.001 * i, 0.01),
            }
            for i, other in enumerate(names[chosen : chosen + 6])
        ],
        "notes": ["the classes of 'diagnosis' are numbered"],
        "warnings": list(warnings),
    }


def scarce():
    """A report that lacks whatever may be missing."""
    bare = example(steps=1, chosen=1, features=1)
    bare["data"]["holdout_rows"] = None
    bare["result"] |= dict.fromkeys(["holdout_score", "holdout_interval", "optimism", "baseline", "simpler"])
    bare["result"] |= dict.fromkeys(["probability_best", "seconds", "stopped"])
    bare["honest"] = None
    bare["model"] |= {"skill": None, "coverage": None, "trust": 0.0}
    bare["result"]["score_interval"] = [None, None]
    bare["features"][0] |= dict.fromkeys(["inclusion", "interval", "evaluated_in"])
    bare["history"][0] |= dict.fromkeys(["score", "best", "deviation"])
    bare["substitutes"] = {"selected": [], "candidates": [], "change": []}
    return bare | {"comparisons": [], "belief": [], "runners_up": []}


@in_browser
def test_features_are_sorted_by_inclusion_probability_and_the_leader_is_explained(show):
    made = example()
    made["features"] = made["features"][::-1]
    page = show(made)
    names = page.locator("#inclusion tbody .name").evaluate_all("all => all.map(one => one.textContent)")
    assert names[0].startswith(made["features"][-1]["name"])
    assert "comes first" not in page.locator("#leaves").inner_text()
    made["runners_up"][0]["score"] = 1.0
    assert "The chosen subset comes first." in show(made).locator("#leaves").inner_text()


def test_nothing_is_forecast_after_every_subset_was_scored():
    made = example()
    assert report.selection_view(made)["gain"]
    made["result"]["stopped"] = "exhausted"
    view = report.selection_view(made)
    assert (view["gain"], view["forecast"], view["settled"]) == ([], [], True)


def hostile():
    return example(names=HOSTILE, warnings=HOSTILE)


def sized():
    """A report of subsets of several sizes."""
    made = example()
    made["by_size"] = [
        {
            "features": made["result"]["features"][:size] if size < 9 else [str(i) for i in range(size)],
            "score": 0.97 - 0.3 / size**2,
            "error": 0.01 if size != 4 else None,
            "subsets": 3 * size,
        }
        for size in range(3, 13)
    ]
    return made


REPORTS = {
    "usual": example,
    "sized": sized,
    "hostile": hostile,
    "scarce": scarce,
    "empty": lambda: scarce() | {"features": [], "history": []},
    "large": lambda: example(features=500, chosen=10, steps=2000),
}


def embedded(page):
    """The JSON text in a page."""
    return re.search(r'<script type="application/json" id="content">(.*?)</script>', page, re.DOTALL)[1]


@pytest.mark.parametrize("name", REPORTS)
def test_page_holds_the_report_and_nothing_a_parser_could_take_for_markup(name):
    made = REPORTS[name]()
    data = embedded(report.html_page(made))
    (shown,) = json.loads(data)["runs"]
    assert made | shown["selection"] == made
    assert [point["step"] for point in shown["history"]][-1:] == [
        entry["step"] for entry in made["history"] if entry["score"] is not None
    ][-1:]
    assert [leaf["reward"] for leaf in shown["leaves"]][1:] == [one["score"] for one in made["runners_up"]]
    assert data.isascii()
    assert not set(data) & set("<>&")


def test_numbers_that_json_does_not_know_are_refused():
    with pytest.raises(ValueError, match="not JSON compliant"):
        report.html_page(example() | {"data": {"rows": float("nan"), "columns": 1, "holdout_rows": None}})


def test_undecodable_names_can_be_written():
    name = b"caf\xe9".decode(errors="surrogateescape")
    page = report.html_page(example(names=[name])).encode()
    assert json.loads(embedded(page.decode()))["runs"][0]["selection"]["features"][0]["name"] == name


class Content(HTMLParser):
    """Tags and texts of a snippet."""

    def __init__(self, snippet):
        super().__init__()
        self.tags, self.texts = set(), []
        self.feed(snippet)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)

    def handle_data(self, data):
        self.texts.append(data)


@pytest.mark.parametrize("name", REPORTS)
def test_fragment_shows_the_chosen_features_as_text(name):
    made = REPORTS[name]()
    content = Content(report.fragment(made))
    assert not content.tags - {"div", "p", "strong", "svg", "path", "table", "tbody", "tr", "th", "td"}
    assert set(map(visible, made["result"]["features"])) <= set(content.texts)


def test_fragment_draws_the_best_score_as_steps():
    made = example(steps=3)
    for entry, score, best in zip(made["history"], [0.5, None, 1.0], [0.5, 0.5, 1.0], strict=True):
        entry |= {"score": score, "best": best}
    assert 'd="M4.0 116.0L476.0 116.0L476.0 4.0"' in report.fragment(made)


@pytest.fixture
def show(browser, tmp_path):
    """Opens a report's page, or a changed one; complaints, dialogs and requests end in ``page.noticed``."""
    contexts = []

    def opened(made, width=1400, scheme="light", change=lambda text: text, **options):
        file = tmp_path / "report.html"
        file.write_text(change(report.html_page(made)), encoding="utf-8")
        contexts.append(
            browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, **options)
        )
        page = contexts[-1].new_page()
        page.noticed = []
        page.on("console", lambda message: page.noticed.append(message.text))
        page.on("pageerror", lambda error: page.noticed.append(str(error)))
        page.on("dialog", lambda dialog: (page.noticed.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: request.url == file.as_uri() or page.noticed.append(request.url))
        page.goto(file.as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()


@in_browser
@pytest.mark.parametrize("width", [390, 1400])
@pytest.mark.parametrize("name", REPORTS)
def test_page_is_whole_and_quiet_and_fits(show, name, width):
    page = show(REPORTS[name](), width)
    for summary in page.locator("summary").all():
        summary.click()
    there = [section for section in SECTIONS if section != "comparisons" or REPORTS[name]()["comparisons"]]
    assert all(page.locator(f"section#{section}").is_visible() for section in there)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.noticed == []


@in_browser
def test_headline_tells_the_result(show):
    made = example()
    text = show(made).locator("#headline").inner_text()
    low, high = made["result"]["score_interval"]
    parts = [f"{made['result']['score']:.4f}", f"{low:.4f} to {high:.4f}", "0.9510", "8 of 30"]
    parts += ["0.9200 to 0.9800", f"{made['result']['expected_score']:.4f}", "A simpler choice scores"]
    parts += ["about 0.0030 too high"]
    parts += ["Nested cross-validation", "0.9440", "without any feature 0.6270", "62%"]
    for part in parts:
        assert part in text
    assert show(example(warnings=["mind the gap"])).locator("#warnings li").inner_text() == "mind the gap"
    assert show(made).locator("#warnings").count() == 0


@in_browser
def test_headline_begins_with_what_was_found_and_asked(show):
    made = example()
    head = show(made).locator("#headline")
    assert head.locator("h1").inner_text() == made["headline"]
    assert (
        "classification · scored by accuracy · LogisticRegression()" in head.locator(".source").inner_text()
    )


@in_browser
def test_comparisons_are_readable_on_a_phone(show):
    page = show(example(), 390)
    card = page.locator("#comparisons tbody tr").nth(2)
    assert card.locator("th").inner_text() == "forward selection"
    labels = card.locator("td").evaluate_all(
        "all => all.map(one => [getComputedStyle(one, '::before').content, one.textContent])"
    )
    shown = [[label.strip('"'), value] for label, value in labels]
    assert shown == [
        ["Features", "8"],
        ["Subsets", "212"],
        ["Score", "0.9630"],
        ["On new rows, 90%", "0.9510 to 0.9750"],
        ["Hold-out", "0.9530"],
        ["Hold-out, 90%", "0.9230 to 0.9830"],
    ]
    frame = page.locator("#comparisons .sideways")
    assert frame.evaluate("box => box.scrollWidth <= box.clientWidth")  # nothing to scroll to
    assert page.locator("#comparisons thead").is_hidden()
    assert show(example(), 1400).locator("#comparisons thead").is_visible()


@in_browser
def test_score_by_number_of_features(show):
    page = show(sized())
    assert page.locator("#sizes .size-mark").count() == 10
    assert page.locator("#sizes .size-mark.chosen").count() == 1
    page.locator("#sizes svg[tabindex]").focus()
    page.keyboard.press("Home")
    assert "3 features: score 0.9367" in page.locator("#tip").inner_text()
    page.locator("#sizes summary").click()
    page.locator("#sizes tbody tr").nth(9).wait_for()  # the table is filled when it is opened
    assert page.locator("#sizes tbody tr").count() == 10
    assert show(example()).locator("#sizes").count() == 0


@in_browser
def test_notes_are_not_shown_as_warnings(show):
    page = show(example())
    assert page.locator("#warnings").count() == 0
    assert "are numbered" in page.locator("#settings").inner_text()


@in_browser
def test_where_nothing_predicts_nothing_is_recommended(show):
    made = example()
    made["result"] |= {"signal": False, "simpler": None}
    made |= {"substitutes": None, "code": None}
    page = show(made)
    assert page.locator("#effects, #substitutes, #code, #simpler").count() == 0
    assert "expected on new rows" not in page.locator("#headline").inner_text().lower()
    assert "expected on new rows" not in report.fragment(made)


@in_browser
def test_how_well_scores_were_predicted_is_told(show):
    text = show(example()).locator("#calibration").inner_text()
    assert "The model predicted 71% of the variance of the latter half of the scores beforehand." in text
    assert text.count("inside") == 1  # one sentence says how often intervals held
    made = scarce()
    shown = show(made)
    assert made["model"]["sentence"] in shown.locator("#inclusion").inner_text()
    assert shown.get_by_text(made["model"]["sentence"]).count() == 1
    assert shown.locator("#inclusion tbody").count() == 0  # no wall of empty bars


@in_browser
def test_predicted_intervals_end_where_scores_do(show):
    made = example()
    made["result"]["bounds"] = [0.0, 1.0]
    for entry in made["history"]:
        entry["predicted"] = [0.98, 0.2]
    figure = show(made).locator("#calibration svg[tabindex]")
    ends = re.findall(r"H([\d.]+)", figure.locator(".whisker").get_attribute("d"))
    assert len(ends) > 100
    assert len(set(ends)) == 1
    shown = [float(text.replace("−", "-")) for text in figure.locator("text").all_text_contents()[:-1]]
    assert 0.0 <= min(shown) < max(shown) <= 1.0
    edge = figure.evaluate("one => one.viewBox.baseVal.width")
    assert float(ends[0]) < edge - 12


@in_browser
def test_code_can_be_copied(show):
    made = hostile()
    page = show(made, permissions=["clipboard-read", "clipboard-write"])
    assert page.locator("#code pre").inner_text() == made["code"]
    page.locator("#code button").click()
    page.locator("#code button", has_text="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == made["code"]


@in_browser
def test_names_are_shown_as_text(show):
    page = show(hostile())
    for place in ["#headline .chips li", "#warnings li", "#inclusion tbody th"]:
        shown = page.locator(place).evaluate_all(
            "all => all.map(one => [...one.childNodes].map(node => node.data ?? '').join(''))"
        )
        assert shown[:5] == list(map(visible, HOSTILE))
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 2
    assert page.noticed == []


@in_browser
def test_only_the_own_script_may_run(show):
    injected = "<script>window.ran = true</script><img src=x onerror='window.ran = true'></body>"
    page = show(example(), change=lambda text: text.replace("</body>", injected))
    assert page.locator("#progress").is_visible()
    assert page.evaluate("window.ran") is None


@in_browser
def test_without_scripts_the_result_is_still_told(show):
    page = show(hostile(), java_script_enabled=False)
    assert "8 of 30 features chosen" in page.locator("noscript").inner_text()
    assert HOSTILE[0] in page.locator("noscript").inner_text()


@in_browser
def test_dark_scheme_is_dark_except_on_paper(show):
    brightness = "parseInt(getComputedStyle(document.body).backgroundColor.slice(4))"
    assert show(example(), scheme="light").evaluate(brightness) > 200
    dark = show(example(), scheme="dark")
    assert dark.evaluate(brightness) < 50
    dark.emulate_media(media="print")
    assert dark.evaluate(brightness) == 255


@in_browser
def test_every_figure_is_one_stop_of_the_tab_key(show):
    page = show(example())
    marks = []
    for _ in range(30):
        page.keyboard.press("Tab")
        marks.append(
            page.evaluate(
                """() => {
                    const figure = 'svg[role=application], .bars tr, .heat td, .node';
                    const mark = document.activeElement.closest(figure);
                    return mark?.closest('section').id ?? null;
                }"""
            )
        )
    stops = [mark for mark in marks if mark]
    assert stops[:5] == ["progress", "calibration", "inclusion", "substitutes", "explored"]


@in_browser
def test_arrow_keys_go_from_mark_to_mark_and_explain_them(show):
    made = example()
    page = show(made)
    tip = page.locator("#tip")
    page.locator("#progress svg[tabindex]").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    assert "Subset 2," in tip.inner_text()
    page.keyboard.press("Escape")
    assert tip.is_hidden()
    page.locator(".heat td").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    names = made["substitutes"]
    assert f"{names['candidates'][1]} instead of {names['selected'][1]}" in tip.inner_text()
    assert f"{abs(names['change'][1][1]):.4f}" in tip.inner_text()
    page.locator(".bars tbody tr").first.focus()
    page.keyboard.press("ArrowDown")
    assert made["features"][1]["name"] in tip.inner_text()


@in_browser
def test_the_point_nearest_to_the_pointer_is_explained(show):
    page = show(example())
    figure = page.locator("#progress svg[tabindex]")
    figure.focus()
    page.keyboard.press("Home")
    for _ in range(9):
        page.keyboard.press("ArrowRight")
    said, at = page.locator("#tip").inner_text(), page.locator("#progress .cursor").bounding_box()
    page.keyboard.press("Escape")
    page.mouse.move(at["x"] + at["width"] / 2 + 2, at["y"] + at["height"] / 2 + 2)
    assert page.locator("#tip").inner_text() == said


@in_browser
def test_all_features_are_shown_when_asked_for(show):
    page = show(example(features=60))
    rows = page.locator("#inclusion tbody tr")
    assert rows.count() == 16
    page.get_by_role("button", name="Show all 60").click()
    assert rows.count() == 60
    assert show(example(features=16)).locator("#inclusion").get_by_role("button").count() == 0


def wait_until(page, condition):
    """The browser turns the wheel in its own time; its own way of waiting would need eval."""
    for _ in range(100):
        if condition():
            return
        page.wait_for_timeout(50)
    raise AssertionError("nothing happened")


def view_of(page):
    """Translation and scale of the drawn DAG."""
    transform = page.locator(".view svg > g").get_attribute("transform")
    return [float(number) for number in re.findall(r"-?[\d.]+", transform)]


@in_browser
def test_dag_zooms_and_pans(show):
    page = show(example())
    start = view_of(page)
    page.get_by_role("button", name="Zoom in").click()
    assert view_of(page)[2] == pytest.approx(1.3 * start[2], rel=1e-3)
    page.get_by_role("button", name="Zoom out").click()
    page.get_by_role("button", name="Zoom out").click()
    assert view_of(page)[2] < start[2]
    page.get_by_role("button", name="Reset view").click()
    assert view_of(page) == start

    page.locator(".view svg").scroll_into_view_if_needed()
    at = page.locator(".view svg").bounding_box()
    corner = at["x"] + 20, at["y"] + at["height"] - 20  # no node is there
    page.mouse.move(*corner)
    page.mouse.down()
    page.mouse.move(corner[0] + 30, corner[1] - 20)
    page.mouse.up()
    assert view_of(page) == pytest.approx([start[0] + 30, start[1] - 20, start[2]], abs=0.1)
    page.mouse.wheel(0, -100)
    wait_until(page, lambda: view_of(page)[2] > start[2])
    page.keyboard.press("0")
    assert view_of(page) == start


@in_browser
def test_the_wheel_scrolls_the_page_until_the_dag_is_in_use(show):
    page = show(example())
    start = view_of(page)
    page.locator("#explored").scroll_into_view_if_needed()
    before = page.evaluate("scrollY")
    at = page.locator(".view svg").bounding_box()
    page.mouse.move(at["x"] + 20, at["y"] + 100)
    page.mouse.wheel(0, 100)
    wait_until(page, lambda: page.evaluate("scrollY") > before)
    assert view_of(page) == start


@in_browser
def test_dag_tells_of_a_node_on_hover_focus_and_tap(show):
    made = example()
    page = show(made)
    title = page.locator(".panel h3")
    assert title.inner_text() == f"+ {made['result']['features'][-1]}"
    nodes = page.locator(".node")
    nodes.nth(3).hover()
    assert title.inner_text() == f"+ {nodes.nth(3).locator('text').first.text_content()}"
    nodes.first.focus()
    page.keyboard.press("ArrowRight")
    first = report.selection_view(made)["dag"]["nodes"][1]
    panel = page.locator(".panel").inner_text()
    assert title.inner_text() == f"+ {first['label']}"
    assert f"{first['reward']:.4f}" in panel
    assert f"Subsets below\n{first['count']}" in panel
    phone = show(made, 390, has_touch=True)
    phone.locator(".node").nth(2).tap()
    assert phone.locator(".panel h3").inner_text() == f"+ {nodes.nth(2).locator('text').first.text_content()}"


@in_browser
def test_best_path_is_a_straight_line_that_keys_can_follow_out_of_sight(show):
    page = show(example(), 390)
    assert (
        len(
            {
                box["y"]
                for box in page.locator(".node.on-best rect").evaluate_all(
                    "all => all.map(one => one.getBoundingClientRect())"
                )
            }
        )
        == 1
    )
    assert page.locator(".edge.on-best").count() == 8
    page.keyboard.press("Tab")
    page.locator(".node").first.focus()
    for _ in range(8):
        page.keyboard.press("ArrowRight")
    at, frame = page.locator(".node:focus rect").bounding_box(), page.locator(".view").bounding_box()
    assert frame["x"] <= at["x"] <= at["x"] + at["width"] <= frame["x"] + frame["width"]
