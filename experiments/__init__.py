"""Experiments with :mod:`dagsearch`: the commands ``reproduce``, ``benchmark`` and ``arena``.

The paper's experiments are one module each, run by :mod:`~experiments.reproduce`. Comparisons that
the paper does not have are in :mod:`~experiments.benchmark`, timings in
:mod:`~experiments.speed`, games against OpenSpiel's players in :mod:`~experiments.arena`.
This package imports the library, never the other way round.
"""
