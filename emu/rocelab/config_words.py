"""config.txt of the HPCC-family simulators as words: lines `KEY VALUE ..`."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from rocelab.errors import RocelabError


@dataclass(frozen=True)
class Entry:
    key: str
    values: tuple[str, ...]
    line: int

    def __str__(self) -> str:
        return " ".join((self.key, *self.values))


class Config:
    """The lines of a config.txt, `KEY VALUE ..`; of a key that stands there twice the last. Which were asked for is remembered."""

    def __init__(self, text: str, name: str) -> None:
        self.name = name
        self.entries: dict[str, Entry] = {}
        self.repeated: list[Entry] = []
        self._asked: set[str] = set()
        for number, line in enumerate(text.splitlines(), start=1):
            words = line.partition("#")[0].partition("{")[0].split()
            if words:
                if before := self.entries.pop(words[0], None):
                    self.repeated.append(before)
                self.entries[words[0]] = Entry(words[0], tuple(words[1:]), number)

    def fail(self, key: str, why: str) -> RocelabError:
        return RocelabError(f"{self.name}:{self.entries[key].line}: {key} {why}")

    def words(self, key: str) -> tuple[str, ...] | None:
        self._asked.add(key)
        entry = self.entries.get(key)
        return entry.values if entry else None

    def word(self, key: str) -> str | None:
        words = self.words(key)
        if words is not None and len(words) != 1:
            raise self.fail(key, f"has {len(words)} values, not one")
        return words[0] if words else None

    def number(self, key: str) -> Decimal | None:
        word = self.word(key)
        return None if word is None else self._decimal(key, word)

    def integer(self, key: str, otherwise: int) -> int:
        number = self.number(key)
        if number is None:
            return otherwise
        if number != int(number):
            raise self.fail(key, f"must be a whole number, not {number}")
        return int(number)

    def by_rate(self, key: str) -> dict[int, Decimal] | None:
        """`<n> <rate> <value> ..`, n pairs."""
        words = self.words(key)
        if words is None:
            return None
        numbers = [self._decimal(key, w) for w in words]
        if not numbers or len(numbers) != 1 + 2 * numbers[0]:
            raise self.fail(key, "is a number of pairs, and so many of a rate in bit/s and a value")
        return {int(rate): value for rate, value in zip(numbers[1::2], numbers[2::2])}

    def left(self) -> list[Entry]:
        return [entry for key, entry in self.entries.items() if key not in self._asked]

    def _decimal(self, key: str, word: str) -> Decimal:
        try:
            number = Decimal(word)
        except InvalidOperation:
            number = Decimal("nan")
        if not number.is_finite() or number < 0:
            raise self.fail(key, f"must be a number, not {word}")
        return number
