"""``python -m experiments arena``: many games between our player and others."""

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from dagsearch.cli.common import positive, seconds
from experiments.commands.common import failed

if TYPE_CHECKING:
    from dagsearch.cli.common import Commands
    from experiments.arena.matches import Pairing

# Options that are written to the JSON file with the games.
_SETTINGS = (
    "games",
    "player",
    "against",
    "simulations",
    "seconds",
    "count",
    "opening",
    "uct_c",
)
_PLAYERS = ("grave-ahead", "grave", "rave", "paper", "mcts", "mcts-solver")
_GAME = "a game of OpenSpiel, optionally with parameters: connect_four, 'hex(board_size=5)'"


def add_parser(commands: "Commands") -> None:
    """Add ``arena``."""
    arena = commands.add_parser(
        "arena",
        help="let searches play many games against each other and OpenSpiel's MCTS",
        description=(
            "Searches of the library and OpenSpiel's MCTS at equal numbers of roll-outs, or in equal time. "
            "Every opening is played twice, with seats exchanged. Writes all games as compressed CSV "
            "and the scores as a picture."
        ),
    )
    arena.add_argument("games", nargs="+", metavar="GAME", help=_GAME)
    arena.add_argument(
        "--against",
        nargs="+",
        choices=_PLAYERS,
        default=["paper", "mcts-solver"],
        help=(
            "GRAVE or RAVE, GRAVE that sees moves that end the game before it tries them, the search of the "
            "paper, or OpenSpiel's MCTS with or without its solver (default: paper mcts-solver)"
        ),
    )
    arena.add_argument(
        "--player",
        choices=_PLAYERS,
        default=_PLAYERS[0],
        help="who plays against them (default: %(default)s)",
    )
    budget = arena.add_mutually_exclusive_group()
    budget.add_argument(
        "--simulations",
        nargs="+",
        type=positive,
        default=[100],
        metavar="N",
        help="roll-outs per move (default: 100)",
    )
    budget.add_argument(
        "--seconds", nargs="+", type=seconds, metavar="S", help="seconds per move instead; best with --jobs 1"
    )
    arena.add_argument(
        "--games",
        dest="count",
        type=positive,
        default=200,
        help="games per opponent and budget (default: 200)",
    )
    arena.add_argument("--opening", type=_moves, default=2, help="random moves at the start (default: 2)")
    arena.add_argument("--uct-c", type=float, default=2.0**0.5, help="exploration constant (default: 1.414)")
    arena.add_argument(
        "--jobs", type=positive, default=os.cpu_count() or 1, help="processes (default: one per core)"
    )
    arena.add_argument("--seed", type=int, default=0, help="random seed (default: %(default)s)")
    arena.add_argument(
        "--out", type=Path, default=Path("results/arena"), metavar="DIR", help="folder (default: %(default)s)"
    )
    arena.add_argument("--name", default="arena", help="name of the files (default: %(default)s)")
    arena.add_argument("--quiet", action="store_true", help="no bar")
    arena.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Play, write and sum up; returns the exit code."""
    try:
        from dagsearch.games import OpenSpielGame
        from experiments import arena

        options.out.mkdir(parents=True, exist_ok=True)
        for game in options.games:
            OpenSpielGame(game)  # refuse a bad game now, before other games are played
        records = arena.run(_pairings(options), options.count, options.jobs, progress=not options.quiet)
        settings = {name: getattr(options, name) for name in (*_SETTINGS, "seed")}
        written = arena.write(records, options.out, options.name, settings)
    except (ModuleNotFoundError, ValueError, OSError) as error:
        return failed("arena", error)
    print(arena.summary(records))
    print("wrote", *written, sep="\n  ")
    return 0


def _pairings(options: argparse.Namespace) -> "list[Pairing]":
    """Every game with every opponent and budget."""
    from experiments.arena.matches import Pairing

    budgets = (
        [(None, limit) for limit in options.seconds]
        if options.seconds
        else [(count, None) for count in options.simulations]
    )
    return [
        Pairing(
            game=game,
            against=against,
            simulations=simulations,
            seconds=limit,
            opening=options.opening,
            uct_c=options.uct_c,
            seed=options.seed,
            player=options.player,
        )
        for game in options.games
        for against in options.against
        for simulations, limit in budgets
    ]


def _moves(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 0, got {text!r}")
    return int(text)
