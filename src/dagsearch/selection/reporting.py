"""What a fitted selector tells: its report, and how good the whole selection is on rows it has not seen."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from dagsearch.selection.arguments import Features
from dagsearch.selection.choice import Choice
from dagsearch.selection.confirm import leader_of, within_one_error
from dagsearch.selection.honest import HonestScore, nested_score
from dagsearch.selection.report import Comparison, Holdout, SelectionReport
from dagsearch.selection.run import SelectionRun
from dagsearch.selection.scoring import Scored
from dagsearch.selection.wording import shown_settings


class Reporting:
    """The reports of :class:`dagsearch.sklearn.DAGSearchSelector`."""

    n_features_in_: int
    best_score_: float
    parsimonious: bool
    _run: SelectionRun
    _choice: Choice
    _allowed: int

    if TYPE_CHECKING:

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def _features(self) -> Features: ...
        def _show_choice(self, features: Features) -> None: ...

    def report(
        self,
        settings: Mapping[str, Any] | None = None,
        comparisons: Sequence[Comparison] = (),
        holdout: Holdout | None = None,
        notes: Sequence[str] = (),
        code: str | None = None,
        honest: HonestScore | None = None,
    ) -> SelectionReport:
        """Report what was found, as tables, figures and a page.

        Parameters
        ----------
        settings : mapping, default=None
            The settings to show. If ``None``, the parameters of the selector.
        comparisons : sequence of Comparison, default=()
            Results of other methods of feature selection.
        holdout : Holdout, default=None
            Score on rows that were not used for the selection.
        notes : sequence of str, default=()
            Further warnings to show.
        code : str, default=None
            Python code to copy that uses what was found. If ``None``, it names the features.
        honest : HonestScore, default=None
            From :meth:`honest_score`.

        Returns
        -------
        report : SelectionReport
            See :class:`dagsearch.selection.SelectionReport`.
        """
        check_is_fitted(self)
        return SelectionReport.of(
            self._run,
            self._choice,
            self._features().labels(range(self.n_features_in_)),
            {name: value for name, value in vars(self).items() if name.endswith("_")},
            {name: str(value) for name, value in (settings or shown_settings(self)).items()},
            self._allowed,
            comparisons,
            holdout,
            notes,
            code,
            honest,
        )

    def consider(self, scored: Scored | None) -> None:
        """Take another method's choice instead of the own one, if it can be selected and is better.

        With ``parsimonious``, more features must be better by more than one standard error. The smallest
        subset within one standard error of them is then taken.

        Parameters
        ----------
        scored : Scored or None
            The choice with its scores on the same folds.
        """
        check_is_fitted(self)
        if scored is None or scored.failure is not None or scored.mean <= self.best_score_:
            return
        subset = frozenset(scored.columns)
        if self._choice.notes or not self._run.allows(subset):
            return
        rival, own = leader_of(scored), self._choice.chosen
        record, chosen = self._run.record, rival
        if self.parsimonious and len(subset) > len(own.subset):
            if within_one_error(rival, [own], record.folds, lambda _: 0) is not None:
                return
            fewer = [
                leader_of(one)
                for one in (entry.scored for entry in record.successes())
                if len(one.columns) < len(subset)
            ]
            chosen = within_one_error(rival, fewer, record.folds, lambda one: len(one.subset)) or rival
        self._choice = replace(self._choice, chosen=chosen)
        self._run.learn_of(scored)
        self._show_choice(self._features())

    def honest_score(self, X: Any, y: Any, *, cv: Any = 5, **params: Any) -> HonestScore:
        """Estimate what the selection achieves on new rows, by nested cross-validation.

        In every outer fold the whole selection is repeated without the fold's test rows, which then score it.
        It takes as long as one ``fit`` for each outer fold. The selector itself stays as it is.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            The features.
        y : array-like of shape (n_samples,)
            The target.
        cv : int, cross-validation generator or iterable, default=5
            The outer folds.
        **params : dict
            As in ``fit``.

        Returns
        -------
        honest : HonestScore
            Score with its interval, how often each feature was selected, and the score without any feature.
        """
        return nested_score(self, X, y, cv, params)
