"""WebIndex: an inverted index of web pages with positions and ranks.

The input has a JSON object `{"url": ..., "html": ...}` on each line; URLs are unique. The output
has a row for each word of each page, in the order of words and ranks:

    {"word": "flash", "rank": 1, "url": "...", "tf": 3, "score": 0.71, "positions": [4, 9, 17]}

`positions` are the places of the word among the words of the page, from 0, and `tf` is their
number. The score is tf-idf with the length of the page:

    score = (1 + ln tf) / sqrt(words of the page) * ln(1 + pages / pages with the word)

Pages of one word are ranked by it, and by their URL where it is equal. A row for each page keeps
the memory that a frequent word needs independent of the number of pages.

Markup is removed by rule, not by a parser: comments, scripts and style sheets with their content,
then tags. Entities are decoded if they are numbers of the Basic Multilingual Plane or names of
HTML 4. Words are those of `gordon.workload.text.WORD`.
"""

from html.entities import name2codepoint
from typing import Any

from gordon.run.report import Parameters
from gordon.workload import spark, text


def _any_case(name: str) -> str:
    return "".join(f"[{letter}{letter.upper()}]" for letter in name)


def _element(name: str) -> str:
    """An element with its content, to its first end tag."""
    any_case = _any_case(name)
    return rf"<{any_case}(?=[ \t\r\n\f/>])[^>]*>[\s\S]*?</{any_case}[ \t\r\n\f]*>"


#: Text that is replaced by a space.
MARKUP = rf"<!--[\s\S]*?-->|{_element('script')}|{_element('style')}|</?[A-Za-z!?][^>]*>"

#: The name of an entity, without `&` and `;`.
ENTITY = r"(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,30})"

SCHEMA = "word STRING, rank BIGINT, url STRING, tf BIGINT, score DOUBLE, positions ARRAY<INT>"


def run(session: Any, inputs: list[str], output: str, parameters: Parameters) -> dict[str, int]:
    """Writes the index of the pages."""
    corpus = pages(session, inputs)
    number = corpus.count()
    writer = index(corpus, number).write
    if parameters["format"] == "json":
        writer.json(output, compression="none")
    else:
        writer.parquet(output, compression="none")
    return {"pages": number}


def pages(session: Any, inputs: list[str]) -> Any:
    """The pages as a DataFrame with the columns `url` and `html`."""
    reader = session.read.schema("url STRING, html STRING")
    return reader.json(inputs, lineSep="\n").dropna()


def index(corpus: Any, number: int) -> Any:
    """The postings of all words, ranked, of a corpus with this number of pages."""
    f = spark.functions()
    window = spark.window()
    with_words = tokenised(corpus).withColumn("length", f.size("words"))
    occurrences = with_words.select("url", "length", f.posexplode("words").alias("at", "word"))
    postings = occurrences.groupBy("word", "url", "length").agg(
        f.sort_array(f.collect_list("at")).alias("positions")
    )
    tf = f.size("positions").cast("bigint")
    weight = (1 + f.log(tf)) / f.sqrt("length")
    weighed = postings.select("word", "url", tf.alias("tf"), weight.alias("weight"), "positions")
    # One window serves both: the weight orders the pages of a word as the score does.
    ranked = window.partitionBy("word").orderBy(f.col("weight").desc(), "url")
    whole = ranked.rowsBetween(window.unboundedPreceding, window.unboundedFollowing)
    idf = f.log(1 + f.lit(float(number)) / f.count("*").over(whole))
    return weighed.select(
        "word",
        f.row_number().over(ranked).cast("bigint").alias("rank"),
        "url",
        "tf",
        (f.col("weight") * idf).alias("score"),
        "positions",
    )


def tokenised(corpus: Any) -> Any:
    """The words of each page, in the columns `url` and `words`."""
    f = spark.functions()
    plain = corpus.select("url", f.regexp_replace("html", MARKUP, " ").alias("text"))
    return plain.select("url", text.words(_decoded(f.col("text"))).alias("words"))


def _decoded(column: Any) -> Any:
    """Text with its entities replaced by their characters."""
    f = spark.functions()
    known = f.create_map(
        *[f.lit(part) for name, code in name2codepoint.items() for part in (name, chr(code))]
    )

    def tail(piece: Any, number: Any) -> Any:
        """A piece of text behind an `&`: an entity, `;`, and other text. The first piece has no
        entity."""
        name = f.substring_index(piece, ";", 1)
        rest = f.substr(piece, f.length(name) + 2)
        character = f.when(piece.startswith("#"), _numbered(name)).otherwise(known[name])
        decoded = f.coalesce(character, f.concat(f.lit("&"), name, f.lit(";")))
        return f.when(number == 0, piece).otherwise(f.concat(decoded, rest))

    pieces = f.split(column, f"&(?={ENTITY};)")
    joined = f.array_join(f.transform(pieces, tail), "")
    return f.when(column.contains("&"), joined).otherwise(column)


def _numbered(name: Any) -> Any:
    """The character of `#233` or `#xE9`; a space if it is outside the plane or a surrogate."""
    f = spark.functions()
    hexadecimal = f.lower(f.substring(name, 2, 1)) == "x"
    digits = f.when(hexadecimal, f.conv(f.substring(name, 3, 6), 16, 10)).otherwise(
        f.conv(f.substring(name, 2, 7), 10, 10)
    )
    code = digits.cast("int")
    inside = code.between(1, 0xD7FF) | code.between(0xE000, 0xFFFD)
    character = f.decode(f.unhex(f.lpad(f.hex(code), 4, "0")), "UTF-16BE")
    return f.when(inside, character).otherwise(" ")
