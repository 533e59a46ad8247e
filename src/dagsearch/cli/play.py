"""``dagsearch play``: a board game against the search, in the terminal."""

import argparse
from typing import TYPE_CHECKING

from dagsearch.cli.common import failed, positive, seconds

if TYPE_CHECKING:
    from dagsearch.cli.common import Commands

GAME_HELP = "a game of OpenSpiel, optionally with parameters: connect_four, 'hex(board_size=5)'"
_BUDGET = 200


def add_parser(commands: "Commands") -> None:
    """Add ``play``."""
    play = commands.add_parser(
        "play",
        help="play a board game against the search",
        description=(
            "Play a game of OpenSpiel ('dagsearch[games]') against the search, in the terminal. The game "
            "must have two players who move in turn, and neither chance nor hidden information."
        ),
    )
    play.add_argument("game", metavar="GAME", help=GAME_HELP)
    play.add_argument("--budget", type=positive, help=f"random games per move (default: {_BUDGET})")
    play.add_argument(
        "--seconds", type=seconds, help="maximum time per move, instead of a budget or in addition to it"
    )
    play.add_argument("--second", action="store_true", help="let the search move first")
    play.add_argument("--opinions", action="store_true", help="show how the search values each move")
    play.add_argument("--moves", nargs="+", default=[], metavar="MOVE", help="begin after these moves")
    play.add_argument(
        "--analyse",
        action="store_true",
        help="do not play: show how the search values the moves of the position",
    )
    play.add_argument("--seed", type=int, help="random seed (default: a different one every time)")
    play.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Play or analyse; returns the exit code."""
    try:
        from dagsearch.games import play
        from dagsearch.games.players import DAGSearchPlayer
        from dagsearch.problems import OpenSpielGame

        problem = OpenSpielGame(options.game)
        budget = _BUDGET if options.budget is None and options.seconds is None else options.budget
        player = DAGSearchPlayer(budget, options.seconds, seed=options.seed)
        if options.analyse:
            print(play.analyse(problem, player, options.moves))
        else:
            play.play(problem, player, options.moves, int(options.second), options.opinions)
    except (ModuleNotFoundError, ValueError) as error:
        return failed("play", error)
    return 0
