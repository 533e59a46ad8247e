"""LLVM for the search: programs, passes that turn a module into another, and failures.

The programs are C code as bitcode before any optimisation. They were compiled by ``clang-14 -Oz -Xclang
-disable-llvm-passes -emit-llvm -w -c``; ``LICENCES.md`` lists the repositories that they include.
"""

import ctypes.util
import hashlib
import lzma
import pickle
import subprocess
import sys
from functools import cached_property
from pathlib import Path
from typing import Any

from experiments.harness.evaluations import EvaluationFailed
from experiments.harness.runner import ExperimentError

# Versions with LLVMRunPasses that read the programs' bitcode; the first installed one is used.
_VERSIONS = range(14, 31)

# Excluded: passes that only print, view or analyse, that add names, profiles, guards or checks, that change
# the interface to other modules (internalize), whole pipelines (scc-oz-module-inliner), one that always
# crashes (chr), and passes that only remove debug information.
_PASSES = """
always-inline attributor called-value-propagation constmerge deadargelim elim-avail-extern
function-specialization globaldce globalopt globalsplit hotcoldsplit inferattrs inline ipsccp iroutliner
mergefunc module-inline partial-inliner rpo-function-attrs strip-dead-prototypes argpromotion function-attrs
adce aggressive-instcombine alignment-from-assumptions bdce break-crit-edges callsite-splitting consthoist
constraint-elimination correlated-propagation dce dfa-jump-threading div-rem-pairs dse early-cse
early-cse<memssa> fix-irreducible flattencfg float2int gvn gvn-hoist gvn-sink instcombine instsimplify
jump-threading lcssa libcalls-shrinkwrap load-store-vectorizer loop-data-prefetch loop-distribute loop-fusion
loop-load-elim loop-simplify loop-sink loop-unroll loop-vectorize lower-constant-intrinsics lower-expect
lowerswitch mem2reg memcpyopt mergeicmps mergereturn mldst-motion nary-reassociate newgvn
partially-inline-libcalls reassociate reg2mem scalarizer sccp separate-const-offset-from-gep sink
slp-vectorizer slsr speculative-execution sroa tailcallelim vector-combine simplifycfg
simplifycfg<hoist-common-insts;sink-common-insts;switch-to-lookup>
function(loop-mssa(licm)) loop-flatten loop-interchange loop-unroll-and-jam canon-freeze loop-idiom
loop-instsimplify loop-rotate loop-deletion loop-simplifycfg loop-reduce indvars loop-unroll-full
loop-bound-split loop-reroll function(loop-mssa(simple-loop-unswitch<nontrivial>))
"""


FOLDER = Path(__file__).parent / "programs"
NAMES = tuple(sorted(path.name.removesuffix(".bc.xz") for path in FOLDER.glob("*.bc.xz")))
"""The programs by name."""
_SECONDS = 120.0  # many times the duration of a program


def bitcode(name: str) -> bytes:
    """A program from clang with -Oz, before the first pass."""
    return lzma.decompress((FOLDER / f"{name}.bc.xz").read_bytes())


def printed(bitcode: bytes) -> bytes:
    """The output of a program.

    Raises :class:`EvaluationFailed` if it crashes or does not end.
    """
    script = Path(__file__).with_name("execution.py")
    try:
        done = subprocess.run(
            [sys.executable, str(script)], input=bitcode, capture_output=True, timeout=_SECONDS
        )
    except subprocess.TimeoutExpired as error:
        raise EvaluationFailed("the program does not end") from error
    if done.returncode != 0:
        raise EvaluationFailed(f"the program failed ({done.returncode})")
    return done.stdout


class Module:
    """A program in LLVM's bitcode. Modules with equal bitcode are equal."""

    __slots__ = ("bitcode", "digest", "size")

    def __init__(self, bitcode: bytes, size: int) -> None:
        self.bitcode = bitcode
        self.size = size
        """Number of instructions."""
        self.digest = hashlib.blake2b(bitcode, digest_size=16).digest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Module) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"<module {self.digest.hex()[:8]}: {self.size} instructions>"


class LLVM:
    """Applies passes to modules, in a separate process that may crash.

    Parameters
    ----------
    library : str, optional
        A shared library such as ``libLLVM-14.so.1``; by default the installed one.
    """

    def __init__(self, library: str | None = None) -> None:
        self._server: subprocess.Popen[bytes] | None = None
        found = library or installed()
        if found is None:
            raise ExperimentError("LLVM's library is missing: apt install llvm, or pass --llvm LIBRARY")
        self.library = found

    def __getstate__(self) -> dict[str, Any]:
        return {"library": self.library, "_server": None}

    @cached_property
    def passes(self) -> tuple[str, ...]:
        """The names of the passes that this version of LLVM has."""
        known, smallest = [], bitcode("hash")
        for name in _PASSES.split():
            try:
                self.applied(smallest, name)
            except EvaluationFailed as error:
                if "unknown" in str(error):
                    continue
            known.append(name)
        return tuple(known)

    def read(self, bitcode: bytes) -> Module:
        """The module in some bitcode, rewritten by this version of LLVM."""
        return self.applied(bitcode, "")

    def applied(self, bitcode: bytes, pipeline: str) -> Module:
        """The module after a pass, or after ``default<Oz>`` or ``default<O3>``.

        Raises :class:`EvaluationFailed` if LLVM crashes, takes too long or leaves a broken module.
        """
        server = self._started()
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            pickle.dump((bitcode, pipeline), server.stdin)
            server.stdin.flush()
            answer = pickle.load(server.stdout)
        except (EOFError, BrokenPipeError, pickle.UnpicklingError) as error:
            self.close()
            raise EvaluationFailed(f"LLVM crashed in {pipeline}") from error
        if isinstance(answer, str):
            raise EvaluationFailed(answer)
        return Module(*answer)

    def close(self) -> None:
        """End the process; the next pass starts a new one."""
        if self._server is not None:
            self._server.kill()
            self._server.communicate()
            self._server = None

    def _started(self) -> "subprocess.Popen[bytes]":
        if self._server is None:
            script = Path(__file__).with_name("server.py")
            self._server = subprocess.Popen(
                [sys.executable, str(script), self.library],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        return self._server

    def __del__(self) -> None:
        self.close()


def installed() -> str | None:
    """LLVM's shared library, for example from Debian's package ``llvm``; ``None`` if there is none."""
    return next(filter(None, (ctypes.util.find_library(f"LLVM-{number}") for number in _VERSIONS)), None)
