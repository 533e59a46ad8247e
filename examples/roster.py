"""A roster for the shifts of a week, in which nobody works two shifts in a row and wishes are met.

It prints:

    Mon: Cem Dora
    Tue: Ana Ben
    Wed: Dora Eli
    Thu: Ana Cem
    Fri: Eli Ana
    Sat: Dora Ben
    Sun: Eli Dora
    penalty 2.8 after 200 evaluations
"""

from collections import Counter

import dagsearch as ds

DAYS, SHIFTS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"], ["day", "night"]
STAFF = ["Ana", "Ben", "Cem", "Dora", "Eli"]
SKILL = {"Ana": 3, "Ben": 1, "Cem": 2, "Dora": 3, "Eli": 1}
AWAY = {("Ana", "Sat"), ("Ana", "Sun"), ("Ben", "Mon"), ("Cem", "Wed"), ("Dora", "Fri"), ("Eli", "Tue")}


class Roster:
    """Fill one shift after the other; a state is the tuple of names so far."""

    def root(self):
        return ()

    def actions(self, state):
        if len(state) == len(DAYS) * len(SHIFTS):
            return []
        day = DAYS[len(state) // 2]
        rested = [name for name in STAFF if name not in state[-2:]]  # two shifts of rest after each
        return [name for name in rested if (name, day) not in AWAY] or rested

    def step(self, state, name):
        return (*state, name)

    def reward(self, roster):  # a stand-in for an hour of simulating the ward
        shifts = Counter(roster)
        nights = Counter(roster[1::2])
        unfair = sum((shifts[name] - 14 / 5) ** 2 + 2 * max(0, nights[name] - 2) for name in STAFF)
        weak = sum(
            SKILL[day] + SKILL[night] < 4 for day, night in zip(roster[::2], roster[1::2], strict=True)
        )
        refused = sum((name, DAYS[i // 2]) in AWAY for i, name in enumerate(roster))
        return -unfair - 3 * weak - 5 * refused


ds.testing.check_problem(Roster())
result = ds.search(Roster(), budget=200, seed=0)
for i, day in enumerate(DAYS):
    print(f"{day}: {' '.join(result.best_state[2 * i : 2 * i + 2])}")
print(f"penalty {-result.best_reward:.1f} after {len(result.history)} evaluations")
