"""The MNIST images: from a folder, or from a public mirror."""

import gzip
import hashlib
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.harness.runner import ExperimentError

CHECKSUMS = {
    "train-images-idx3-ubyte.gz": "f68b3c2dcbeaaa9fbdd348bbdeb94873",
    "train-labels-idx1-ubyte.gz": "d53e105ee54ea40749a09fcbcd1e9432",
    "t10k-images-idx3-ubyte.gz": "9fb629c4189551a2d022fa330f9573f3",
    "t10k-labels-idx1-ubyte.gz": "ec29112dd5afa0611ce80d1b7f02629c",
}
"""The four files and their MD5 sums."""

MIRROR = "https://storage.googleapis.com/cvdf-datasets/mnist/"
VALIDATION = 1_000
"""Number of training images held back to score subsets of pixels."""


@dataclass(frozen=True)
class Mnist:
    """Images as bytes, one row of 784 each, and their labels."""

    train: NDArray[np.uint8]
    """Images to train on, shape ``(59000, 784)``."""
    train_labels: NDArray[np.uint8]
    validation: NDArray[np.uint8]
    """Images held back, shape ``(1000, 784)``."""
    validation_labels: NDArray[np.uint8]
    test: NDArray[np.uint8]
    """The test set, shape ``(10000, 784)``."""
    test_labels: NDArray[np.uint8]


def load(folder: Path | None = None) -> Mnist:
    """The data set from ``folder``, or by default from a cache, into which missing files are downloaded.

    Raises
    ------
    ExperimentError
        If files are missing or damaged; the message names the files and the folder.
    """
    arrays = {name: _read(folder or _downloaded(name), name) for name in CHECKSUMS}
    images, labels, test, test_labels = arrays.values()
    order = np.random.default_rng(0).permutation(len(images))
    held, kept = order[:VALIDATION], order[VALIDATION:]
    return Mnist(images[kept], labels[kept], images[held], labels[held], test, test_labels)


def _downloaded(name: str) -> Path:
    """The folder of downloaded files, with this one."""
    folder = Path.home() / ".cache" / "dagsearch" / "mnist"
    if not (folder / name).exists():
        folder.mkdir(parents=True, exist_ok=True)
        try:
            urllib.request.urlretrieve(MIRROR + name, folder / name)
        except OSError as error:
            raise ExperimentError(f"cannot download {name} ({error}); {_advice(folder)}") from error
    return folder


def _advice(folder: Path) -> str:
    return (
        f"put the four MNIST files {', '.join(CHECKSUMS)} into {folder}, or give a folder that has them "
        "with --data DIR; reproduce digits needs no download"
    )


def _read(folder: Path, name: str) -> NDArray[np.uint8]:
    path = folder / name
    if not path.is_file():
        raise ExperimentError(f"{path} is missing; {_advice(folder)}")
    content = path.read_bytes()
    if hashlib.md5(content).hexdigest() != CHECKSUMS[name]:
        raise ExperimentError(f"{path} is damaged (its MD5 sum is wrong); {_advice(folder)}")
    data = np.frombuffer(gzip.decompress(content), dtype=np.uint8)
    dimensions = int(data[3])
    sizes = data[4 : 4 + 4 * dimensions].view(">u4")
    return data[4 + 4 * dimensions :].reshape(sizes[0], -1).squeeze()
