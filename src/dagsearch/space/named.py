"""Ways through named questions as arrays: one place per name, one category per value."""

from collections.abc import Callable, Hashable
from typing import Final

import numpy as np

from dagsearch._internal.typing import IntArray
from dagsearch.problem import Layout
from dagsearch.space.moves import OtherOptions, draw_moves, product_of
from dagsearch.space.numbers import numbers_of_places
from dagsearch.space.survey import Answer, Chosen, Options, Question, Survey, Walk

# What is no option of any question.
_NOTHING: Final = object()
# Largest number of changes that make other choices appear or disappear: each is completed by a walk.
_MOST_COMPLETED: Final = 16
# Number of ways in which a neighbour is completed if its change makes new choices appear.
_COMPLETIONS: Final = 3


class NamedCodes:
    """Codes of ways through questions, as a survey found them.

    Parameters
    ----------
    survey : Survey
        Which names and values there are.
    walk : callable
        Goes a complete way through the questions as the problem has them.
    """

    def __init__(self, survey: Survey, walk: Callable[[Answer], Walk]) -> None:
        self._survey, self._walk = survey, walk
        self.names, self.values = tuple(survey.values), list(survey.values.values())
        """The name of each place, and the value of each of its categories."""
        self.place = {name: place for place, name in enumerate(self.names)}
        """The place of each name."""
        self._code = [{value: code for code, value in enumerate(values)} for values in self.values]
        optional = np.array([name in survey.optional for name in self.names], dtype=np.bool_)
        sizes = np.array([len(values) for values in self.values], dtype=np.int64)
        self._absent: list[int] = np.where(optional, sizes, -1).tolist()
        self.layout = Layout("places", sizes + optional, numbers_of_places(self.values))
        """One place per name; the category is the number of the value, or "absent"."""
        self._changes = OtherOptions(self.layout)
        self._codes_of: dict[Question, IntArray] = {}
        self._is_steering = np.array([name in survey.steering for name in self.names], dtype=np.bool_)

    def row(self, chosen: Chosen, complete: bool) -> list[int]:
        """Codes of some choices; those that are not made are undecided, or absent if they cannot be made."""
        if not self._survey.steering:
            row = [-1] * len(self.names)
        elif complete:
            row = self._absent.copy()
        else:
            open_names = self._survey.rules.open_names(chosen)
            pairs = zip(self.names, self._absent, strict=True)
            row = [-1 if name in open_names else absent for name, absent in pairs]
        return self._filled(row, chosen)

    def _filled(self, row: list[int], chosen: Chosen) -> list[int]:
        place_of, code_of = self.place, self._code
        for name, value in zip(chosen.names, chosen.chosen, strict=True):
            if name in place_of:
                place = place_of[name]
                row[place] = code_of[place].get(value, -1)
        return row

    def walk_of(self, codes: IntArray) -> Walk:
        """The way with these codes; the first option is chosen where a code does not fit."""
        return self._walk(self._answers(codes, lambda options: options[0]))

    def likely_walk_of(self, codes: IntArray) -> Walk:
        """The same as far as the survey knows, without asking the problem."""
        return self._guessed(self._answers(codes, lambda options: options[0]))

    def _answers(self, codes: IntArray, otherwise: Callable[[Options], Hashable]) -> Answer:
        """Answers with the value that the codes give to a name, or ``otherwise`` if it is not an option."""
        places = zip(self.names, self.values, codes.tolist(), strict=True)
        wanted = {name: values[code] for name, values, code in places if 0 <= code < len(values)}

        def answer(question: Question) -> Hashable:
            value = wanted.get(question.name, _NOTHING)
            return value if value in question.options else otherwise(question.options)

        return answer

    def neighbours(self, codes: IntArray, count: int, rng: np.random.Generator) -> IntArray:
        """Codes of ways with one choice changed, each once: all, or ``count`` of them at random.

        Where the change decides which other choices there are, these keep their values if they can. Those
        that appear, and those whose value is not an option any more, are drawn, in several ways if there is
        room for them. What is asked is what the survey was asked; :meth:`walk_of` asks the problem itself.
        """
        if not self._survey.steering:
            return self._changes.around(codes, count, rng)
        place, code = self._changed(codes, count, rng)
        rows = np.tile(codes, (place.size, 1))
        rows[np.arange(place.size), place] = code
        steered = rows[self._is_steering[place]]
        if len(steered) > _MOST_COMPLETED:
            steered = steered[rng.choice(len(steered), _MOST_COMPLETED, replace=False)]
        if len(steered) == 0:
            return rows
        kept = rows[~self._is_steering[place]]
        ways = min(max((count - len(kept)) // len(steered), 1), _COMPLETIONS)
        completed = [self._completed(row, rng) for row in np.repeat(steered, ways, axis=0)]
        return np.concatenate([kept, np.unique(completed, axis=0)])

    def _changed(self, codes: IntArray, count: int, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
        """Place and new category of changes of single choices in the branch of a leaf."""
        walk = self.likely_walk_of(codes)
        found, places = list[IntArray](), list[int]()
        for question in walk.questions:
            place = self.place.get(question.name)
            if place is not None:
                others = self._options_of(question, place, int(codes[place]), rng)
                found.append(others[others != codes[place]])
                places.append(place)
        group, number = draw_moves([len(some) for some in found], count, rng)
        starts = np.cumsum([0, *map(len, found)])[:-1]
        return np.array(places, dtype=np.int64)[group], np.concatenate(found)[starts[group] + number]

    def _options_of(self, question: Question, place: int, own: int, rng: np.random.Generator) -> IntArray:
        """Codes of the options of a question that are known; of many numbers near and far ones."""
        if question not in self._codes_of:
            code_of = self._code[place]
            known = [code_of[value] for value in question.options if value in code_of]
            self._codes_of[question] = np.array(known, dtype=np.int64)
        some, ladder = self._codes_of[question], self._changes.ladders.get(place)
        if ladder is None or not 0 <= own < len(self.values[place]):
            return some
        around = ladder.around(own, rng)
        return around if len(some) == len(self.values[place]) else np.intersect1d(around, some)

    def _completed(self, codes: IntArray, rng: np.random.Generator) -> list[int]:
        """The codes of a leaf with random options where codes do not fit."""
        random = rng.random
        walk = self._guessed(self._answers(codes, lambda options: options[int(random() * len(options))]))
        return self._filled(self._absent.copy(), walk.chosen)

    def _guessed(self, answer: Answer) -> Walk:
        """One complete way through the choices by the rules of the survey, or else as the problem has it."""
        walk, complete = self._survey.rules.follow(answer)
        return walk if complete else self._walk(answer)

    def every(self, most: int) -> IntArray | None:
        """Codes of all ways as the survey found them, one row each; ``None`` if they are more."""
        if not self._survey.steering:
            return product_of(np.array([len(values) for values in self.values]), most)
        ways = self._survey.rules.every(most)
        if ways is None:
            return None
        return np.array([self._filled(self._absent.copy(), way.chosen) for way in ways], dtype=np.int64)
