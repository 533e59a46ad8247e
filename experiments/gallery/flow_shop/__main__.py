"""``python -m experiments.gallery.flow_shop``: a short schedule, or the comparison with other methods."""

import argparse
import csv
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import dagsearch as ds
from experiments.gallery import frame
from experiments.gallery.flow_shop import RUNS_PER_INSTANCE, by_instance, table
from experiments.gallery.flow_shop.methods import methods, neh
from experiments.gallery.flow_shop.simulation import Operation, makespan, simulated
from experiments.gallery.flow_shop.taillard import COUNT, Instance, instance, times
from experiments.harness.csv_files import write_csv
from experiments.harness.drawing import figure

_SMALL = Instance("8 jobs on 3 machines", times(873654221, 8, 3), None)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = frame.parser("flow_shop", "Find the order of jobs with the shortest makespan.", 500, small=30)
    parser.add_argument(
        "--instance", type=int, default=1, choices=range(1, COUNT + 1), help="ta001 to ta010 (default: 1)"
    )
    parser.add_argument(
        "--times", type=Path, metavar="CSV", help="your own jobs: one line per job, one column per machine"
    )
    options = frame.parsed(parser, arguments)
    if options.action == "compare":
        compare(options)
    else:
        run(options)


class Schedule:
    """The reward of an order: minus its makespan."""

    def __init__(self, shop: Instance) -> None:
        self._times = shop.times

    def __call__(self, order: Sequence[int]) -> float:
        """Simulate the shop."""
        return -makespan(self._times, order)

    def identity(self) -> str:
        """A digest of the processing times: a run continues with the same ones only."""
        return frame.digest([repr(self._times)])


def run(options: argparse.Namespace) -> None:
    """Search, print the order and write the schedule."""
    shop, folder = _chosen(options), options.out
    problem = ds.problems.Orders(range(len(shop.times)), Schedule(shop))
    result = frame.solve(ds.search, problem, options)
    if result is None or result.best_reward is None:
        return
    order = result.best_state
    print(f"{shop.name}: makespan {-result.best_reward:g} after {len(result.history)} simulations")
    if shop.best_known is not None:
        print(f"best known: {shop.best_known}; this is {_distance(shop, result.best_reward):.1f} % above")
    print("order:", " ".join(str(job + 1) for job in order))
    schedule = simulated(shop.times, order)
    rows = ((one.job + 1, one.machine + 1, one.start, one.end) for one in schedule)
    write_csv(folder / "schedule.csv", ("job", "machine", "start", "end"), rows)
    _draw_schedule(schedule, folder / "schedule.png")
    print(f"schedule: {folder / 'schedule.csv'}, {folder / 'schedule.png'}")


def _chosen(options: argparse.Namespace) -> Instance:
    if options.times is not None:
        return _read(options.times)
    return _SMALL if options.small else instance(options.instance)


def _read(path: Path) -> Instance:
    try:
        with path.open(newline="") as file:
            rows = tuple(tuple(int(cell) for cell in row) for row in csv.reader(file) if row)
    except (OSError, ValueError) as error:
        raise SystemExit(f"{path}: {error}") from error
    if len(rows) < 2 or len({len(row) for row in rows}) > 1 or min(min(row) for row in rows) < 0:
        raise SystemExit(f"{path} must have one line per job, at least two, with one time per machine each")
    return Instance(path.stem, rows, None)


def _distance(shop: Instance, reward: float) -> float:
    """Percent by which a makespan exceeds the best known one."""
    assert shop.best_known is not None
    return 100.0 * (-reward / shop.best_known - 1.0)


def _draw_schedule(schedule: Sequence[Operation], path: Path) -> None:
    from matplotlib import colormaps

    drawn = figure(9.0, 3.0)
    axes = drawn.subplots()
    colours = colormaps["tab20"]
    for job, machine, start, end in schedule:
        axes.barh(machine + 1, end - start, left=start, color=colours(job % 20), edgecolor="white")
        axes.text((start + end) / 2, machine + 1, str(job + 1), ha="center", va="center", fontsize=6)
    axes.invert_yaxis()
    axes.set(xlabel="time", ylabel="machine", yticks=sorted({one.machine + 1 for one in schedule}))
    drawn.savefig(path, dpi=130)


def compare(options: argparse.Namespace) -> None:
    """All methods on all instances; writes the files of the comparison and the table in the README."""
    shops = {number: instance(number) for number in range(1, 3 if options.small else COUNT + 1)}
    contests = [
        frame.Contest(
            methods(shop.times),
            Schedule(shop),
            options.budget,
            partial(_distance, shop),
            first=number * RUNS_PER_INSTANCE,
        )
        for number, shop in shops.items()
    ]
    runs = frame.compare(contests, options.seeds, options.jobs)
    by_neh = {shop.name: _distance(shop, Schedule(shop)(neh(shop.times))) for shop in shops.values()}
    about = {
        "what": "percent above the best known makespan; number of a run = 100 × instance + seed",
        "budget": options.budget,
        "NEH alone": by_neh,
    }
    panel = frame.Panel(
        "Flow shop, 20 jobs on 5 machines",
        "% above the best known makespan",
        by_instance(runs),
        {"NEH alone": sum(by_neh.values()) / len(by_neh)},
    )
    frame.report(options.out, runs, table(runs), [panel], about)


if __name__ == "__main__":
    main()
