"""The MNIST images, and the classifier of appendix B.1, trained on them with ten visible pixels."""

import gzip
import hashlib
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from dagsearch._internal.typing import IntArray
from experiments.harness.peers import import_peer
from experiments.harness.runner import ExperimentError

MEAN, DEVIATION = 0.1307, 0.3081  # of the training images' pixels
PIXELS = 10
EPOCHS, BATCH = 30, 64
# Images in one pass on a GPU, and on a CPU, where larger arrays are slower to allocate.
_IMAGES_AT_ONCE, _ON_CPU = 50_000, 50


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
        f"put the four MNIST files {', '.join(CHECKSUMS)} into {folder}, or pass their folder with "
        "--data DIR; reproduce digits needs no download"
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


# The network -------------------------------------------------------------------------------------------


def on_device(device: str = "cpu") -> Any:
    """PyTorch, or an error if the device is not available."""
    torch = import_peer("torch", "mnist")
    if device == "cuda" and not torch.cuda.is_available():
        raise ValueError("--device cuda: PyTorch sees no GPU here; use --device cpu")
    return torch


def make(torch: Any) -> Any:
    """The untrained network: two convolutions, pooling, two fully connected layers."""
    nn = torch.nn

    class ConvNet(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(1, 32, 3)
            self.conv2 = nn.Conv2d(32, 64, 3)
            self.dropout1, self.dropout2 = nn.Dropout(0.25), nn.Dropout(0.5)
            self.fc1, self.fc2 = nn.Linear(9216, 128), nn.Linear(128, 10)

        def forward(self, images: Any) -> Any:
            relu = nn.functional.relu
            hidden = self.dropout1(relu(self.conv1(images)))
            hidden = nn.functional.max_pool2d(relu(self.conv2(hidden)), 2)
            return self.fc2(self.dropout2(relu(self.fc1(hidden.flatten(1)))))

    return ConvNet()


def prepared(torch: Any, images: NDArray[np.uint8], device: str) -> Any:
    """Images as normalised floats, shape ``(n, 784)``."""
    pixels = torch.as_tensor(images.copy(), device=device).float() / 255.0
    return (pixels - MEAN) / DEVIATION


def train(data: Mnist, device: str, epochs: int = EPOCHS) -> Any:
    """The network, trained on images with ten random pixels; all other pixels are turned off."""
    torch = on_device(device)
    torch.manual_seed(0)
    net = make(torch).to(device)
    images = prepared(torch, data.train, device)
    labels = torch.as_tensor(data.train_labels.astype(np.int64), device=device)
    optimizer = torch.optim.Adadelta(net.parameters(), lr=1.0, rho=0.9, eps=1e-6)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.7)
    net.train()
    for _ in tqdm(range(epochs), unit="epoch", desc="training"):
        for batch in torch.randperm(len(images), device=device).split(BATCH):
            chosen = torch.rand(len(batch), 784, device=device).topk(PIXELS, dim=1).indices
            mask = torch.zeros(len(batch), 784, device=device).scatter_(1, chosen, 1.0)
            logits = net((images[batch] * mask).view(-1, 1, 28, 28))
            loss = torch.nn.functional.cross_entropy(logits, labels[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        schedule.step()
    return net.eval()


def load_weights(path: Path, device: str) -> Any:
    """The network with weights from an ``.npz`` file of arrays named as in PyTorch."""
    torch = on_device(device)
    net = make(torch)
    try:
        with path.open("rb") as file, np.load(file) as arrays:
            state = {name: torch.as_tensor(arrays[name].astype(np.float32)) for name in net.state_dict()}
        net.load_state_dict(state)
    except Exception as error:
        raise ValueError(f"--weights: {path} does not contain the network's weights ({error})") from error
    return net.to(device).eval()


def save_weights(net: Any, path: Path) -> None:
    """Write the weights to an ``.npz`` file that :func:`load_weights` reads."""
    np.savez(path, **{name: tensor.cpu().numpy() for name, tensor in net.state_dict().items()})


class SubsetAccuracy:
    """Accuracy of a network that sees only some pixels, for many subsets at once."""

    def __init__(self, net: Any, images: NDArray[np.uint8], labels: NDArray[np.uint8], device: str) -> None:
        self._torch = on_device(device)
        self._net = net
        self._images = prepared(self._torch, images, device)
        self._labels = torch_labels = self._torch.as_tensor(labels.astype(np.int64), device=device)
        self._device = device
        at_once = _ON_CPU if device == "cpu" else _IMAGES_AT_ONCE
        self._subsets, self._images_of_each = max(1, at_once // len(torch_labels)), at_once

    def __call__(self, subsets: Sequence[frozenset[int]]) -> list[float]:
        """One accuracy per subset."""
        pixels: IntArray = np.zeros((len(subsets), 784), dtype=np.int64)
        for row, subset in enumerate(subsets):
            pixels[row, sorted(subset)] = 1
        masks = self._torch.as_tensor(pixels, device=self._device).float()
        found: list[float] = []
        with self._torch.inference_mode():
            for chunk in masks.split(self._subsets):
                right = self._torch.zeros(len(chunk), dtype=self._torch.float64, device=self._device)
                parts = (whole.split(self._images_of_each) for whole in (self._images, self._labels))
                for images, labels in zip(*parts, strict=True):
                    shown = (chunk[:, None, :] * images[None]).view(-1, 1, 28, 28)
                    guesses = self._net(shown).argmax(dim=1).view(len(chunk), -1)
                    right += (guesses == labels).sum(dim=1)
                found += (right / len(self._labels)).tolist()
        return found
