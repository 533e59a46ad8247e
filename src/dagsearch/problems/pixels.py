"""The pixels from which digits are recognised best."""

import numpy as np

from dagsearch._internal.typing import FloatArray
from dagsearch.problems.ground import Subset
from dagsearch.problems.subsets import Subsets


class DigitsPixels(Subsets):
    """Choose the pixels of scikit-learn's 8×8 digits from which a linear classifier recognises them best.

    The reward of a subset is the accuracy of linear discriminant analysis with these pixels alone, trained on
    one half of the 1,797 images and scored on the other. Pixel ``p`` is row ``p // 8``, column
    ``p % 8``.

    Parameters
    ----------
    k : int
        Number of pixels to choose.
    split : int
        Seed of the stratified split into halves.
    """

    shape = (8, 8)

    def __init__(self, k: int = 10, split: int = 0) -> None:
        # scikit-learn is slow to import, and most problems do not need it.
        from sklearn.datasets import load_digits
        from sklearn.model_selection import train_test_split

        super().__init__(64, k, self.accuracy, positions=np.indices(self.shape).reshape(2, -1).T)
        self.split = int(split)
        images, labels = load_digits(return_X_y=True)
        halves = train_test_split(images, labels, test_size=0.5, random_state=split, stratify=labels)
        self._train, self._test, self._train_labels, self._test_labels = halves

    def identity(self) -> str:
        """The split, so that a journal of another split is recognised."""
        return f"split {self.split}"

    def accuracy(self, pixels: Subset | range) -> float:
        """Accuracy on the second half with these pixels; any number of pixels is allowed."""
        from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
        from sklearn.dummy import DummyClassifier

        columns = np.array(sorted(pixels))
        varies = np.ptp(self._train[:, columns], axis=0).any()
        # Discriminant analysis fails on pixels that are constant over all images, such as the corners.
        classifier = LinearDiscriminantAnalysis() if varies else DummyClassifier(strategy="most_frequent")
        classifier.fit(self._train[:, columns], self._train_labels)
        return float(classifier.score(self._test[:, columns], self._test_labels))

    def mean_image(self) -> FloatArray:
        """The average training image, shape ``(8, 8)``."""
        return np.asarray(self._train.mean(axis=0).reshape(self.shape), dtype=np.float64)
