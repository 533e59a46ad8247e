"""How the events of a search are written, and how another process, or a later one, repeats them.

The state of a search follows from its events: which leaf was asked for, which reward was reported, which
hyperparameters were learnt. So repeating them needs no climbs and no evidence, and ends with exactly the
numbers of the search that wrote them. Only descents are repeated, because they grow the DAG: proposal number
i draws the same random numbers, so it is the recorded one.

States are written as JSON, without anything executable. JSON has neither tuples nor sets: both become
objects with one tagged entry. A reader of a run does not have the problem, so the settings describe how to
read leaves.
"""

import hashlib
import json
import logging
import math
import weakref
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from dagsearch._internal.order import in_order
from dagsearch._internal.plain import from_json, to_json
from dagsearch._internal.texts import shown
from dagsearch.errors import CovarianceError, ProblemError, SearchExhausted
from dagsearch.problem import Action, State, Step, has_costly_steps, is_minimized
from dagsearch.problems.choices import NamedChoices
from dagsearch.problems.sequences import TupleProblem
from dagsearch.problems.subsets import Subsets
from dagsearch.results import Evaluation, Proposal, StepProposal
from dagsearch.space import Space
from dagsearch.space.walks import numbered, shape_rng, walked
from dagsearch.storage.database import Event

if TYPE_CHECKING:
    from dagsearch.costly.step_search import StepSearch
    from dagsearch.search import Search

logger = logging.getLogger(__name__)

Body = dict[str, Any]
# Number of random leaves in the fingerprint of a problem.
_LEAVES = 8


def note_to_json(value: Any) -> Any:
    """A note in types that JSON has; never fails, because a reward may come with the note.

    NumPy's numbers and arrays become numbers and lists, tuples and sets become lists, and everything else
    becomes text.
    """
    try:
        return json.loads(json.dumps(value, default=_plain), parse_constant=str)
    except Exception:  # of a number of too many digits, for instance
        return shown(value)


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    return list(in_order(value)) if isinstance(value, Set) else repr(value)


class StateCodec:
    """The problem's ``encode`` and ``decode``, or :func:`to_json` and :func:`from_json`.

    The constructor raises :class:`dagsearch.errors.ProblemError` if encoding and decoding changes the root or
    a random leaf; where steps are costly, only the root is tried.
    """

    def __init__(self, space: Space) -> None:
        self._encode: Callable[[State], Any] = space.encode or to_json
        self.decode: Callable[[Any], State] = space.decode or from_json
        root, rng = space.problem.root(), shape_rng()  # the same in every process
        states = [root.state if isinstance(root, Step) else root]
        if not has_costly_steps(space.problem):
            states += [space.walk(root, rng)[0] for _ in range(_LEAVES)]
        encoded = [self.encode(state) for state in states]
        for state, written in zip(states, encoded, strict=True):
            if not space.same(self.decode(written), state):
                raise ProblemError(f"decode(encode(state)) must be equal to the state {shown(state)}")
        self.digest = hashlib.sha256(json.dumps(encoded).encode()).hexdigest()
        """A digest of these states, by which problems are compared."""

    def encode(self, state: State) -> Any:
        """The state in JSON's types, as it is read later: a tuple is a list."""
        try:
            return json.loads(json.dumps(self._encode(state), allow_nan=False))
        except (TypeError, ValueError) as error:
            what = "use numbers, text, None or tuples, or give the problem encode(state) and decode(encoded)"
            raise ProblemError(f"the state {shown(state)} cannot be stored ({error}): {what}") from error


def moves_to(leaf: Any, actions: Sequence[Action]) -> list[str] | None:
    """The actions to an encoded leaf that does not show them itself, as text; ``None`` if it does."""
    return None if isinstance(leaf, (list, dict)) else [str(action) for action in actions]


def leaf_form(space: Space) -> dict[str, Any]:
    """How to read encoded leaves of a problem.

    Their ``"form"``: a ``"set"`` of items, a ``"sequence"``, ``"choices"`` as pairs of name and value, or
    ``None`` if it is unknown. ``"labels"`` are texts for the numbers in a leaf, or ``None``. The others are
    true if rewards are negated to ``"minimize"``, in a ``"game"`` of two, and if ``"steps"`` are costly.
    """
    problem, forms = space.problem, {NamedChoices: "choices", TupleProblem: "sequence", Subsets: "set"}
    form = next((name for kind, name in forms.items() if isinstance(problem, kind)), None)
    labels = getattr(problem, "labels", None) if form in ("sequence", "set") else None
    return {
        "form": form,
        "labels": None if labels is None else list(map(str, labels)),
        "minimize": is_minimized(problem),
        "game": space.has_players,
        "steps": has_costly_steps(problem),
    }


class LeafEvents:
    """Events of a search of leaves, which owns this object."""

    def __init__(self, search: "Search", codec: StateCodec) -> None:
        self._search: Search = weakref.proxy(search)
        self.codec = codec
        self._differs = False  # whether a repeated descent came to another leaf

    # Writing -------------------------------------------------------------------------------------------

    def written(self, kind: str, *about: Any, **body: Any) -> tuple[Body, str | None]:
        """Body and claim of an event; :meth:`dagsearch.log.Log.write` documents ``about``."""
        more, claim = dict[str, Any](), None
        match kind, about:
            case "ask", (proposal, draws):
                more, claim = self._asked(proposal), None if draws is None else f"ask {draws}"
            case "tell", (evaluation, proposal, outcome):
                asked = None if proposal is None or proposal.number < 0 else proposal.number
                more = {"ask": asked, **self._told(evaluation, proposal, outcome)}
                claim = None if asked is None else f"told {asked}"
            case "forget", (proposal, failed):
                leaf = None if failed is None else self.codec.encode(failed)
                more, claim = {"ask": proposal.number, "failed": leaf}, f"told {proposal.number}"
            case "untell", (leaf,):
                more = {"leaf": self.codec.encode(leaf)}
            case "end", _:
                more = {"best": self._best()}
        if "note" in body:
            body["note"] = note_to_json(body["note"])
        if "request" in body:
            claim = f"request {body['request']}"
        return {**more, **body}, claim

    def _asked(self, proposal: Proposal) -> Body:
        """The body of an ask."""
        search, leaf = self._search, self.codec.encode(proposal.leaf)
        return {
            "leaf": leaf,
            "moves": moves_to(leaf, proposal.actions),
            "value": self._value(),
            "actions": numbered(search.problem, proposal.actions),
            "turn": list(search.turn),
            "best": self._best(),
        }

    def _best(self) -> list[float] | None:
        """Number of the recommended evaluation and mean reward of its leaf, if rewards are noisy."""
        search, best = self._search, self._search.incumbent()
        if best is None or not search.posterior.learns_noise:
            return None
        return [best.step, float(search.mean_reward(best.leaf) or 0.0)]

    def _value(self) -> list[float] | None:
        """Mean and variance of the root's v in units of the reward; only a game's page needs it."""
        explored, posterior = self._search.explored, self._search.posterior
        if explored is None or not explored.graph.adversarial or not posterior.informed:
            return None
        return list(map(float, posterior.in_reward_units(explored.value(explored.root))))

    def _told(self, evaluation: Evaluation, proposal: Proposal | None, outcome: Any) -> Body:
        """The body of a tell, with the belief about the reward just before it; ``outcome`` is its noise."""
        search, actions = self._search, None
        predicted = search.posterior.of_reward(evaluation.row, outcome)
        if proposal is not None and (
            proposal.number < 0
            or (search.space.by_run is None and evaluation.actions != proposal.actions)  # another way
        ):
            actions = numbered(search.problem, evaluation.actions or ())
        return {
            "leaf": self.codec.encode(search.index.states[evaluation.row]),
            "actions": actions,
            "reward": evaluation.reward,
            "noise": outcome,
            "seconds": evaluation.seconds,
            "predicted": None if predicted is None else list(map(float, predicted)),
            **({"known": True} if evaluation.known else {}),
        }

    # Repeating -----------------------------------------------------------------------------------------

    def repeat(self, event: Event) -> None:
        """Let the search do what an event says."""
        if (repeat := getattr(self, f"_repeat_{event.kind}", None)) is not None:
            repeat(event, event.body)

    def _pending(self, number: int | None) -> Proposal | None:
        return next((one for one in self._search.pending if one.number == number), None)

    def _walked(self, body: Body) -> tuple[State, tuple[Action, ...]]:
        """The leaf of an event, and the actions to it."""
        if self._search.space.by_run is None:
            return walked(self._search.problem, body["actions"])
        leaf = self.codec.decode(body["leaf"])
        return leaf, tuple(self._search.space.actions_to(leaf))

    def _repeat_ask(self, event: Event, body: Body) -> None:
        """Make the recorded leaf pending; a descent is made again, for what it adds to the DAG."""
        search, (leaf, actions) = self._search, self._walked(body)
        if event.claim is None or "request" in body:  # a leaf that the user has chosen
            search.add_pending(Proposal(leaf, actions, number=event.number))
            return
        if search.explored is not None:
            with suppress(SearchExhausted):
                made = search.decide()
                if search.space.same(made.leaf, leaf):
                    search.accept(made, event.number)
                    return
                search.withdraw(made)
            if not self._differs:
                what = "a repeated descent did not reach the recorded leaf, which the search uses: %s"
                logger.warning(what, "this machine or version rounds differently")
            self._differs = True
        search.turn = body["turn"]
        search.accept(Proposal(leaf, actions), event.number)

    def _repeat_tell(self, event: Event, body: Body) -> None:
        leaf, evaluated = self.codec.decode(body["leaf"]), self._pending(body["ask"])
        if body.get("by_leaf") is True:
            evaluated = None
        elif body["actions"] is not None:  # another way to the leaf than the one that was asked for
            evaluated = Proposal(*self._walked(body))
        self._search.without_fantasies()
        with suppress(CovarianceError):  # this reward was refused in the recorded run, too
            self._search.tell(
                leaf if evaluated is None else evaluated,
                body["reward"],
                body["noise"],
                leaf=leaf,
                known=body.get("known") is True,
                seconds=body["seconds"],
            )

    def _repeat_forget(self, event: Event, body: Body) -> None:
        at = {} if body.get("failed") is None else {"leaf": self.codec.decode(body["failed"])}
        if (proposal := self._pending(body["ask"])) is not None:
            self._search.forget(proposal, again=body["again"], **at)

    def _repeat_untell(self, event: Event, body: Body) -> None:
        self._search.forget(self.codec.decode(body["leaf"]), again=body["again"])

    def _repeat_settle(self, event: Event, body: Body) -> None:
        """Learn what was held back; an ask that found no leaf is made again where it has changed the DAG."""
        if body.get("exhausted") is True and self._search.explored is not None:
            with suppress(SearchExhausted):
                self._search.withdraw(self._search.decide())
        self._search.settle()

    def _repeat_learnt(self, event: Event, body: Body) -> None:
        self._search.without_fantasies()
        self._search.posterior.learn(body)
        self._search.index.learnt([])


class StepEvents(LeafEvents):
    """Events of a search with costly steps: which steps were asked for, and where they led.

    An action that an iterator yielded is stored with its ask, so that no other process asks for it again.
    """

    _search: "StepSearch"  # type: ignore[assignment]

    def _asked(self, proposal: Proposal) -> Body:
        assert isinstance(proposal, StepProposal)
        return {
            "leaf": None,
            "moves": moves_to(None, proposal.actions),
            "edge": proposal.edge,
            "plan": proposal.plan,
            "drawn": _encoded([proposal.action], proposal.state) if proposal.drawn else [],
            "exhausted": list(proposal.exhausted),
        }

    def _told(self, evaluation: Evaluation, proposal: Proposal | None, outcome: Any) -> Body:
        assert isinstance(proposal, StepProposal)
        step: Step = outcome
        said = None if step.actions is None else _encoded(step.actions, step.state)
        return {
            "leaf": None,
            "moves": moves_to(None, proposal.actions),
            "step": [self.codec.encode(step.state), step.gain, step.value, said],
            "reward": evaluation.reward if math.isfinite(evaluation.reward) else None,
            "seconds": evaluation.seconds,
            "predicted": None,
        }

    def _best(self) -> None:
        """The largest reward is that of the recommended path."""

    def _repeat_ask(self, event: Event, body: Body) -> None:
        drawn = [from_json(action) for action in body["drawn"]]
        plan = body.get("plan")  # runs of earlier versions have none
        self._search.repeat_ask(event.number, body["edge"], plan, drawn, body["exhausted"])

    def _repeat_tell(self, event: Event, body: Body) -> None:
        state, gain, value, actions = body["step"]
        said = None if actions is None else [from_json(action) for action in actions]
        if (proposal := self._pending(body["ask"])) is not None:
            step = Step(self.codec.decode(state), gain, value, said)
            self._search.tell(proposal, step, seconds=body["seconds"])


def _encoded(actions: Any, state: State) -> list[Any]:
    """Actions that a step or an iterator has named at a state, as JSON."""
    try:
        if not hasattr(actions, "__len__"):
            raise TypeError("they are an iterator")
        return [to_json(action) for action in actions]
    except TypeError as error:
        what = "use numbers, text, tuples or frozensets, or list them in actions(state)"
        where = f"actions that a step or an iterator names at {shown(state)}"
        raise ProblemError(f"{where} cannot be stored ({error}): {what}") from error
