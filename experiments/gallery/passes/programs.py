"""The programs: C code as bitcode before any optimisation, and what they print.

They were compiled by ``clang-14 -Oz -Xclang -disable-llvm-passes -emit-llvm -w -c``; ``LICENCES.md`` says
which repositories they include.
"""

import lzma
import subprocess
import sys
from pathlib import Path

from experiments.harness.evaluations import EvaluationFailed

FOLDER = Path(__file__).parent / "programs"
NAMES = tuple(sorted(path.name.removesuffix(".bc.xz") for path in FOLDER.glob("*.bc.xz")))
"""The programs by name."""
_SECONDS = 120.0  # many times what a program takes


def bitcode(name: str) -> bytes:
    """A program as clang makes it for -Oz, before the first pass."""
    return lzma.decompress((FOLDER / f"{name}.bc.xz").read_bytes())


def printed(bitcode: bytes) -> bytes:
    """What a program prints.

    Raises :class:`EvaluationFailed` if it crashes, or does not end.
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
