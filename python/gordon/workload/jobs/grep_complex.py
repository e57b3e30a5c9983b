r"""Grep (complex): keeps the lines in which a word comes back with another ending.

The regular expression has alternations, repetitions and a back-reference, so that neither Java nor
Python can compile it to a finite automaton: both try every place of a line as the start of the
word, every length of the word, every ending, and up to 80 characters of distance to the second
occurrence. This is what makes the job the one with the most computation.

The work for a line is nevertheless bounded by its length times a constant. No repetition contains
another one, and each has an upper limit: from one start there are at most 9 lengths of the word, 13
endings (one is none), 82 distances (one is none) and 12 endings of the second occurrence. A line
cannot make the matcher explode, and none of the repeated parts is a group, for which Java would
recurse and might overflow its stack.

A letter is any character except ASCII that is not a letter, Latin-1 signs and general punctuation,
so that words of all scripts count. `[^\n]` stands for `.`, which excludes more characters in Java.
"""

from typing import Any

from gordon.run.report import Parameters
from gordon.workload import spark, text

_OTHER = r"\x00-\x40\x5B-\x60\x7B-\xBF\u2000-\u206F\u3000-\u303F"
_ENDING = "(?:s|es|ed|en|er|ing|ion|ly|a|e|o|ov|om)"

#: Has the same matches in java.util.regex and in Python's `re`.
EXPRESSION = (
    rf"(?:^|[{_OTHER}])([^{_OTHER}]{{4,12}}){_ENDING}?[{_OTHER}]"
    rf"(?:[^\n]{{0,80}}[{_OTHER}])?\1{_ENDING}[{_OTHER}]"
)


def run(session: Any, inputs: list[str], output: str, parameters: Parameters) -> dict[str, int]:
    """Writes the lines in which the expression is found."""
    text.write_lines(matching(text.lines(session, inputs)), output)
    return {}


def matching(lines: Any) -> Any:
    """The lines that the job keeps."""
    return lines.filter(spark.functions().col("value").rlike(EXPRESSION))
