"""Leave a function as soon as it cannot call one of its arguments any more.

A function ``f(choose)`` that chooses first and computes afterwards should be left between the two. Whether it
may still call ``choose`` is read from its bytecode: from the instruction that comes next, can one be reached
that uses a variable which holds ``choose``? Before every call that the function makes, the answer is looked
up; where it is no, :class:`CannotCall` is raised inside the function.

Only frames that were handed ``choose`` are watched, down to the first that was not: a generator, say, or a
function that knows it by closure, is left alone until it returns. If ``choose`` is hidden where no variable
leads to it, the function is left too early.
"""

import dis
import inspect
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from itertools import islice
from types import CodeType, FrameType, FunctionType, GeneratorType, MethodType, ModuleType
from typing import Any

_CALLS = frozenset({"CALL", "CALL_KW", "CALL_FUNCTION_EX"})
_JUMPS = frozenset({"JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"})
_ENDS = frozenset({"RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE"})
_KEEPS = ("STORE_", "POP_", "DELETE_")
_LOADS = ("LOAD_FAST", "LOAD_DEREF", "LOAD_CLOSURE", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF")
_LAZY = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
# Functions that return something which calls their arguments later.
_DELAYING = frozenset({"map", "filter", "zip", "enumerate", "iter", "partial", "chain", "starmap", "islice"})
# How deep to look into objects for ``choose``, and at how many parts of each.
_DEEP, _PARTS = 3, 50


class CannotCall(BaseException):
    """Leaves a function that cannot call its argument any more; ``except Exception`` does not catch it."""


def call_while_needed(function: Callable[[Any], Any], argument: Any, wanted: Callable[[], bool]) -> bool:
    """Run ``function(argument)``, but leave it once it cannot call ``argument`` any more.

    Parameters
    ----------
    function : callable
        Called.
    argument : callable
        What it is given.
    wanted : callable
        Whether to leave the function, if that is possible now.

    Returns
    -------
    bool
        False if the function caught the exception that was to leave it.
    """
    before = sys.gettrace()
    watch = _Watch(argument, wanted, sys._getframe())
    sys.settrace(watch.entered)
    try:
        function(argument)
    except CannotCall:
        return True
    finally:
        sys.settrace(before)
    return not watch.left


class _Watch:
    """Follows a call through the frames that were handed the argument."""

    def __init__(self, argument: Any, wanted: Callable[[], bool], caller: FrameType) -> None:
        self._argument, self._wanted = argument, wanted
        self._own = type(argument).__call__.__code__
        self._last = caller  # the last frame of those below, or who called the first
        self._frames: list[tuple[FrameType, _Code]] = []
        self.left = False

    def entered(self, frame: FrameType, event: str, _: Any) -> Any:
        """Decide whether to watch a frame that begins."""
        code = frame.f_code
        if event != "call" or frame.f_back is not self._last or code.co_flags & _LAZY or code is self._own:
            return None
        if self._frames and not self._was_handed(frame):
            return None
        self._frames.append((frame, _read(frame.f_code)))
        self._last = frame
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self._proceeded

    def _was_handed(self, frame: FrameType) -> bool:
        """Whether one of the frame's own arguments is the argument, or a collection of arguments with it."""
        code, values = frame.f_code, frame.f_locals
        count = code.co_argcount + code.co_kwonlyargcount
        count += bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
        given = (values.get(name) for name in code.co_varnames[:count])
        return any(value is self._argument or _is_among(value, self._argument) for value in given)

    def _proceeded(self, frame: FrameType, event: str, _: Any) -> Any:
        if event == "opcode":
            at_call = self._frames[-1][1].is_call[frame.f_lasti // 2]
            if at_call and self._wanted() and not self._may_call():
                self.left = True
                raise CannotCall
        elif event == "return":
            self._frames.pop()
            self._last = frame.f_back  # type: ignore[assignment]
        return self._proceeded

    def _may_call(self) -> bool:
        """Whether a use of the argument can be reached, in the frame itself or after return to another."""
        inner = self._frames[-1][0]
        for frame, code in reversed(self._frames):
            values = frame.f_locals
            for name, reaches in code.uses:
                here = reaches.here if frame is inner else reaches.afterwards
                directly, indirectly = (reachable[frame.f_lasti // 2] for reachable in here)
                if (directly or indirectly) and name in values:
                    value = values[name]
                    if directly and value is self._argument:
                        return True
                    if indirectly and value is not self._argument and self._leads_to(value, _DEEP):
                        return True
        return False

    def _leads_to(self, value: Any, deep: int) -> bool:
        """Whether a value holds the argument, as far as that can be seen."""
        if value is self._argument:
            return True
        return deep > 0 and any(self._leads_to(part, deep - 1) for part in islice(_parts(value), _PARTS))


def _is_among(value: Any, argument: Any) -> bool:
    if type(value) is tuple:
        return any(part is argument for part in value)
    return type(value) is dict and any(part is argument for part in value.values())


def _parts(value: Any) -> Iterator[Any]:
    """What an object holds."""
    if isinstance(value, (str, bytes, int, float, type, ModuleType)) or value is None:
        return
    if isinstance(value, (tuple, list, set, frozenset)):
        yield from value
    elif isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, FunctionType):
        for cell in value.__closure__ or ():
            try:
                yield cell.cell_contents
            except ValueError:  # an empty cell
                continue
        yield from value.__defaults__ or ()
    elif isinstance(value, MethodType):
        yield value.__self__
    elif isinstance(value, partial):
        yield from (value.func, *value.args, *value.keywords.values())
    elif isinstance(value, GeneratorType):
        yield from value.gi_frame.f_locals.values() if value.gi_frame else ()
    else:
        yield from getattr(value, "__dict__", {}).values()


# Bytecode -------------------------------------------------------------------------------------------

Reachable = tuple[list[bool], list[bool]]
"""Whether a use can be reached from each code unit: of the argument itself, and of what holds it."""


class _Reaches:
    """From where a use of one variable can be reached."""

    def __init__(self, here: Reachable, afterwards: Reachable) -> None:
        self.here = here
        """If the instruction itself counts."""
        self.afterwards = afterwards
        """If it does not."""


class _Code:
    """What is known about the instructions of a function, by code unit (two bytes)."""

    def __init__(self, code: CodeType) -> None:
        self._instructions = list(dis.get_instructions(code))
        self._number = {one.offset: number for number, one in enumerate(self._instructions)}
        self._following = self._flow(code)
        self._heights = self._stack(code)
        units = len(code.co_code) // 2
        self._unit = [0] * units  # the instruction that each unit belongs to
        ends = [one.offset for one in self._instructions[1:]] + [2 * units]
        for number, end in enumerate(ends):
            for unit in range(self._instructions[number].offset // 2, end // 2):
                self._unit[unit] = number
        self.is_call = [False] * units
        for one in self._instructions:
            self.is_call[one.offset // 2] = one.opname in _CALLS
        self.uses = [(name, self._reaches(loads)) for name, loads in self._loads().items()]
        """For each variable that is loaded, from where a use of it can be reached."""

    def _flow(self, code: CodeType) -> list[list[int]]:
        """Which instructions may follow each one."""
        following = []
        jumps = {*dis.hasjrel, *dis.hasjabs}
        for number, one in enumerate(self._instructions):
            goes_on = one.opname not in _ENDS and one.opname not in _JUMPS
            after = [number + 1] if goes_on and number + 1 < len(self._instructions) else []
            if one.opcode in jumps:
                after.append(self._number[one.argval])
            following.append(after)
        for entry in getattr(dis.Bytecode(code), "exception_entries", ()):
            for number, one in enumerate(self._instructions):
                if entry.start <= one.offset < entry.end and entry.target in self._number:
                    following[number].append(self._number[entry.target])
        return following

    def _stack(self, code: CodeType) -> list[int]:
        """Height of the stack before each instruction."""
        heights = [-1] * (len(self._instructions) + 1)
        entries = getattr(dis.Bytecode(code), "exception_entries", ())
        waiting = [(self._number[entry.target], entry.depth + 1 + entry.lasti) for entry in entries]
        waiting.append((0, 0))
        while waiting:
            number, height = waiting.pop()
            if heights[number] >= 0 or number == len(self._instructions):
                continue
            heights[number] = height
            one = self._instructions[number]
            for other in self._following[number]:
                jump = other != number + 1
                effect = 0 if one.opname in _ENDS else dis.stack_effect(one.opcode, one.arg, jump=jump)
                waiting.append((other, height + effect))
        return heights

    def _loads(self) -> dict[str, list[tuple[int, int]]]:
        """Where each variable is loaded: the instruction, and how much it loads on top of it."""
        found: dict[str, list[tuple[int, int]]] = {}
        for number, one in enumerate(self._instructions):
            if one.opname.startswith(_LOADS) and self._heights[number] >= 0:
                names = one.argval if isinstance(one.argval, tuple) else (one.argval,)
                for above, name in enumerate(reversed(names)):
                    found.setdefault(name, []).append((number, above))
        return found

    def _reaches(self, loads: list[tuple[int, int]]) -> _Reaches:
        here, afterwards = [], []
        for direct in (True, False):
            uses = {use for load in loads for use in self._used(*load, direct)}
            reached = self._leading_to(uses)
            later = [any(reached[other] for other in after) for after in self._following]
            here.append([reached[number] for number in self._unit])
            afterwards.append([later[number] for number in self._unit])
        return _Reaches((here[0], here[1]), (afterwards[0], afterwards[1]))

    def _leading_to(self, uses: set[int]) -> list[bool]:
        """From which instructions one of ``uses`` can be reached."""
        before: list[list[int]] = [[] for _ in self._instructions]
        for number, after in enumerate(self._following):
            for other in after:
                before[other].append(number)
        reached, waiting = [False] * len(before), list(uses)
        while waiting:
            number = waiting.pop()
            if not reached[number]:
                reached[number] = True
                waiting += before[number]
        return reached

    def _makes_generator(self, number: int) -> bool:
        """Whether the function that an instruction makes is a generator expression."""
        made = self._instructions[number - 1].argval
        return isinstance(made, CodeType) and bool(made.co_flags & _LAZY)

    def _callee(self, number: int, height: int) -> str | None:
        """Name of what a call calls, if it has one; ``height`` is that of the stack after the call."""
        for before in range(number - 1, -1, -1):
            if self._heights[before] < height <= self._heights[before + 1]:
                one = self._instructions[before + (self._instructions[before].opname == "PUSH_NULL")]
                return one.argval if isinstance(one.argval, str) else None
        return None

    def _used(self, number: int, above: int, direct: bool) -> Iterator[int]:
        """The instructions that may call what was loaded, as it moves on the stack.

        ``direct`` says that it is the argument itself: then what a call with it returns does not hold it. A
        generator made from it does, and what ``map`` and the like return that were given such a function.
        """
        height = self._heights[number + 1]
        place, lazy, seen = height - 1 - above, False, set()
        arguments = 0  # of PRECALL, which Python 3.11 has before every CALL
        number += 1
        while number < len(self._instructions) and number not in seen:
            seen.add(number)
            one = self._instructions[number]
            if one.opname in _ENDS:
                return
            if one.opname == "FOR_ITER" and place == height - 1:
                yield number
                return
            effect = dis.stack_effect(one.opcode, one.arg, jump=False)
            if one.opname == "PRECALL":
                arguments, effect = effect, 0
            if one.opname in _CALLS:
                height += effect + arguments
                arguments = 0
                if place >= height - 1:  # it was called, or among the arguments of the call
                    yield number
                    called = place <= height
                    delayed = lazy if called else not direct and self._callee(number, height) in _DELAYING
                    if not delayed:
                        return
                    place, direct = height - 1, False
            else:
                height += effect
                if place >= height:  # it was taken from the stack
                    if one.opname.startswith(_KEEPS):
                        return
                    place = height - 1
                if one.opname == "MAKE_FUNCTION" and place >= height - 1:
                    direct, lazy = False, self._makes_generator(number)
            number = self._number[one.argval] if one.opname in _JUMPS else number + 1


_read = lru_cache(maxsize=256)(_Code)
