"""Other packages that are compared with: Optuna, SMAC and Nevergrad."""

import warnings
from tempfile import TemporaryDirectory
from typing import Any

from experiments.general.parameters import Parameter, answered
from experiments.general.spaces import Space
from experiments.harness import peers
from experiments.harness.evaluations import Evaluations
from experiments.harness.peers import import_peer

PATIENCE = 100
"""Number of known points in a row after which a package is taken to have converged."""


def optuna_tpe(evaluate: Evaluations, space: Space, seed: int) -> None:
    """Optuna's default, the multivariate tree-structured Parzen estimator.

    Options are categorical suggestions, made only where they exist; numbers are its integers and floats, on a
    scale of logarithms where they are, rounded to the nearest option. Orders and subsets of fixed size
    are made of one float per item: their order, or the k largest.
    """
    parameters = space.parameters()

    def suggest(trial: Any) -> Any:
        def ask(parameter: Parameter) -> Any:
            if parameter.options is None:
                return trial.suggest_float(parameter.name, 0.0, 1.0)
            scale = parameter.scale
            if scale is None:
                return trial.suggest_categorical(parameter.name, range(parameter.options))
            if scale.whole:
                number = trial.suggest_int(parameter.name, int(scale.low), int(scale.high), log=scale.log)
            else:
                number = trial.suggest_float(parameter.name, scale.low, scale.high, log=scale.log)
            return scale.nearest(number)

        return answered(parameters, ask, space.made)

    peers.tpe(evaluate, suggest, seed, patience=PATIENCE)


def smac(evaluate: Evaluations, space: Space, seed: int) -> None:
    """SMAC3's facade for hyperparameters: a random forest and expected improvement, conditions included.

    At most a quarter of the evaluations are its initial design. Numbers are its integers and floats, as for
    Optuna.
    """
    package = import_peer("smac")
    parameters = space.parameters()
    configurations = _configurations(import_peer("ConfigSpace"), parameters, seed)
    evaluate.patience = PATIENCE
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scenario = package.Scenario(
            configurations,
            output_directory=folder,
            deterministic=True,
            n_trials=10 * evaluate.budget,  # different configurations may be the same point
            seed=seed,
        )
        facade = package.HyperparameterOptimizationFacade
        design = facade.get_initial_design(
            scenario, n_configs=min(10 * len(parameters), evaluate.budget // 4)
        )
        search = facade(
            scenario, lambda config, seed: 0.0, initial_design=design, overwrite=True, logging_level=False
        )
        while True:
            try:
                trial = search.ask()
            except import_peer("smac.main.exceptions").ConfigurationSpaceExhaustedException:
                return  # it finds no configuration that it has not tried
            made = dict(trial.config)

            def ask(parameter: Parameter, made: dict[str, Any] = made) -> int:
                value = made[parameter.name]
                return int(value) if parameter.scale is None else parameter.scale.nearest(value)

            cost = -evaluate(answered(parameters, ask, space.made))
            search.tell(trial, package.runhistory.dataclasses.TrialValue(cost=cost), save=False)


def _configurations(package: Any, parameters: list[Parameter], seed: int) -> Any:
    """The parameters as SMAC has them."""
    space, made, scales = package.ConfigurationSpace(seed=seed), {}, {}
    for parameter in parameters:
        scale = scales[parameter.name] = parameter.scale
        if scale is None:
            assert parameter.options is not None
            made[parameter.name] = package.Categorical(parameter.name, list(range(parameter.options)))
        elif scale.whole:
            whole = (int(scale.low), int(scale.high))
            made[parameter.name] = package.Integer(parameter.name, whole, log=scale.log)
        else:
            bounds = (scale.low, scale.high)
            made[parameter.name] = package.Float(parameter.name, bounds, log=scale.log)
    space.add(list(made.values()))
    for parameter in parameters:
        if parameter.when is not None:
            name, options = parameter.when
            other = scales[name]
            values = list(options) if other is None else [other.values[option] for option in options]
            space.add(package.InCondition(made[parameter.name], made[name], values))
    return space


def nevergrad(evaluate: Evaluations, space: Space, seed: int) -> None:
    """Nevergrad's portfolio of discrete (1 + 1) evolution strategies.

    Options are choices, numbers choices with transitions to their neighbours. It knows no conditions: what
    does not exist is ignored. Orders and subsets of fixed size are made of one float per item.
    """
    package, np = import_peer("nevergrad"), import_peer("numpy")
    parameters, evaluate.patience = space.parameters(), PATIENCE
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that bounds are near each other
        made = package.p.Dict(**{parameter.name: _ranged(package.p, parameter) for parameter in parameters})
        made.random_state = np.random.RandomState(seed)
        search = package.optimizers.PortfolioDiscreteOnePlusOne(made, budget=evaluate.budget)
        while True:
            candidate = search.ask()
            existing: dict[str, Any] = {}
            for parameter in parameters:
                if parameter.exists(existing):
                    existing[parameter.name] = candidate.value[parameter.name]
            search.tell(candidate, -evaluate(space.made(existing)))


def _ranged(p: Any, parameter: Parameter) -> Any:
    """A parameter as Nevergrad has it."""
    if parameter.options is None:
        return p.Scalar(lower=0.0, upper=1.0)
    return (p.Choice if parameter.scale is None else p.TransitionChoice)(range(parameter.options))
