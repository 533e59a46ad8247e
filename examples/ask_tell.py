"""Ask and tell: four evaluations at a time, on workers, in any order.

The search says what to evaluate; you decide who does it, where and when. Here the workers are threads. They
could also be jobs on a cluster or people in a laboratory.
"""

import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

import dagsearch as ds

FIELD = [(x, y) for x in range(8) for y in range(8)]
SOURCES = {(1, 1): 3.0, (5, 2): 2.0, (2, 6): 2.5, (6, 6): 1.5}


def heard(sensors):
    """Total signal that the sensors in a field receive from the sources: the expensive call."""
    time.sleep(0.01)
    return sum(
        max(loud / (1 + abs(FIELD[i][0] - x) + abs(FIELD[i][1] - y)) for i in sensors)
        for (x, y), loud in SOURCES.items()
    )


problem = ds.problems.Subsets(n=64, k=4, reward=heard, positions=FIELD)
search = ds.Search.default(problem, initial=12, seed=0)

known = frozenset({0, 7, 56, 63})  # already measured before the search, so tell it
search.tell(known, heard(known))

with ThreadPoolExecutor(max_workers=4) as pool:
    running = {}
    while len(search.history) < 80:
        while len(running) < 4:  # pending leaves are not proposed again, so these differ
            proposal = search.ask()
            running[pool.submit(problem.reward, proposal.leaf)] = proposal
        done, _ = wait(running, return_when=FIRST_COMPLETED)
        for future in done:
            evaluation = search.tell(running.pop(future), future.result())
            if evaluation.step % 20 == 0:
                print(f"after {evaluation.step} evaluations: {evaluation.best_reward:.2f}")

result = search.result()
print("sensors at", *(FIELD[i] for i in sorted(result.best_state)), f"hear {result.best_reward:.2f}")
ahead = search.forecast(50)
print(f"50 more evaluations may reach {ahead.mean:.2f}, 90 % interval {ahead.low:.2f} to {ahead.high:.2f}")
