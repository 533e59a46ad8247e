"""The problem of finding passes, and their order, that make a program small."""

import math
import zlib
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

import dagsearch as ds
from experiments.gallery.passes.compiler import LLVM, Module, bitcode, printed
from experiments.harness.evaluations import EvaluationFailed

# A program that has grown by this factor is abandoned: a pass on it takes seconds.
_LARGEST = 4


class PassOrder:
    """One program and the passes of LLVM: a problem with costly steps.

    A state is a module, so two orders with the same code lead to the same state, and a pass without effect
    leads back to its own state. Stopping is allowed everywhere; its value is the logarithm of the number of
    instructions after ``-Oz`` over the number here.

    Parameters
    ----------
    name : str
        One of ``compiler.NAMES``.
    llvm : LLVM
        Applies the passes.
    """

    _packed: dict[tuple[str, bytes, str], Any] = {}  # noqa: RUF012 - shared by all runs of a process

    def __init__(self, name: str, llvm: LLVM) -> None:
        self.name, self.llvm = name, llvm
        self._bitcode = bitcode(name)
        self.start = llvm.read(self._bitcode)
        self.oz = llvm.applied(self._bitcode, "default<Oz>").size
        self._works: dict[bytes, bool] = {}
        self.begin()

    def begin(self) -> None:
        """Forget the modules of the previous run."""
        self._smallest = self.oz

    def root(self) -> ds.Step:
        """The program from clang, before the first pass."""
        return ds.Step(self.start, value=self.value(self.start))

    def actions(self, module: Module) -> Sequence[str]:
        """All passes, at every state."""
        return self.llvm.passes

    def expand(self, module: Module, name: str) -> ds.Step:
        """Apply a pass, the costly step."""
        after = self.checked(self.after(module, name))
        return ds.Step(after, value=self.value(after))

    def after(self, module: Module, name: str) -> Module:
        """The module after a pass; known results are looked up, which saves time but no budget."""
        key = (self.llvm.library, module.digest, name)
        if key not in self._packed:
            try:
                found = self.llvm.applied(module.bitcode, name)
            except EvaluationFailed as error:
                self._packed[key] = str(error)
            else:
                self._packed[key] = None if found == module else (zlib.compress(found.bitcode, 1), found.size)
                if found.size > _LARGEST * self.start.size:
                    self._packed[key] = f"the program grows to {found.size} instructions"
        packed = self._packed[key]
        if packed is None:
            return module
        if isinstance(packed, str):
            raise EvaluationFailed(packed)
        return Module(zlib.decompress(packed[0]), packed[1])

    def reward(self, point: tuple[Module, str]) -> float:
        """The value of stopping after a pass; every call counts as an evaluation."""
        return self.value(self.checked(self.after(*point)))

    def value(self, module: Module) -> float:
        """The value of stopping at a module."""
        return math.log(self.oz / module.size)

    def checked(self, module: Module) -> Module:
        """The module, if it is not the smallest one so far or if its output is correct.

        A program is run only if it is smaller than after ``-Oz`` and than all others of this run: others are
        no answers. Raises :class:`EvaluationFailed` if its output is wrong.
        """
        if module.size < self._smallest:
            if not self.works(module):
                raise EvaluationFailed(f"{self.name} with {module.size} instructions prints something else")
            self._smallest = module.size
        return module

    def works(self, module: Module) -> bool:
        """Whether the output of a module equals that of the program without optimisation."""
        if module.digest not in self._works:
            self._works[module.digest] = False
            with suppress(EvaluationFailed):
                self._works[module.digest] = printed(module.bitcode) == self._expected
        return self._works[module.digest]

    @cached_property
    def _expected(self) -> bytes:
        return printed(self._bitcode)
