"""``dagsearch play`` and ``dagsearch arena``."""

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

_GAME = "a game of OpenSpiel, with parameters if wanted: connect_four, 'hex(board_size=5)'"


def add_commands(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]", positive: Callable[[str], int]
) -> None:
    """Add both; ``positive`` reads whole numbers of at least 1."""
    _add_play(commands, positive)
    _add_arena(commands, positive)


def _add_play(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]", positive: Callable[[str], int]
) -> None:
    play = commands.add_parser(
        "play",
        help="play a board game against the search",
        description=(
            "Play a game of OpenSpiel ('dagsearch[games]') against the search, in the terminal: two players, "
            "in turns, nothing hidden and no chance."
        ),
    )
    play.add_argument("game", metavar="GAME", help=_GAME)
    play.add_argument("--budget", type=positive, help="random games per move (default: 200)")
    play.add_argument("--seconds", type=_seconds, help="time per move instead, or as well")
    play.add_argument("--second", action="store_true", help="let the search have the first move")
    play.add_argument("--opinions", action="store_true", help="show what the search thinks of each move")
    play.add_argument("--moves", nargs="+", default=[], metavar="MOVE", help="begin after these moves")
    play.add_argument(
        "--analyse", action="store_true", help="do not play: say what the search thinks of the position"
    )
    play.add_argument("--seed", type=int, help="random seed (default: another one every time)")
    play.set_defaults(run=_run_play)


def _run_play(options: argparse.Namespace) -> int:
    try:
        from dagsearch.games import play
        from dagsearch.games.players import DAGSearchPlayer
        from dagsearch.problems import OpenSpielGame

        problem = OpenSpielGame(options.game)
        budget = 200 if options.budget is None and options.seconds is None else options.budget
        player = DAGSearchPlayer(budget, options.seconds, seed=options.seed)
        if options.analyse:
            print(play.analyse(problem, player, options.moves))
        else:
            play.play(problem, player, options.moves, int(options.second), options.opinions)
    except (ModuleNotFoundError, ValueError) as error:
        print(f"dagsearch play: error: {error}", file=sys.stderr)
        return 1
    return 0


def _add_arena(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]", positive: Callable[[str], int]
) -> None:
    arena = commands.add_parser(
        "arena",
        help="let the search play many games against OpenSpiel's Monte Carlo tree search",
        description=(
            "Our player against OpenSpiel's MCTS at equal numbers of roll-outs, or in equal time. Every "
            "opening is played twice, with seats exchanged. Writes all games as CSV and the scores as a "
            "picture."
        ),
    )
    arena.add_argument("games", nargs="+", metavar="GAME", help=_GAME)
    arena.add_argument(
        "--against",
        nargs="+",
        choices=("mcts", "mcts-solver"),
        default=["mcts", "mcts-solver"],
        help="OpenSpiel's MCTS without and with its solver (default: both)",
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
        "--seconds", nargs="+", type=_seconds, metavar="S", help="time per move instead; best with --jobs 1"
    )
    arena.add_argument(
        "--games", dest="count", type=positive, default=200, help="per opponent and budget (default: 200)"
    )
    arena.add_argument("--opening", type=_moves, default=2, help="random moves at first (default: 2)")
    arena.add_argument("--uct-c", type=float, default=2.0**0.5, help="exploration of MCTS (default: 1.414)")
    arena.add_argument("--covariance", choices=("pieces", "windows", "learned"), default="pieces")
    arena.add_argument(
        "--jobs", type=positive, default=os.cpu_count() or 1, help="processes (default: one per core)"
    )
    arena.add_argument("--seed", type=int, default=0, help="random seed (default: %(default)s)")
    arena.add_argument(
        "--out", type=Path, default=Path("results/arena"), metavar="DIR", help="(default: %(default)s)"
    )
    arena.add_argument("--name", default="arena", help="of the files (default: %(default)s)")
    arena.add_argument("--quiet", action="store_true", help="no bar")
    arena.set_defaults(run=_run_arena)


def _run_arena(options: argparse.Namespace) -> int:
    try:
        from dagsearch import covariances
        from dagsearch.games import arena
        from dagsearch.games.matches import Pairing
        from dagsearch.problems import OpenSpielGame

        options.out.mkdir(parents=True, exist_ok=True)
        for game in options.games:
            OpenSpielGame(game)  # refused now rather than after the games before it
        budgets = (
            [(None, s) for s in options.seconds]
            if options.seconds
            else [(n, None) for n in options.simulations]
        )
        pairings = [
            Pairing(
                game=game,
                against=against,
                simulations=simulations,
                seconds=seconds,
                opening=options.opening,
                uct_c=options.uct_c,
                covariance=getattr(covariances, options.covariance),
                seed=options.seed,
            )
            for game in options.games
            for against in options.against
            for simulations, seconds in budgets
        ]
        records = arena.run(pairings, options.count, options.jobs, progress=not options.quiet)
        names = (
            "games",
            "against",
            "simulations",
            "seconds",
            "count",
            "opening",
            "uct_c",
            "covariance",
            "seed",
        )
        settings = {name: getattr(options, name) for name in names}
        written = arena.write(records, options.out, options.name, settings)
    except (ModuleNotFoundError, ValueError, OSError) as error:
        print(f"dagsearch arena: error: {error}", file=sys.stderr)
        return 1
    print(arena.summary(records))
    print("wrote", *written, sep="\n  ")
    return 0


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0.0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a positive number of seconds, got {text!r}")
    return seconds


def _moves(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 0, got {text!r}")
    return int(text)
