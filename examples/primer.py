"""A DNA primer of 18 to 22 bases that melts at 60 °C, does not bind to itself, and ends in G or C.

It prints:

    AACGCCGCTCGCACCTTGGACC: 59.6 °C, longest match with itself 2
"""

import math

import dagsearch as ds

# Nearest-neighbour enthalpies (kcal/mol) and entropies (cal/mol K) of SantaLucia (1998).
# Complementary pairs have the same numbers.
NEIGHBOURS = {
    "AA TT": (-7.9, -22.2), "AT": (-7.2, -20.4), "TA": (-7.2, -21.3), "CA TG": (-8.5, -22.7),
    "GT AC": (-8.4, -22.4), "CT AG": (-7.8, -21.0), "GA TC": (-8.2, -22.2), "CG": (-10.6, -27.2),
    "GC": (-9.8, -24.4), "GG CC": (-8.0, -19.9),
}  # fmt: skip
OF_PAIR = {pair: numbers for pairs, numbers in NEIGHBOURS.items() for pair in pairs.split()}
COMPLEMENT = str.maketrans("ACGT", "TGCA")


def melting(primer):
    """Melting temperature in °C at 50 mM salt and 0.25 µM primer."""
    pairs = [primer[i : i + 2] for i in range(len(primer) - 1)]
    heat, disorder = (
        sum(numbers) for numbers in zip((0.2, -5.7), *(OF_PAIR[pair] for pair in pairs), strict=True)
    )
    return 1000 * heat / (disorder + 1.987 * math.log(0.25e-6 / 4)) - 273.15 + 16.6 * math.log10(0.05)


def longest_own_match(primer):
    """Length of the longest part that binds to another copy of the primer."""
    other = primer.translate(COMPLEMENT)[::-1]
    parts = ((n, primer[i : i + n]) for n in range(len(primer), 0, -1) for i in range(len(primer) - n + 1))
    return next((n for n, part in parts if part in other), 0)


def quality(bases):
    primer = "".join(bases)
    share = sum(base in "GC" for base in primer) / len(primer)
    runs = sum(primer[i : i + 4] == 4 * primer[i] for i in range(len(primer) - 3))
    clamp = primer[-1] in "GC"
    return (
        -abs(melting(primer) - 60)
        - 20 * abs(share - 0.5)
        - max(0, longest_own_match(primer) - 3)
        - 3 * runs
        + 2 * clamp
    )


problem = ds.problems.Sequences("ACGT", 22, quality, min_length=18)
result = ds.search(problem, budget=200, seed=0)
primer = "".join(result.best_state)
print(f"{primer}: {melting(primer):.1f} °C, longest match with itself {longest_own_match(primer)}")
