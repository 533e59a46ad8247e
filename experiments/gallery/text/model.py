"""A recurrent network that was trained to write titles: the weights of the package ``textgenrnn``, in NumPy.

The package itself needs TensorFlow; this reads its two files only. For the last 40 characters of a text there
are an embedding, two layers of LSTM, and an average over the characters, weighted by attention, of all three.
"""

import importlib.util
import json
import math
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from dagsearch._internal.typing import FloatArray

_WINDOW, _UNITS = 40, 128
_MISSING = "textgenrnn or h5py was not found: pip install h5py && pip install --no-deps textgenrnn"
_BEGIN = "<s>"
"""The character before the first and after the last one of a text."""


class CharacterModel:
    """Probabilities of the next character of a text. One call takes about two milliseconds."""

    def __init__(self) -> None:
        folder, h5py = _package()
        self._numbers: dict[str, int] = json.loads((folder / "textgenrnn_vocab.json").read_text())
        with h5py.File(folder / "textgenrnn_weights.hdf5") as file:
            self._embedding = np.array(file["embedding/embedding/embeddings:0"])
            self._layers = [_lstm_weights(file[f"rnn_{number}/rnn_{number}"]) for number in (1, 2)]
            self._attention = np.array(file["attention/attention/attention_W:0"])[:, 0]
            self._output = np.array(file["output/output/kernel:0"]), np.array(file["output/output/bias:0"])

    @cached_property
    def characters(self) -> str:
        """All characters, in the order of the probabilities."""
        known = {number: character for character, number in self._numbers.items() if character != _BEGIN}
        return "".join(known[number] for number in sorted(known))

    @cached_property
    def _columns(self) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
        return np.array([self._numbers[character] for character in self.characters])

    def log_probabilities(self, text: str) -> FloatArray:
        """Logarithm of the probability of each character after a text, given that it does not end here."""
        numbers = [self._numbers[_BEGIN], *(self._numbers.get(character, 0) for character in text)][-_WINDOW:]
        embedded = self._embedding[[0] * (_WINDOW - len(numbers)) + numbers]
        first = _lstm(embedded, *self._layers[0])
        channels = np.hstack([embedded, first, _lstm(first, *self._layers[1])])
        attention = np.exp(channels @ self._attention)
        kernel, bias = self._output
        scores = ((attention / attention.sum()) @ channels @ kernel + bias)[self._columns].astype(np.float64)
        found: FloatArray = scores - scores.max()
        return found - math.log(np.exp(found).sum())


def _package() -> tuple[Path, Any]:
    """Where the package's files are, and the package that reads them."""
    spec = importlib.util.find_spec("textgenrnn")
    try:
        import h5py
    except ImportError:
        spec = None
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit(_MISSING)
    return Path(spec.submodule_search_locations[0]), h5py


def _lstm_weights(group: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Kernel, recurrent kernel and bias; the file has them as NVIDIA's library lays them out."""
    kernel = [gate.ravel().reshape(gate.shape, order="F") for gate in _gates(group["kernel:0"])]
    recurrent = [gate.T for gate in _gates(group["recurrent_kernel:0"])]
    return np.hstack(kernel), np.hstack(recurrent), np.array(group["bias:0"]).reshape(2, -1).sum(axis=0)


def _gates(weights: Any) -> list[FloatArray]:
    return np.split(np.array(weights), 4, axis=1)


def _lstm(inputs: FloatArray, kernel: FloatArray, recurrent: FloatArray, bias: FloatArray) -> FloatArray:
    outputs = np.empty((len(inputs), _UNITS), dtype=inputs.dtype)
    output, cell = np.zeros(_UNITS, dtype=inputs.dtype), np.zeros(_UNITS, dtype=inputs.dtype)
    for number, given in enumerate(inputs @ kernel + bias):
        gates = given + output @ recurrent
        opened = 1.0 / (1.0 + np.exp(-gates))  # input, forget, (not used), output
        new = np.tanh(gates[2 * _UNITS : 3 * _UNITS])
        cell = opened[_UNITS : 2 * _UNITS] * cell + opened[:_UNITS] * new
        outputs[number] = output = opened[3 * _UNITS :] * np.tanh(cell)
    return outputs
