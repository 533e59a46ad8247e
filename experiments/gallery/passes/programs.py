"""The programs: C code as bitcode before any optimisation, and what they print.

``python -m experiments.gallery.passes.programs FOLDER`` compiles them again, with ``clang`` 14. The folder
has clones of the repositories that ``programs/LICENCES.md`` names.
"""

import lzma
import subprocess
import sys
import tempfile
from pathlib import Path

from experiments.harness.evaluations import EvaluationFailed

FOLDER = Path(__file__).parent / "programs"
NAMES = tuple(sorted(path.name.removesuffix(".bc.xz") for path in FOLDER.glob("*.bc.xz")))
"""The programs by name."""
_CLANG = ("clang-14", "-Oz", "-Xclang", "-disable-llvm-passes", "-emit-llvm", "-w", "-c")
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


def make(clones: Path) -> None:
    """Compile all programs."""
    included = [argument for clone in sorted(clones.iterdir()) for argument in ("-idirafter", str(clone))]
    for source in sorted(FOLDER.glob("*.c")):
        with tempfile.TemporaryDirectory() as folder:
            made = Path(folder) / "made.bc"
            subprocess.run([*_CLANG, *included, source.name, "-o", str(made)], cwd=source.parent, check=True)
            (FOLDER / f"{source.stem}.bc.xz").write_bytes(lzma.compress(made.read_bytes()))


if __name__ == "__main__":
    make(Path(sys.argv[1]))
