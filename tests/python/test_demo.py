"""`gordon demo`: what a stranger sees first."""

from conftest import Run


def test_it_shows_the_job_and_the_machines_for_it(run: Run) -> None:
    ran = run("demo")
    assert ran.status == 0, ran.err
    assert "5 stages, 11 tasks" in ran.out
    assert "Cheapest within 10% of the fastest" in ran.out
    assert ran.out.index("stage ") < ran.out.index("cluster ")
    for words in ("$ gordon trace show spark-sort", "$ gordon survey spark-sort --space ec2"):
        assert words in ran.err
