"""Playing against the search in the terminal, and its analysis of a position."""

import math
from collections.abc import Sequence
from typing import Any

from dagsearch.errors import ProblemError
from dagsearch.games.openspiel import OpenSpielGame
from dagsearch.games.players import DAGSearchPlayer, Opinion, best_move

_HELP = "your move, by number or name; ? for possible moves, hint for the search's values, q to quit: "


def move_number(state: Any, text: str) -> int:
    """The move that a person typed, by OpenSpiel's number or name."""
    legal = state.legal_actions()
    named = {_name(state, action).lower(): action for action in legal}
    if text.lower() in named:
        return int(named[text.lower()])
    if text.isdecimal() and int(text) in legal:
        return int(text)
    raise ProblemError(f"{text!r} is not possible here; possible moves: {move_list(state)}")


def move_list(state: Any) -> str:
    """Numbers and names of the possible moves."""
    return ", ".join(f"{action} {_name(state, action)}" for action in state.legal_actions())


def _name(state: Any, action: int) -> str:
    return str(state.action_to_string(state.current_player(), action))


def board_text(state: Any) -> str:
    """OpenSpiel's text of a position, with numbered columns where it is a rectangle of cells.

    Rows are numbered, too, unless a move is a column, as in Connect Four.
    """
    text = str(state).rstrip("\n")
    rows = text.split("\n")
    width, actions = len(rows[0]), state.get_game().num_distinct_actions()
    if any(len(row) != width or not row.isprintable() or " " in row for row in rows):
        return text
    if actions not in (width, width * len(rows)):
        return text
    margin = 0 if actions == width else len(str(len(rows) - 1)) + 1
    digits = len(str(width - 1))
    head = [
        " " * margin + "".join(f"{column:{digits}d}"[place] for column in range(width))
        for place in range(digits)
    ]
    return "\n".join([*head, *(f"{i:{margin - 1}d} {row}" if margin else row for i, row in enumerate(rows))])


def position(problem: OpenSpielGame, moves: Sequence[str]) -> Any:
    """The ``pyspiel.State`` after moves that a person typed."""
    state = problem.game.new_initial_state()
    for text in moves:
        if state.is_terminal():
            raise ProblemError(f"the game is over before the move {text!r}:\n{state}")
        state.apply_action(move_number(state, text))
    return state


def opinion_table(state: Any, known: Sequence[Opinion]) -> str:
    """Every move with its value for the player to move, best first; proven values have no deviation."""
    chosen = best_move(known)
    lines = [f"  {'move':12} {'value':>15} {'visits':>7}"]
    for move in sorted(known, key=lambda move: (move is chosen, move.value.mean), reverse=True):
        spread = "proven" if move.proven else f"± {math.sqrt(move.value.variance):.2f}"
        mark = "*" if move is chosen else " "
        name = f"{move.action} {_name(state, move.action)}"
        lines.append(f"{mark} {name:12} {round(move.value.mean, 2) + 0.0:+8.2f} {spread:>6} {move.visits:7d}")
    return "\n".join(lines)


def analyse(problem: OpenSpielGame, player: DAGSearchPlayer, moves: Sequence[str]) -> str:
    """A position and the search's value of every move there."""
    state = position(problem, moves)
    if state.is_terminal():
        return f"{board_text(state)}\n{_ending(state, None)}"
    who = f"player {state.current_player()} to move; values are theirs, * is what the search would play"
    return f"{board_text(state)}\n{who}\n{opinion_table(state, player.think(state))}"


def play(
    problem: OpenSpielGame, player: DAGSearchPlayer, moves: Sequence[str], seat: int, opinions: bool
) -> None:
    """Play one game; the person is player ``seat``."""
    state = position(problem, moves)
    print(f"you are player {seat} in {problem.game}")
    while not state.is_terminal():
        print(f"\n{board_text(state)}")
        if state.current_player() == seat:
            action = _asked(state, player)
            if action is None:
                print("good-bye")
                return
        else:
            known = player.think(state)
            action = best_move(known).action
            if opinions:
                print(opinion_table(state, known))
            print(f"the search plays {action} {_name(state, action)}")
        state.apply_action(action)
    print(f"\n{board_text(state)}\n{_ending(state, seat)}")


def _asked(state: Any, player: DAGSearchPlayer) -> int | None:
    """The person's move; ``None`` to quit."""
    while True:
        try:
            text = input(_HELP).strip()
        except EOFError:
            return None
        if text.lower() in ("q", "quit", "exit"):
            return None
        if text == "?":
            print(move_list(state))
        elif text.lower() == "hint":
            print(opinion_table(state, player.think(state)))
        else:
            try:
                return move_number(state, text)
            except ProblemError as error:
                print(error)


def _ending(state: Any, seat: int | None) -> str:
    """Who won."""
    first = state.returns()[0]
    if first == 0:
        return "a draw"
    winner = 0 if first > 0 else 1
    return f"player {winner} wins" + (
        "" if seat is None else ": that is you" if seat == winner else ": the search"
    )
