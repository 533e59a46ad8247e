"""The ``repr`` of the parts of a search."""


class Configured:
    """A part of a search, written with its settings: its public attributes."""

    def __repr__(self) -> str:
        settings = [f"{name}={value!r}" for name, value in vars(self).items() if not name.startswith("_")]
        return f"{type(self).__name__}({', '.join(settings)})"
