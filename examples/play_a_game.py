"""Play a board game against the search, in the terminal: ``python play_a_game.py connect_four``.

OpenSpiel (``pip install 'dagsearch[games]'``) knows the rules. Write parameters as ``'hex(board_size=5)'``.
You move first. Type one of the listed moves, or nothing to quit.
"""

import sys

import pyspiel

import dagsearch as ds

state = pyspiel.load_game(sys.argv[1] if len(sys.argv) > 1 else "tic_tac_toe").new_initial_state()
player = ds.players.SearchPlayer(budget=500)


def asked() -> int | None:
    """The move that the user types; ``None`` to quit."""
    moves = {state.action_to_string(action): action for action in state.legal_actions()}
    while True:
        print("possible moves:", *moves)
        try:
            text = input("your move: ").strip()
        except EOFError:
            return None
        if text in moves:
            return moves[text]
        if not text:
            return None
        print(f"{text!r} is not possible here")


while not state.is_terminal():
    print(f"\n{state}")
    if state.current_player() == 0:
        move = asked()
        if move is None:
            sys.exit(0)
    else:
        move = player.step(state)
        print("the search plays", state.action_to_string(move))
    state.apply_action(move)
print(f"\n{state}")
earned = state.returns()[0]
print("you win" if earned > 0 else "a draw" if earned == 0 else "the search wins")
