"""Figures of the report of a feature selection, drawn with matplotlib.

Every function takes the dictionary of a report (:meth:`~dagsearch.selection.SelectionReport.to_dict`) and the
axes to draw on; without axes, it makes a new figure. It returns the axes.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dagsearch._internal.typing import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Distinguishable with all kinds of colour vision (Okabe and Ito).
_BLUE, _GREEN, _VERMILLION, _GREY = "#0072B2", "#009E73", "#D55E00", "#999999"


def score(report: Mapping[str, Any], axes: "Axes | None" = None) -> "Axes":
    """Score of each subset, best score so far, and belief about the best possible score, by evaluations."""
    axes = _axes(axes)
    history, belief = report["history"], report["belief"]
    steps = _column(history, "step")
    if belief:
        known = _column(belief, "step")
        low, high = _column(belief, "low"), _column(belief, "high")
        axes.fill_between(known, low, high, color=_GREEN, alpha=0.2, linewidth=0.0)
        axes.plot(
            known, _column(belief, "mean"), "--", color=_GREEN, label="belief about the best possible score"
        )
    axes.plot(steps, _column(history, "score"), ".", color=_GREY, alpha=0.6, label="a subset")
    axes.step(steps, _column(history, "best"), where="post", color=_BLUE, label="best so far")
    axes.set(xlabel="subsets scored", ylabel="score")
    axes.legend(fontsize="small")
    return axes


def inclusion(report: Mapping[str, Any], axes: "Axes | None" = None, *, first: int = 40) -> "Axes":
    """The ``first`` features by inclusion probability, with intervals; selected features are blue."""
    features = report["features"][:first]
    axes = _axes(axes, height=1.2 + 0.22 * len(features))
    rows = np.arange(len(features))
    chance = _column(features, "inclusion")
    ends = _array([feature["interval"] or (None, None) for feature in features]).reshape(-1, 2)
    colours = [_BLUE if feature["selected"] else _GREY for feature in features]
    axes.barh(rows, chance, color=colours)
    axes.hlines(rows, ends[:, 0], ends[:, 1], color="black", linewidth=1.2)
    axes.set_yticks(rows, [_plain(feature["name"]) for feature in features])
    axes.set(xlim=(0.0, 1.0), xlabel="inclusion probability (chosen features in blue)")
    axes.invert_yaxis()
    return axes


def sizes(report: Mapping[str, Any], axes: "Axes | None" = None) -> "Axes":
    """Best score of each number of features, with its standard error; the chosen number is blue.

    There is nothing to draw if all subsets have the same size.
    """
    axes = _axes(axes)
    by_size = report["by_size"]
    counts = np.array([len(size["features"]) for size in by_size])
    axes.errorbar(
        counts,
        _column(by_size, "score"),
        np.nan_to_num(_column(by_size, "error")),
        fmt="o-",
        color=_GREY,
        capsize=3,
        label="best subset of each size",
    )
    chosen = [size for size in by_size if len(size["features"]) == len(report["result"]["features"])]
    axes.plot(
        [len(size["features"]) for size in chosen], _column(chosen, "score"), "o", color=_BLUE, label="chosen"
    )
    axes.set(xlabel="number of features", ylabel="score", xticks=counts)
    axes.legend(fontsize="small")
    return axes


def substitutes(report: Mapping[str, Any], axes: "Axes | None" = None) -> "Axes":
    """Expected change of the score if a selected feature (row) is replaced by a candidate (column)."""
    from matplotlib.colors import LinearSegmentedColormap

    selected, candidates = report["substitutes"]["selected"], report["substitutes"]["candidates"]
    axes = _axes(axes, width=3.0 + 0.4 * len(candidates), height=2.0 + 0.35 * len(selected))
    axes.set_xticks(range(len(candidates)), [_plain(name) for name in candidates], rotation=90)
    axes.set_yticks(range(len(selected)), [_plain(name) for name in selected])
    if not selected or not candidates:
        return axes
    change = _array(report["substitutes"]["change"])
    most = float(np.nan_to_num(np.abs(change)).max()) or 1.0
    colours = LinearSegmentedColormap.from_list("change", [_VERMILLION, "white", _BLUE])
    image = axes.imshow(change, cmap=colours, vmin=-most, vmax=most, aspect="auto")
    axes.figure.colorbar(image, ax=axes, label="expected change of the score")
    return axes


def explored(report: Mapping[str, Any], axes: "Axes | None" = None, *, labelled: int = 60) -> "Axes":
    """The best part of the explored DAG, in layers from left to right; darker nodes have a larger v.

    Nodes are labelled with the feature that they add. With more than ``labelled`` nodes, only those on the
    best path are.
    """
    from matplotlib.collections import LineCollection

    axes = _axes(axes, width=9.0)
    axes.set_axis_off()
    nodes, edges = report["dag"]["nodes"], report["dag"]["edges"]
    if not nodes:
        return axes
    places = _layers(nodes, edges)
    on_best = {node["id"]: node["best"] for node in nodes}
    best = [on_best[start] and on_best[end] for start, end in edges]
    lines = LineCollection(
        [(places[start], places[end]) for start, end in edges],
        colors=[_VERMILLION if both else _GREY for both in best],
        linewidths=[2.0 if both else 0.6 for both in best],
        zorder=1,
    )
    axes.add_collection(lines)
    x, y = zip(*(places[node["id"]] for node in nodes), strict=True)
    v = _array([(node["v"] or (None,))[0] for node in nodes])
    edge_colours = [_VERMILLION if node["best"] else _GREY for node in nodes]
    axes.scatter(x, y, c=v, cmap="Blues", edgecolors=edge_colours, s=60, zorder=2, plotnonfinite=True)
    for node in nodes:
        if node["adds"] is not None and (node["best"] or len(nodes) <= labelled):
            axes.annotate(
                _plain(node["adds"], 16),
                places[node["id"]],
                (0, 6),
                textcoords="offset points",
                ha="center",
                size=7,
            )
    axes.invert_yaxis()
    axes.margins(0.08)
    return axes


def _layers(
    nodes: Iterable[Mapping[str, Any]], edges: Iterable[tuple[int, int]]
) -> dict[int, tuple[float, float]]:
    """Positions of the nodes: the best path on top, the others in the order of their parents."""
    parents, layers = defaultdict(list), defaultdict(list)
    for start, end in edges:
        parents[end].append(start)
    for node in nodes:
        layers[node["depth"]].append(node)
    places: dict[int, tuple[float, float]] = {}
    for depth in sorted(layers):
        wishes = {
            node["id"]: np.mean(
                [places[parent][1] for parent in parents[node["id"]] if parent in places] or [0]
            )
            for node in layers[depth]
        }
        ordered = sorted(layers[depth], key=lambda node: (not node["best"], wishes[node["id"]]))
        places |= {node["id"]: (float(depth), float(row)) for row, node in enumerate(ordered)}
    return places


def _axes(axes: "Axes | None", width: float = 7.0, height: float = 4.2) -> "Axes":
    """The given axes, or those of a new pyplot figure."""
    if axes is not None:
        return axes
    from matplotlib import pyplot

    return pyplot.subplots(figsize=(width, height), layout="constrained")[1]


def _array(values: Any) -> FloatArray:
    """Numbers as an array; ``None`` becomes NaN, which is not drawn."""
    return np.array(values, dtype=np.float64)


def _column(rows: Iterable[Mapping[str, Any]], name: str) -> FloatArray:
    return _array([row[name] for row in rows])


def _plain(name: str, longest: int = 40) -> str:
    """A name, cut if it is too long, as text that matplotlib does not read as mathematics."""
    return (name if len(name) <= longest else f"{name[: longest - 1]}…").replace("$", r"\$")
