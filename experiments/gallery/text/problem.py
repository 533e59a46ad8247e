"""The problem: how does a text most probably go on?"""

from typing import Any, Protocol

import numpy as np

import dagsearch as ds
from dagsearch._internal.typing import FloatArray
from experiments.gallery import frame

BRANCHES = 20
"""Number of next characters, the most probable ones, that are considered."""


class Model(Protocol):
    """What the problem needs of a model."""

    @property
    def characters(self) -> str:
        """The characters that it knows."""

    def log_probabilities(self, text: str) -> FloatArray:
        """Logarithm of the probability of each character after a text."""


class Text:
    """What was added to a prompt so far, and what the model says about the next character."""

    __slots__ = ("added", "characters", "log_p")

    def __init__(self, added: str, characters: str, log_p: tuple[float, ...]) -> None:
        self.added = added
        self.characters = characters
        """The most probable next characters, the most probable one first."""
        self.log_p = log_p
        """Logarithms of their probabilities."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Text) and self.added == other.added

    def __hash__(self) -> int:
        return hash(self.added)

    def __repr__(self) -> str:
        return repr(self.added)


class Continuation:
    """The most probable continuation of a prompt: a problem with costly steps.

    A step adds a character and asks the model what may come next, which is the expensive call. What it gains
    is the logarithm of the character's probability. The last character needs no call: after all others,
    stopping is worth what the most probable last one has.

    Parameters
    ----------
    prompt : str
        How the text begins.
    length : int
        Number of characters to add.
    model : Model
        What knows the probabilities.
    """

    def __init__(self, prompt: str, length: int, model: Model) -> None:
        self.prompt, self.length, self.model = prompt, length, model

    def root(self) -> ds.Step:
        """Nothing is added. This takes a call of the model, too."""
        return self._step(self.asked(""), 0.0)

    def expand(self, text: Text, character: str) -> ds.Step:
        """Add a character and ask the model what may come next."""
        return self._step(self.asked(text.added + character), text.log_p[text.characters.index(character)])

    def prior(self, text: Text) -> FloatArray:
        """The model's probabilities."""
        return np.exp(text.log_p) if len(text.added) < self.length - 1 else np.empty(0)

    def asked(self, added: str) -> Text:
        """Ask the model: the one place where it is called."""
        log_p = self.model.log_probabilities(self.prompt + added)
        best = np.argsort(-log_p, kind="stable")[:BRANCHES]
        return Text(added, "".join(self.model.characters[one] for one in best), tuple(log_p[best].tolist()))

    def _step(self, text: Text, gain: float) -> ds.Step:
        last = len(text.added) >= self.length - 1
        return ds.Step(
            text,
            gain=gain,
            value=text.log_p[0] if last else None,
            actions=() if last else tuple(text.characters),
        )

    def whole(self, text: Text) -> str:
        """The continuation that a complete state stands for."""
        return text.added + text.characters[0]

    # For storage -----------------------------------------------------------------------------------------

    def identity(self) -> str:
        """A run belongs to one prompt and one length."""
        return frame.digest([self.prompt, str(self.length), self.model.characters])

    def encode(self, text: Text) -> Any:
        """Lists and texts."""
        return [text.added, text.characters, list(text.log_p)]

    def decode(self, encoded: Any) -> Text:
        """The state that :meth:`encode` was given."""
        added, characters, log_p = encoded
        return Text(added, characters, tuple(log_p))
