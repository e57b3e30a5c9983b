"""Lines, words and part files, as the jobs and their verification read and write them.

Lines end in a line feed only, and are bytes: a carriage return is a part of its line. Each pattern
here has the same matches in Java and in Python: classes are explicit ranges, since the two disagree
about `\\w`, `\\b`, `\\s` and `.` outside ASCII.
"""

from typing import Any

from gordon.workload import spark

#: A character of a script without spaces between words, which is a word by itself.
_IDEOGRAPH = r"\u3040-\u30FF\u3400-\u4DBF\u4E00-\u9FFF\uF900-\uFAFF"

#: Letters, digits and combining marks of the Basic Multilingual Plane. Between the ranges are the
#: signs of multiplication and division, the punctuation of Greek, Armenian, Hebrew, Arabic and
#: Devanagari, and letters newer than Unicode 13, whose lower case only newer programs know.
_LETTER = (
    r"0-9A-Za-z\u00AA\u00B5\u00BA\u00C0-\u00D6\u00D8-\u00F6\u00F8-\u037D\u037F-\u0386\u0388-\u0559"
    r"\u0560-\u0588\u0591-\u05BD\u05BF\u05C1\u05C2\u05C4-\u060B\u0610-\u061A\u0620-\u0669"
    r"\u066E-\u06D3\u06D5-\u0963\u0966-\u167F\u1681-\u1C88\u1C90-\u1FFF"
    r"\u2C00-\u2C2E\u2C30-\u2C5E\u2C60-\u2DFF\uA000-\uA7BF\uA7C2-\uA7CA\uA7F2-\uD7FF"
    r"\uFB00-\uFDFF\uFE70-\uFEFC"
)

#: A word: one ideograph, or a run of letters, digits and marks.
WORD = rf"[{_IDEOGRAPH}]|[{_LETTER}]+"


def lines(session: Any, paths: list[str]) -> Any:
    """The lines of text files or folders, as a DataFrame with the column `value`."""
    return session.read.text(paths, lineSep="\n")


def write_lines(frame: Any, output: str) -> None:
    """Writes a DataFrame with one column of text as uncompressed part files."""
    frame.write.text(output, compression="none", lineSep="\n")


def words(column: Any) -> Any:
    """The lower-case words of a column of text, in order, as a column of arrays."""
    f = spark.functions()
    return f.regexp_extract_all(f.lower(column), f.lit(WORD), f.lit(0))
