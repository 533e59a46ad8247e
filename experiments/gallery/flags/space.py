"""The choices: a level of optimisation, flags that are on or off, and a few numbers."""

from collections.abc import Collection, Mapping

LEVELS = ("-O1", "-O2", "-O3", "-Os")
"""Levels that the flags are added to; the levels alone are what the search must beat."""

_ON_OFF = """
align-functions align-jumps align-labels align-loops asynchronous-unwind-tables caller-saves
code-hoisting crossjumping cse-follow-jumps expensive-optimizations finite-math-only
forward-propagate gcse gcse-after-reload gcse-las if-conversion if-conversion2 inline-functions
inline-functions-called-once inline-small-functions ipa-cp ipa-cp-clone ipa-icf ipa-pta ipa-sra
ivopts jump-tables merge-all-constants omit-frame-pointer optimize-sibling-calls partial-inlining
peel-loops predictive-commoning rename-registers reorder-blocks schedule-insns schedule-insns2
shrink-wrap split-loops store-merging thread-jumps tracer tree-ch tree-loop-distribution
tree-loop-im tree-partial-pre tree-pre tree-sra tree-switch-conversion tree-tail-merge
tree-vectorize tree-vrp unroll-loops unsafe-math-optimizations unswitch-loops web
"""
_NUMBERS: dict[str, tuple[str, ...]] = {
    "inline-limit": ("-finline-limit=5", "-finline-limit=60", "-finline-limit=600"),
    "vector cost": tuple(f"-fvect-cost-model={model}" for model in ("very-cheap", "cheap", "dynamic")),
    "unroll times": ("--param=max-unroll-times=2", "--param=max-unroll-times=8"),
}

PLACES: dict[str, tuple[str, ...]] = {
    "level": LEVELS,
    **{name: (f"-f{name}", f"-fno-{name}") for name in _ON_OFF.split()},
    **_NUMBERS,
}
"""What can be chosen, by name: the options, as they are written on the command line."""


def preset(level: str, enabled: Collection[str]) -> dict[str, str]:
    """The choices that a level stands for, given the flags that it switches on; of numbers the smallest."""
    chosen = {name: options[0 if name in enabled else 1] for name, options in PLACES.items()}
    return chosen | {"level": level} | {name: options[0] for name, options in _NUMBERS.items()}


def command(chosen: Mapping[str, str]) -> list[str]:
    """The compiler's arguments in the order of the places, the level first."""
    return [chosen[name] for name in PLACES]
