"""OpenTuner, where it is installed: the framework that was made for this problem."""

import importlib.util
import logging
import math
import random
import warnings
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from experiments.harness.evaluations import Evaluations


def is_installed() -> bool:
    """Whether it can be used."""
    return importlib.util.find_spec("opentuner") is not None


def tune(evaluate: Evaluations, seed: int, places: Mapping[str, Sequence[str]]) -> None:
    """OpenTuner's default: several techniques, chosen by what they have earned (a multi-armed bandit)."""
    with _quietly(seed):
        from opentuner import argparsers, tuningrunmain
        from opentuner.api import TuningRunManager
        from opentuner.measurement.interface import DefaultMeasurementInterface
        from opentuner.resultsdb.models import Result
        from opentuner.search.manipulator import ConfigurationManipulator, EnumParameter

        tuningrunmain.init_logging = lambda: None  # it would write opentuner.log to the working folder
        arguments = ArgumentParser(parents=argparsers()).parse_args(["--database=sqlite://"])
        manipulator = ConfigurationManipulator()
        for name, options in places.items():
            manipulator.add_parameter(EnumParameter(name, list(options)))
        interface = DefaultMeasurementInterface(
            args=arguments,
            manipulator=manipulator,
            project_name="gallery",
            program_name="flags",
            program_version="1",
        )
        manager = TuningRunManager(interface, arguments)
        while True:
            wanted = manager.get_next_desired_result()
            if wanted is None:
                continue
            chosen = wanted.configuration.data
            reward = evaluate.or_worst(tuple(chosen[name] for name in places))
            failed = reward == -math.inf
            result = Result(state="ERROR", time=math.inf) if failed else Result(time=math.exp(-reward))
            manager.report_result(wanted, result)


@contextmanager
def _quietly(seed: int) -> Iterator[None]:
    """It has no seed of its own but draws from the global generator, and warns about its database."""
    before = random.getstate()
    random.seed(seed)
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)
        random.setstate(before)
