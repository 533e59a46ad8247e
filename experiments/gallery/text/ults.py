"""The published package ``ults`` (Grosse et al. 2024), with our model in place of a large one.

It is compared if it is installed: ``python -m pip install ults``, which needs PyTorch and ``transformers``.
"""

import importlib.util
import tempfile
from collections.abc import Iterator
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from experiments.gallery.text.problem import Continuation


def is_installed() -> bool:
    """Whether it can be imported."""
    return all(importlib.util.find_spec(name) is not None for name in ("ults", "torch", "transformers"))


class Network:
    """A problem's model as ULTS calls it: tokens in, logits after each of them out."""

    def __init__(self, problem: Continuation) -> None:
        import torch

        self._torch, self._problem = torch, problem
        self._characters = problem.model.characters
        self.config = SimpleNamespace(is_encoder_decoder=False, eos_token_id=-1)

    def parameters(self) -> Iterator[Any]:
        """Something that says which device is used."""
        yield self._torch.zeros(1)

    def eval(self) -> None:
        """Do nothing: there is no training."""

    def __call__(self, input_ids: Any) -> Any:
        """Logits; the first token stands for the prompt."""
        added = "".join(self._characters[token] for token in input_ids[0, 1:].tolist())
        rows = []
        for count in range(len(added) + 1):
            text = self._problem.asked(added[:count])
            row = np.full(len(self._characters), -1e9)
            row[[self._characters.index(character) for character in text.characters]] = text.log_p
            rows.append(row)
        return SimpleNamespace(logits=self._torch.tensor(np.array(rows))[None])


def search(problem: Continuation, width: int, seed: int) -> None:
    """Search with the package's defaults and at most ``width`` calls for texts of one length."""
    import torch
    from ults import generate

    torch.manual_seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - it draws from this generator, too
    generate(
        model=Network(problem),
        model_inputs={"input_ids": torch.zeros((1, 1), dtype=torch.long)},
        max_tokens=problem.length,
        vocab_size=len(problem.model.characters),
        max_beam_size=width,
        prior_dir=_priors(),
    )


@cache
def _priors() -> str:
    """A folder for what it computes once for each length."""
    return tempfile.mkdtemp(prefix="ults-priors-")
