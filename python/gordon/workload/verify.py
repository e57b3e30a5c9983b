"""Verifies the output of a job against its input.

Checks of two kinds complement each other. Those over all of the data run on Spark: checksums, order
and counts; they find what was lost, duplicated or changed on the way to the disk. Those over a
sample compare with a plain reference in Python; they find a job that computes the wrong thing. The
sample is chosen by a hash of the content, so that it is the same in the input and in the output,
and is of a bounded size, which the driver holds. It is all of a small corpus.
"""

import math
import random
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from html.entities import name2codepoint
from itertools import pairwise
from operator import itemgetter
from typing import Any

from gordon.run.report import OutputCheck, Parameters, Verification
from gordon.workload import jobs, spark, text
from gordon.workload.jobs import grep_complex, grep_simple, ngram, randomwriter, webindex

#: Lines of a sample that is compared with a plain reference.
SAMPLE_LINES = 20_000
#: Pages of a sample.
SAMPLE_PAGES = 300
#: Bytes of input whose phrases are counted again.
RECOUNTED_BYTES = 64 << 20
#: Words that are looked up in an index.
QUERIES = 100
#: Largest relative difference of two scores; Java and Python may round logarithms differently.
TOLERANCE = 1e-9
#: Standard deviations by which a statistic of random keys may exceed its mean.
SIGMAS = 8

#: Multiset checksum of rows: their number, and the sum of their hashes.
Checksum = tuple[int, int]


class Checks:
    """The checks of an output, in order."""

    def __init__(self) -> None:
        self.made: list[OutputCheck] = []

    def add(self, name: str, passed: bool, detail: str) -> None:
        self.made.append({"name": name, "passed": bool(passed), "detail": detail})

    def equal(self, name: str, what: str, expected: Any, found: Any) -> None:
        """Checks a figure of the output."""
        passed = expected == found
        detail = f"{what}: {found}" if passed else f"{what}: {found}, expected {expected}"
        self.add(name, passed, detail)

    def result(self) -> Verification:
        return {"passed": all(check["passed"] for check in self.made), "checks": self.made}


@dataclass(frozen=True)
class Case:
    """The output of a job, with the input and the parameters that made it."""

    session: Any
    inputs: list[str]
    output: str
    parameters: Parameters
    seed: int
    """Seed of the choice of the sample."""
    checks: Checks = field(default_factory=Checks)

    def given(self) -> Any:
        """The lines of the input."""
        return text.lines(self.session, self.inputs)

    def written(self) -> Any:
        """The lines of the output."""
        return text.lines(self.session, [self.output])


def verify(
    session: Any,
    job: str,
    inputs: list[str],
    output: str,
    parameters: Parameters | None = None,
    seed: int = 1,
) -> Verification:
    """Verifies the output of a job that was run with these inputs and parameters.

    `seed` chooses the sample. Returns `{"passed", "checks": [{"name", "passed", "detail"}]}`. An
    output that Spark cannot read is a check that fails. Raises GordonError for an unknown job.
    """
    complete = jobs.get(job).complete(parameters or {})
    case = Case(session, inputs, output, complete, seed)
    try:
        _VERIFIERS[job](case)
    except spark.errors() as error:
        case.checks.add("readable", False, str(error).strip().splitlines()[0])
    return case.checks.result()


def _randomwriter(case: Case) -> None:
    f = spark.functions()
    written = case.written()
    value = f.col("value")
    length = randomwriter.RECORD_BYTES - 1
    expected = case.parameters["size"] // randomwriter.RECORD_BYTES
    other = f.sum((f.octet_length(value) != length).cast("int"))
    found = written.agg(f.count("*").alias("lines"), other.alias("other")).first()
    case.checks.equal("count", "records", expected, found["lines"])
    case.checks.equal(
        "record size", f"records that are not {length + 1} bytes", 0, found["other"] or 0
    )
    files = written.groupBy("_metadata.file_path").agg(f.max("_metadata.file_size").alias("bytes"))
    size = files.agg(f.sum("bytes").alias("bytes")).first()["bytes"]
    case.checks.equal("size", "bytes of the files", expected * (length + 1), size)
    again = _checksum(randomwriter.records(case.session, case.parameters), "value")
    case.checks.equal("content", "checksum", _shown(again), _shown(_checksum(written, "value")))
    for place in (1, randomwriter.KEY_BYTES):
        symbol = f.substring(value, place, 1).alias("symbol")
        rows = written.select(symbol).groupBy("symbol").count().collect()
        _check_uniform(case.checks, place, {row["symbol"]: row["count"] for row in rows})


def _check_uniform(checks: Checks, place: int, seen: dict[str, int]) -> None:
    """Checks by the chi-squared statistic that a digit of the keys is uniformly distributed."""
    digits = "0123456789ABCDEF"
    mean = sum(seen.values()) / len(digits)
    statistic = sum((seen.get(digit, 0) - mean) ** 2 for digit in digits) / max(mean, 1)
    freedom = len(digits) - 1
    limit = freedom + SIGMAS * math.sqrt(2 * freedom)
    others = sorted(set(seen) - set(digits))
    checks.add(
        f"keys, digit {place}",
        not others and statistic <= limit,
        f"chi-squared {statistic:.1f}, at most {limit:.1f}" + (f"; found {others}" * bool(others)),
    )


def _identity(case: Case) -> None:
    _check_same_lines(case.checks, case.given(), case.written())


def _sort(case: Case) -> None:
    written = case.written()
    _check_same_lines(case.checks, case.given(), written)
    # Strings that are not UTF-8 would change on their way to Python; bytes do not.
    _check_order(case.checks, written, spark.functions().col("value").cast("binary"))


def _grep_simple(case: Case) -> None:
    pattern = re.escape(grep_simple.SEARCHED)
    _check_grep(case, grep_simple.matching, pattern)


def _grep_complex(case: Case) -> None:
    pattern = grep_complex.EXPRESSION
    _check_grep(case, grep_complex.matching, pattern)


def _check_grep(case: Case, matching: Callable[[Any], Any], pattern: str) -> None:
    given, written = case.given(), case.written()
    _check_same_lines(case.checks, matching(given), written)
    buckets = _buckets(given.count(), SAMPLE_LINES)
    searched = _line_counts(given, buckets, case.seed)
    found = _line_counts(written, buckets, case.seed)
    search = re.compile(pattern).search
    expected = Counter({line: many for line, many in searched.items() if search(line)})
    wrong = sorted(line for line in expected | found if expected[line] != found[line])
    case.checks.add(
        "reference",
        not wrong,
        f"{searched.total():,} lines searched in Python, {expected.total():,} match"
        + _examples(wrong),
    )


def _ngram(case: Case) -> None:
    f = spark.functions()
    n, minimum = case.parameters["n"], case.parameters["minimum"]
    given = case.given()
    written = case.written()
    value = f.col("value")

    formed = written.filter(value.rlike("^[0-9]{1,18}\t."))
    count = f.substring_index(value, "\t", 1).cast("bigint")
    phrase = f.substr(value, f.instr(value, "\t") + 1)
    listed = formed.select(phrase.alias("phrase"), count.alias("count"))
    rare = f.sum((f.col("count") < minimum).cast("int"))
    figures = listed.agg(f.count("*").alias("lines"), rare.alias("rare")).first()
    case.checks.equal("format", "lines without a count", 0, written.count() - figures["lines"])
    case.checks.equal("minimum", f"phrases with a count below {minimum}", 0, figures["rare"] or 0)
    _check_order(
        case.checks, formed, f.struct((-count).alias("fewer"), phrase.alias("phrase")), True
    )

    # Phrases are chosen before they are counted, so that the counting needs one shuffle of a part.
    size = given.agg(f.count("*").alias("lines"), f.sum(f.octet_length(value)).alias("bytes"))
    figures = size.first()
    buckets = _buckets(figures["bytes"] or 0, RECOUNTED_BYTES)
    chosen = ngram.phrases(given, n).filter(_chosen(f.col("phrase"), buckets, case.seed))
    recounted = ngram.counts(chosen).filter(f.col("count") >= minimum)
    of_output = listed.filter(_chosen(f.col("phrase"), buckets, case.seed))
    case.checks.equal(
        "recount",
        f"checksum of the frequent ones of 1/{buckets} of all phrases",
        _shown(_checksum(recounted, "phrase", "count")),
        _shown(_checksum(of_output, "phrase", "count")),
    )

    buckets = _buckets(figures["lines"], SAMPLE_LINES)
    sample = given.filter(_chosen(value, buckets, case.seed))
    expected = _phrases_of(_line_counts(given, buckets, case.seed), n)
    rows = ngram.counts(ngram.phrases(sample, n)).collect()
    found = Counter({row["phrase"]: row["count"] for row in rows})
    wrong = sorted(phrase for phrase in expected | found if expected[phrase] != found[phrase])
    case.checks.add(
        "reference",
        not wrong,
        f"{expected.total():,} phrases counted in Python, {len(expected):,} different"
        + _examples(wrong),
    )
    if buckets == 1:
        frequent = {phrase: many for phrase, many in expected.items() if many >= minimum}
        output_rows = {row["phrase"]: row["count"] for row in listed.collect()}
        case.checks.add(
            "output against reference",
            frequent == output_rows,
            f"{len(output_rows):,} phrases, {len(frequent):,} expected",
        )


def _phrases_of(lines: Counter[str], n: int) -> Counter[str]:
    """The phrases of lines, by a plain count."""
    found: Counter[str] = Counter()
    for line, times in lines.items():
        words = re.findall(text.WORD, line.lower())
        for start in range(len(words) - n + 1):
            found[" ".join(words[start : start + n])] += times
    return found


def _webindex(case: Case) -> None:
    f = spark.functions()
    window = spark.window()
    reader = case.session.read.schema(webindex.SCHEMA)
    if case.parameters["format"] == "json":
        written = reader.json([case.output], lineSep="\n")
    else:
        written = reader.parquet(case.output)
    whole = written.dropna()
    positions = f.col("positions")
    distinct = f.array_sort(f.array_distinct(positions)) == positions
    good = (f.size(positions) == f.col("tf")) & distinct & (f.col("tf") > 0)
    figures = whole.agg(
        f.count("*").alias("rows"), f.sum((~good).cast("int")).alias("misplaced")
    ).first()
    case.checks.equal("format", "rows without a value", 0, written.count() - figures["rows"])
    case.checks.equal("positions", "rows with wrong positions", 0, figures["misplaced"] or 0)
    key = f.struct("word", "rank")
    _check_order(case.checks, written.filter(f.col("word").isNotNull()), key, True, across=False)

    # The rank before the first one is 0, and the score before it is without bound.
    ranks = window.partitionBy("word").orderBy("rank")
    jumps = f.col("rank") != f.lag("rank", 1, 0).over(ranks) + 1
    rises = f.col("score") > f.lag("score").over(ranks) * (1 + TOLERANCE)
    compared = whole.select(jumps.alias("jumps"), f.coalesce(rises, f.lit(False)).alias("rises"))
    figures = compared.agg(
        f.sum(f.col("jumps").cast("int")).alias("jumps"),
        f.sum(f.col("rises").cast("int")).alias("rises"),
    ).first()
    case.checks.equal("ranks", "rows whose rank does not follow", 0, figures["jumps"] or 0)
    case.checks.equal(
        "scores", "rows with a score above the previous rank's", 0, figures["rises"] or 0
    )

    corpus = webindex.pages(case.session, case.inputs)
    lengths = webindex.tokenised(corpus).select("url", f.size("words").cast("bigint").alias("n"))
    totals = whole.groupBy("url").agg(f.sum("tf").cast("bigint").alias("n"))
    case.checks.equal(
        "words",
        "checksum of the pages' numbers of words",
        _shown(_checksum(lengths.filter(f.col("n") > 0), "url", "n")),
        _shown(_checksum(totals, "url", "n")),
    )
    _check_queries(case.checks, corpus, whole, case.seed)


def _check_queries(checks: Checks, corpus: Any, index: Any, seed: int) -> None:
    """Looks words up in an index and compares with a scan of pages in Python."""
    f = spark.functions()
    number = corpus.count()
    buckets = _buckets(number, SAMPLE_PAGES)
    rows = corpus.filter(_chosen(f.col("url"), buckets, seed)).collect()
    pages = {row["url"]: words_of_page(row["html"]) for row in rows}

    # Half of the words come from the index, half from the pages: the index may lack some.
    order = f.xxhash64("word", f.lit(seed))
    from_index = index.select("word").distinct().orderBy(order, "word").limit(QUERIES // 2)
    queries = {row["word"] for row in from_index.collect()}
    others = sorted({word for words in pages.values() for word in words} - queries)
    many = min(QUERIES - len(queries), len(others))
    queries.update(random.Random(seed).sample(others, many))  # noqa: S311 - a sample

    of_queries = index.filter(f.col("word").isin(sorted(queries)))
    with_word = {row["word"]: row["count"] for row in of_queries.groupBy("word").count().collect()}
    postings = of_queries.filter(_chosen(f.col("url"), buckets, seed)).collect()
    found = {(row["word"], row["url"]): (list(row["positions"]), row["score"]) for row in postings}

    expected: dict[tuple[str, str], tuple[list[int], float]] = {}
    for url, words in pages.items():
        places: dict[str, list[int]] = {}
        for place, word in enumerate(words):
            if word in queries:
                places.setdefault(word, []).append(place)
        for word, at in places.items():
            idf = math.log(1 + number / max(with_word.get(word, 0), 1))
            score = (1 + math.log(len(at))) / math.sqrt(len(words)) * idf
            expected[word, url] = (at, score)
    wrong = sorted(
        key
        for key in expected.keys() | found.keys()
        if key not in expected or key not in found or not _same(expected[key], found[key])
    )
    checks.add(
        "queries",
        not wrong and len(postings) == len(found),
        f"{len(queries)} words in {len(pages):,} pages: {len(expected):,} postings"
        + _examples([f"{word} in {url}" for word, url in wrong]),
    )


def _same(expected: tuple[list[int], float], found: tuple[list[int], float]) -> bool:
    return expected[0] == found[0] and math.isclose(expected[1], found[1], rel_tol=TOLERANCE)


def words_of_page(html: str) -> list[str]:
    """The words of a page, by plain Python."""
    plain = re.sub(webindex.MARKUP, " ", html)
    plain = re.sub(f"&({webindex.ENTITY});", _character, plain)
    return re.findall(text.WORD, plain.lower())


def _character(entity: re.Match[str]) -> str:
    name = entity[1]
    if name[0] != "#":
        return chr(name2codepoint[name]) if name in name2codepoint else entity[0]
    code = int(name[2:], 16) if name[1] in "xX" else int(name[1:])
    return chr(code) if 0 < code < 0xD800 or 0xE000 <= code <= 0xFFFD else " "


_VERIFIERS: dict[str, Callable[..., None]] = {
    "randomwriter": _randomwriter,
    "identity": _identity,
    "sort": _sort,
    "grep-simple": _grep_simple,
    "grep-complex": _grep_complex,
    "ngram": _ngram,
    "webindex": _webindex,
}


def _check_same_lines(checks: Checks, expected: Any, found: Any) -> None:
    checks.equal(
        "checksum", "lines", _shown(_checksum(expected, "value")), _shown(_checksum(found, "value"))
    )


def _checksum(frame: Any, *columns: str) -> Checksum:
    f = spark.functions()
    hashes = f.sum(f.xxhash64(*columns).cast("decimal(20,0)"))
    found = frame.agg(f.count("*").alias("rows"), hashes.alias("sum")).first()
    return found["rows"], int(found["sum"] or 0)


def _shown(checksum: Checksum) -> str:
    rows, total = checksum
    return f"{rows:,} rows, sum of hashes {total}"


def _check_order(
    checks: Checks, rows: Any, key: Any, strict: bool = False, across: bool = True
) -> None:
    """Checks that the keys of rows as they are read from files increase.

    Rows are compared within each split of a file by position, and splits by their least and largest
    keys, in the order of files by name. Equal keys are an error if `strict`. If not `across`, files
    are not compared with each other.
    """
    f = spark.functions()
    placed = rows.select(
        key.alias("key"),
        f.col("_metadata.file_path").alias("file"),
        f.col("_metadata.file_block_start").alias("start"),
        f.monotonically_increasing_id().alias("at"),
    )
    before = f.lag("key").over(spark.window().partitionBy("file", "start").orderBy("at"))
    compared = placed.withColumn("before", before)
    falls = f.col("before") >= f.col("key") if strict else f.col("before") > f.col("key")
    splits = compared.groupBy("file", "start").agg(
        f.sum(falls.cast("int")).alias("falls"),
        f.min("key").alias("low"),
        f.max("key").alias("high"),
    )
    found = sorted(splits.collect(), key=itemgetter("file", "start"))
    wrong = [
        f"{row['falls']} rows in {_name(row['file'])} sort before their predecessors"
        for row in found
        if row["falls"]
    ]
    for one, other in pairwise(found):
        overlap = one["high"] >= other["low"] if strict else one["high"] > other["low"]
        if overlap and (across or one["file"] == other["file"]):
            names = f"{_name(one['file'])} and {_name(other['file'])}"
            wrong.append(f"the keys of {names} overlap")
    files = len({row["file"] for row in found})
    checks.add("order", not wrong, f"{files} files" + _examples(wrong))


def _name(file: str) -> str:
    return file.rpartition("/")[2]


def _line_counts(lines: Any, buckets: int, seed: int) -> Counter[str]:
    """The lines of a sample, each with the number of its occurrences."""
    f = spark.functions()
    chosen = lines.filter(_chosen(f.col("value"), buckets, seed))
    return Counter(
        {row["value"]: row["count"] for row in chosen.groupBy("value").count().collect()}
    )


def _buckets(size: int, sample: int) -> int:
    """The number of buckets by hash, one of them being a sample of this size."""
    return max(1, -(-size // sample))


def _chosen(column: Any, buckets: int, seed: int) -> Any:
    """Whether a value is in the bucket that is the sample."""
    f = spark.functions()
    return f.pmod(f.xxhash64(column, f.lit(seed)), f.lit(buckets)) == 0


def _examples(wrong: list[str]) -> str:
    """The number of what is wrong, and the first three."""
    if not wrong:
        return ""
    shown = ", ".join(repr(one[:100]) for one in wrong[:3])
    return f"; {len(wrong):,} wrong: {shown}"
