"""Leave a function as soon as it cannot call one of its arguments any more.

A function ``f(choose)`` that chooses first and computes afterwards should be left between the two. Before
every call that it makes, and before every jump back in a loop, its bytecode tells whether an instruction can
be reached that uses a variable which leads to ``choose``. If not, :class:`CannotCall` is raised there.

Only frames that were handed ``choose`` are watched. Where there is doubt the function runs on. If ``choose``
is hidden where no variable leads to it, the function is left too early.
"""

import dis
import gc
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR
from itertools import islice
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, Final

MOST_STEPS: Final = 10_000
"""Number of steps between two calls of the argument after which a function is not watched until the next.

Instructions of watched frames and calls of Python functions are steps: their number is the same on every
machine, however busy it is."""

_LAZY = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR
# Functions that return something which calls their arguments later, and those that may run through it. It is
# not worth leaving a function before it calls one of them.
_DELAYING = frozenset({"map", "filter", "zip", "enumerate", "iter", "partial", "chain", "starmap", "islice"})
_ITERATING = frozenset({"list", "tuple", "set", "dict", "sum", "sorted", "min", "max", "any", "all", "next"})
# Number of parts of an object among which ``choose`` is looked for, the nearest first.
_PARTS = 200


class CannotCall(BaseException):
    """Leaves a function that cannot call its argument any more; ``except Exception`` does not catch it."""


class Watch:
    """Follows a function through the frames that were handed its argument.

    Parameters
    ----------
    argument : object
        What the function is given. It is to call :meth:`called` whenever it is called.
    """

    def __init__(self, argument: Any) -> None:
        self._argument, self._own = argument, type(argument).__call__.__code__
        self._frames: dict[FrameType, _Code] = {}
        self._steps = 0

    def run(self, function: Callable[[Any], Any]) -> None:
        """Call ``function(argument)``, but leave it once it cannot call ``argument`` any more.

        A function that catches :class:`CannotCall` runs to its end.
        """
        before, self._caller = sys.gettrace(), sys._getframe()
        sys.settrace(self._entered)
        try:
            function(self._argument)
        except CannotCall:
            pass
        finally:
            sys.settrace(before)
            self._frames.clear()

    def called(self) -> int:
        """Note that the argument is called; the number of steps since it was called before."""
        steps, self._steps = self._steps, 0
        if steps > MOST_STEPS:
            sys.settrace(self._entered)
        return steps

    def _step(self) -> bool:
        """Count a step; false if there were so many that it takes too long to look at each."""
        self._steps += 1
        if self._steps > MOST_STEPS:
            sys.settrace(None)
        return self._steps <= MOST_STEPS

    def _entered(self, frame: FrameType, event: str, _: Any) -> Any:
        """Decide whether to watch a frame that begins."""
        code, before = frame.f_code, frame.f_back
        if code is self._own or not self._step() or code.co_flags & _LAZY:
            return None
        if before is self._caller or (before in self._frames and _leads_to(frame.f_locals, self._argument)):
            self._frames[frame] = _read(code)
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
            return self._proceeded
        return None

    def _proceeded(self, frame: FrameType, event: str, _: Any) -> Any:
        if event == "opcode" and self._step() and frame.f_lasti in self._frames[frame].checked:
            if not self._may_call(frame):
                raise CannotCall
        elif event == "return":
            del self._frames[frame]
        return self._proceeded

    def _may_call(self, inner: FrameType) -> bool:
        """Whether a use of the argument can be reached, in the frame itself or after return to another."""
        frame: FrameType | None = inner
        while frame is not None and frame is not self._caller:
            if frame in self._frames:
                names = self._frames[frame].used_from(frame.f_lasti, frame is not inner)
                used = list(map(frame.f_locals.get, names))
                if any(value is self._argument for value in used):  # most often, and found fast
                    return True
                if any(_leads_to(value, self._argument) for value in used):
                    return True
            frame = frame.f_back
        return False


def _leads_to(value: Any, argument: Any) -> bool:
    """Whether a value is the argument or holds it, as far as its nearest parts tell."""
    near = [value]
    for part in near:
        if part is argument:
            return True
        if len(near) < _PARTS:
            near += _parts(part)
    return False


def _parts(value: Any) -> Iterable[Any]:
    """What an object holds: a container its first parts, a function what it knows by closure and default."""
    if isinstance(value, (tuple, list, set, frozenset, dict)):
        return islice(value.values() if isinstance(value, dict) else value, _PARTS)
    if isinstance(value, FunctionType):
        return (*(value.__closure__ or ()), *(value.__defaults__ or ()))
    return () if isinstance(value, (type, ModuleType)) else gc.get_referents(value)


# Bytecode -------------------------------------------------------------------------------------------

_CALLS = frozenset({"CALL", "CALL_KW", "CALL_FUNCTION_EX"})
_ENDS = frozenset({"RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE"})
_LOADS = ("LOAD_FAST", "LOAD_DEREF", "LOAD_CLOSURE", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF")
_JUMPS = {*dis.hasjrel, *dis.hasjabs}
_GENERATOR = "<genexpr>"


class _Code:
    """From which instructions of a function a use of each variable can be reached.

    What a variable holds is used by the innermost call around it. Positions in the source tell which that is,
    so that the stack need not be followed.
    """

    def __init__(self, code: CodeType) -> None:
        self._all = list(dis.get_instructions(code))
        self._offsets = [one.offset for one in self._all]
        places = [one.positions or dis.Positions() for one in self._all]
        self._starts = [(place.lineno or 0, place.col_offset or 0) for place in places]
        self._ends = [(place.end_lineno or 0, place.end_col_offset or 0) for place in places]
        self._calls = [i for i, one in enumerate(self._all) if one.opname in {*_CALLS, "FOR_ITER"}]
        self._following = self._flow(code)
        known = all(places[call].end_col_offset is not None for call in self._calls)
        self.checked = {self._offsets[i] for i in range(len(self._all)) if known and self._is_checked(i)}
        """Offsets of the instructions before which to ask whether the argument may still be called."""
        uses: dict[str, set[int]] = {}
        for number, one in enumerate(self._all):
            if one.opname.startswith(_LOADS) or "_LOAD_FAST" in one.opname:
                own = self._uses(number) if known else range(len(self._all))
                for name in one.argval if isinstance(one.argval, tuple) else (one.argval,):
                    uses.setdefault(name, set()).update(own)
        self._reached = {name: self._leading_to(own) for name, own in uses.items()}
        self.used_from = cache(self._used_from)

    def _used_from(self, offset: int, afterwards: bool) -> list[str]:
        """Variables that may be used from an instruction on, itself included unless ``afterwards``."""
        number = bisect_right(self._offsets, offset) - 1
        starts = self._following[number] if afterwards else [number]
        return [name for name, reached in self._reached.items() if not reached.isdisjoint(starts)]

    def _flow(self, code: CodeType) -> list[list[int]]:
        """Which instructions may follow each one."""
        number_at = {offset: number for number, offset in enumerate(self._offsets)}
        following: list[list[int]] = []
        for number, one in enumerate(self._all):
            goes_on = one.opname not in _ENDS and not one.opname.startswith("JUMP_")
            after = [number + 1] if goes_on and number + 1 < len(self._all) else []
            following.append([*after, number_at[one.argval]] if one.opcode in _JUMPS else after)
        for entry in getattr(dis.Bytecode(code), "exception_entries", ()):
            for number, offset in enumerate(self._offsets):
                if entry.start <= offset < entry.end:
                    following[number].append(number_at[entry.target])
        return following

    def _leading_to(self, uses: set[int]) -> set[int]:
        """The instructions from which one of ``uses`` can be reached, these included."""
        reached, before = set(uses), 0
        while len(reached) > before:  # once for code without loops, because it is read backwards
            before = len(reached)
            for number in reversed(range(len(self._all))):
                if not reached.isdisjoint(self._following[number]):
                    reached.add(number)
        return reached

    def _is_checked(self, number: int) -> bool:
        if self._all[number].opname in _CALLS:
            return not self._called(number) & (_DELAYING | _ITERATING)
        return "JUMP_BACKWARD" in self._all[number].opname

    def _uses(self, load: int) -> list[int]:
        """The instructions that may call what was loaded."""
        part, call = load, self._around(load)
        if call is None:  # it is kept in another variable, say
            return [load, *[later for later in self._calls if later > load][:1]]
        uses = [call]
        while (outer := self._around(call)) is not None and self._may_return(part, call, outer):
            uses.append(outer)
            part, call = call, outer
        return uses

    def _around(self, number: int) -> int | None:
        """The innermost call around an instruction, or the loop that runs through it."""
        start, end = self._starts[number], self._ends[number]
        later = (call for call in self._calls if call > number)
        return next((c for c in later if self._starts[c] <= start and end <= self._ends[c]), None)

    def _may_return(self, part: int, call: int, outer: int) -> bool:
        """Whether the result of a call may hold a part of it when it is used by the next call around."""
        called = self._called(call)
        if self._starts[part] == self._starts[call]:  # the part is what is called
            return _GENERATOR in called
        is_called = self._starts[call] == self._starts[outer]
        return is_called or self._all[outer].opname == "FOR_ITER" or bool(called & _DELAYING)

    def _called(self, call: int) -> set[Any]:
        """Names of what a call calls; :data:`_GENERATOR` for a generator expression."""
        first = [self._all[n] for n in range(call) if self._starts[n] == self._starts[call]]
        made = [one.argval for one in first if isinstance(one.argval, CodeType)]
        lazy = {_GENERATOR for code in made if code.co_flags & _LAZY}
        return lazy | {one.argval for one in first if isinstance(one.argval, str)}


_read = lru_cache(maxsize=256)(_Code)
