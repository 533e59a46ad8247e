"""The tables and the picture of ``docs/speed.md`` from the files of the benchmark ``speed``."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.harness.drawing import figure
from experiments.harness.markdown import aligned, table
from experiments.speed.measure import PARTS
from experiments.speed.results import Measurement

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Found = Mapping[str, Measurement]
_VERDICTS = {True: "yes", False: "no", None: "–"}
_RUNS = {"subsets": "784 choose 10", "tictactoe": "Tic-Tac-Toe", "digits": "digits", "uct": "UCT"}


def read(folder: Path, names: Sequence[str]) -> dict[str, Measurement]:
    """The measurements whose files the folder has, in the order of the names."""
    paths = {name: folder / f"{name}.json" for name in names}
    return {name: Measurement.read(path) for name, path in paths.items() if path.exists()}


def tables(found: Found) -> dict[str, str]:
    """The tables of the page, by name."""
    return {name: make(found) for name, make in (("figures", _figures), ("parts", _parts))}


def _figures(found: Found) -> str:
    rows = [
        [f"`{name}`", one.what, one.shown, one.wanted, _VERDICTS[measurement.verdict(one)]]
        for name, measurement in found.items()
        for one in measurement.figures
    ]
    return table(["measurement", "what", "figure", "target", "reached"], rows)


def _parts(found: Found) -> str:
    """Milliseconds of a step by part, for every run with a split."""
    splits = {label: found[name].measured["parts_ms"] for name, label in _RUNS.items() if name in found}
    rows = [
        [part, *(f"{split[part]:.3f}" if part in split else "–" for split in splits.values())]
        for part in PARTS
        if any(part in split for split in splits.values())
    ]
    rows.append(["together", *(f"{sum(split.values()):.3f}" for split in splits.values())])
    return table(["ms a step", *splits], rows)


def summary(measurements: Sequence[Measurement]) -> str:
    """Every figure with its target, for a terminal."""
    made = aligned(_figures({measurement.name: measurement for measurement in measurements}))
    notes = [f"{one.what}: {one.note}" for each in measurements for one in each.figures if one.note]
    if any(measurement.quick for measurement in measurements):
        notes.append("These are small versions of the measurements, so they are not judged by targets.")
    return "\n".join([made, *notes])


# The picture -------------------------------------------------------------------------------------------


def draw(found: Found) -> "Figure":
    """Parts of a step, growth of its time, memory, and break-even."""
    drawn = figure(11.0, 8.0)
    panels: tuple[Callable[[Axes, Found], None], ...] = (_draw_parts, _draw_growth, _draw_memory)
    axes = drawn.subplots(2, 2).ravel()
    for place, panel in zip(axes, (*panels, _draw_breakeven), strict=True):
        panel(place, found)
    return drawn


def _draw_parts(axes: "Axes", found: Found) -> None:
    runs = [name for name in _RUNS if name in found]
    splits = [found[name].measured["parts_ms"] for name in runs]
    left = [0.0] * len(runs)
    for number, part in enumerate(PARTS):
        shares = [100.0 * split.get(part, 0.0) / sum(split.values()) for split in splits]
        if any(shares):
            axes.barh(range(len(runs)), shares, left=left, label=part, color=f"C{number}")
        left = [start + share for start, share in zip(left, shares, strict=True)]
    names = [f"{_RUNS[name]}\n{found[name].measured['ms']:.2f} ms" for name in runs]
    axes.set_yticks(range(len(runs)), names)
    axes.invert_yaxis()
    axes.set(xlabel="% of a step", title="Where a step's time goes", xlim=(0.0, 100.0))
    if runs:
        axes.legend(fontsize="x-small", ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.16))


def _draw_growth(axes: "Axes", found: Found) -> None:
    for name, label in (("growth", "feature map"), ("kernel", "kernel")):
        if name not in found:
            continue
        sizes = found[name].measured["sizes"]
        rewards = [size["rewards"] for size in sizes]
        (line,) = axes.plot(rewards, [size["ms"] for size in sizes], "o-", label=f"a step, {label}")
        floor = [size["floor_ms"] for size in sizes]
        axes.plot(rewards, floor, "o:", color=line.get_color(), label=f"its linear algebra, {label}")
    axes.set(xscale="log", yscale="log", xlabel="rewards", ylabel="ms", title="How a step's time grows")
    axes.tick_params(axis="x", which="minor", labelbottom=False)
    _legend(axes, (0.45, 0.17))  # at a place without lines


def _draw_memory(axes: "Axes", found: Found) -> None:
    if "memory" in found:
        sizes = found["memory"].measured["sizes"]
        nodes = [size["nodes"] for size in sizes]
        axes.plot(nodes, [size["bytes_per_node"] for size in sizes], "o-", label="the search's own")
        axes.axhline(400.0, color="black", linestyle=":", linewidth=1.0, label="target")
    axes.set(xscale="log", xlabel="nodes", ylabel="bytes per node", title="Memory", ylim=(0.0, None))
    _legend(axes)


def _draw_breakeven(axes: "Axes", found: Found) -> None:
    """For the largest score only: curves of the others would cover it."""
    if "breakeven" in found:
        measured = found["breakeven"].measured
        last: Mapping[str, Any] = measured["scores"][-1]
        costs = [1e3 * cost for cost in measured["costs_s"]]
        for name, seconds in last["seconds"].items():
            share = last["reached"][name]["share"]
            label = name if share == 1.0 else f"{name} ({share:.0%} of runs get there)"
            axes.plot(costs, seconds, label=label)
        axes.axvline(5.0, color="black", linestyle=":", linewidth=1.0, label="target for the crossing")
        axes.set_title(f"Digits: time until {last['score']:.0%} are told right")
    axes.set(xscale="log", yscale="log", xlabel="ms an evaluation", ylabel="seconds in all")
    _legend(axes)


def _legend(axes: "Axes", where: tuple[float, float] | None = None) -> None:
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize="x-small", loc="best" if where is None else where)
