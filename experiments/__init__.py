"""Experiments with :mod:`dagsearch`, run in a clone by ``python -m experiments``; not part of the wheel.

- :mod:`~experiments.harness`: the runner, files, pictures, tables in pages, and methods to compare with.
- :mod:`~experiments.paper`: the experiments of the paper.
- :mod:`~experiments.benchmarks`: comparisons beyond the paper.
- :mod:`~experiments.general`: the default search on every kind of choice, with noise, with large budgets.
- :mod:`~experiments.speed`: timings.
- :mod:`~experiments.arena`: games between players.
- :mod:`~experiments.costly`: costly steps.
- :mod:`~experiments.storage`: runs of many processes.
- :mod:`~experiments.gallery`: applications on real systems.

This package imports the library, never the other way round.
"""
