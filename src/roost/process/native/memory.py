"""What machine code works on: an image of its inputs, and words that every run begins with a copy of it."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any, Final

_WORD: Final = 8
IMAGE: Final = 4  # so much of all words may be inputs


class Memory:
    """So many words, all of them 0; what is never touched takes no memory."""

    def __init__(self, count: int) -> None:
        self.count: Final = count
        self.room: Final = max(count // IMAGE, 1)  # for inputs
        image, words = mmap.mmap(-1, self.room * _WORD), mmap.mmap(-1, count * _WORD)
        self._owners: Final = [ctypes.c_char.from_buffer(each) for each in (image, words)]  # they stay where they are
        self.image_at: Final = ctypes.addressof(self._owners[0])
        self.words_at: Final = ctypes.addressof(self._owners[1])
        self.image: Final[Any] = memoryview(image).cast("q")
        self.image_doubles: Final[Any] = memoryview(image).cast("d")
        self.words: Final[Any] = memoryview(words).cast("q")
        self.doubles: Final[Any] = memoryview(words).cast("d")
