"""Values that follow from the core's figures: front, named designs, overhead ratio, comparisons."""

import json
from typing import Any

import pytest

from surveyed import of_grid


def test_overhead_ratio_is_fitted_to_the_papers_two_machines() -> None:
    from gordon.parts import Catalogue
    from gordon.power import fit

    parts = Catalogue()
    overhead = parts.get("overhead", "gordon-2009")
    fitted = fit(overhead, parts, "processor")
    node, server = fitted["anchors"]
    # 2.4 + 5.3 + 64 x 0.04 + 2.3 + 1.2, and 2 x (20.8 + 5.3) + 17.
    assert node["parts_w"] == pytest.approx(13.76)
    assert server["parts_w"] == pytest.approx(69.2)
    assert node["ratio"] == pytest.approx(19 / 13.76)
    assert server["ratio"] == pytest.approx(81 / 69.2)
    assert fitted["ratio"] == pytest.approx(1.2585, abs=1e-4)
    # With one memory in each.
    assert fit(overhead, parts, "node")["ratio"] == pytest.approx(1.3194, abs=1e-4)

    def error(ratio: float) -> float:
        return float(sum((ratio * a["parts_w"] / a["total_w"] - 1) ** 2 for a in (node, server)))

    assert error(fitted["ratio"]) < min(error(fitted["ratio"] * k) for k in (0.999, 1.001))
    assert "19 W" in fitted["field"]["assumed"]


def test_active_power_scales_with_f_v_squared() -> None:
    from gordon.parts import Catalogue
    from gordon.power import Design, node

    design: Design = {
        "cpu": "core2",
        "clock": "0.6GHz",
        "cpus": 4,
        "storage": "sata-7200-1tb",
        "count": 2,
    }
    idle, active = node(design, "ddr2-2gib", Catalogue())
    scale = 0.25 * 0.5**2
    assert idle == pytest.approx(4 * 12 + 3 + 2 * 9)
    assert active == pytest.approx(4 * (12 + 8.8 * scale) + 5.3 + 2 * 17)


def test_the_result_has_the_keys_that_others_read(result: dict[str, Any]) -> None:
    assert result["nodes"] == 32
    assert len(result["designs"]) == 84
    for design in result["designs"]:
        assert {"id", "cpu", "cpus", "ghz", "storage", "pareto", "limits"} <= set(design)
        assert {"time_s", "energy_j", "power_w"} <= set(design["sync"])
        assert {"time_s", "energy_j", "power_w"} <= set(design["nosync"])
        assert sum(design["limits"].values()) == pytest.approx(1)
        assert sum(design["energy_by_part_j"].values()) == pytest.approx(design["sync"]["energy_j"])
    ids = {d["id"] for d in result["designs"]}
    assert set(result["named"]) == {
        f"{n}{s}" for n in ("MinP", "MaxE", "MinT") for s in ("", "-disk")
    }
    assert set(result["named"].values()) <= ids
    assert set(result["front"]) == {d["id"] for d in result["designs"] if d["pareto"]}
    base = next(d for d in result["designs"] if d["id"] == "core2-2.4GHz-x4-disk1")
    assert base["relative"] == {"time": 1.0, "energy": 1.0}
    json.dumps(result, allow_nan=False)


def test_named_designs_are_the_extremes(result: dict[str, Any]) -> None:
    rows = {d["id"]: d for d in result["designs"]}
    best = {name: rows[id] for name, id in result["named"].items()}
    disks = [d for d in rows.values() if d["storage"] == "sata-7200-1tb"]
    for suffix, among in (("", list(rows.values())), ("-disk", disks)):
        for name, key in (("MinP", "node_power_w"), ("MaxE", "energy_j"), ("MinT", "time_s")):
            assert best[name + suffix]["sync"][key] == min(d["sync"][key] for d in among)


def test_table_6_of_the_paper_is_compared_with_ours(result: dict[str, Any]) -> None:
    rows = result["table6"]["rows"]
    maxe = next(r for r in rows if r["paper_name"] == "MaxE")
    assert maxe["design"] == "atom-1.9GHz-x1-flash"
    assert maxe["paper"]["sync"]["power_w"] == 4.81
    designs = {d["id"]: d for d in result["designs"]}
    disk = designs[result["named"]["MaxE-disk"]]
    for model in ("sync", "nosync"):
        gain = disk[model]["energy_j"] / designs[maxe["design"]][model]["energy_j"]
        assert maxe["ours"][model]["perf_per_watt_vs_maxe_disk"] == pytest.approx(gain)
    own = {r["design"]: r["ours"]["sync"] for r in rows}
    assert own[result["named"]["MinP-disk"]]["power_vs_minp_disk"] == 1
    assert own[result["named"]["MinT-disk"]]["speedup_vs_mint_disk"] == 1
    assert {*result["front"], *result["named"].values()} <= set(own)


def test_differences_are_explained_with_figures_of_the_result(result: dict[str, Any]) -> None:
    report = " ".join(result["differences"])
    assert "`sh -c dd if=/dev/urandom" in report
    # Table 3's idle powers of the MaxE node: 0.16 + 3 + 64 x 0.003 + 0.16 + 0.7.
    assert "MaxE 2.32 W nosync < 4.21 W" in report
    assert "4.81 W sync <" not in report
    assert "draws 19.9, 45.7 and 106.2 W" in report
    # 92.74 / 106.18.
    assert "falls to 0.87 in the paper" in report
    powers = {d["id"]: d["sync"]["node_power_w"] for d in result["designs"]}
    ours = [f"{powers[f'core2-2.4GHz-x{cpus}-flash']:.1f}" for cpus in (1, 2, 4)]
    assert f"with one memory per processor, it draws {ours[0]}, {ours[1]} and {ours[2]} W" in report
    ratio = powers["core2-1.8GHz-x4-flash"] / powers["core2-2.4GHz-x4-flash"]
    assert f"and to {ratio:.2f} here" in report


def test_sensitivity_scales_energy_and_moves_no_comparison(
    trace: str, result: dict[str, Any]
) -> None:
    from gordon import survey

    plain = result
    other = plain["sensitivity"]["alternatives"][1]
    again = of_grid(
        survey.run(
            [trace],
            space="gordon-2009",
            set=[f"overhead.gordon-2009.ratio={other['ratio']}"],
        )
    )
    assert again["front"] == plain["front"]
    assert again["named"] == plain["named"]
    for name, figures in other["named"].items():
        design = next(d for d in again["designs"] if d["id"] == plain["named"][name])
        assert design["sync"]["energy_j"] == pytest.approx(figures["energy_j"])
        assert design["sync"]["node_power_w"] == pytest.approx(figures["node_power_w"])


def test_copies_of_a_trace_wait_for_each_other_only_if_shifted(
    trace: str, result: dict[str, Any]
) -> None:
    from gordon import survey

    step, worst = (
        of_grid(survey.run([trace], space="gordon-2009", shift=shift)) for shift in (0, 1)
    )
    for marching, near, apart in zip(*(r["designs"] for r in (step, result, worst)), strict=True):
        least = marching["nosync"]["time_s"]
        assert marching["sync"]["time_s"] == pytest.approx(least)
        assert near["nosync"]["time_s"] == apart["nosync"]["time_s"] == pytest.approx(least)
        assert apart["sync"]["time_s"] >= near["sync"]["time_s"] * (1 - 1e-9)
    assert any(d["sync"]["time_s"] > 1.01 * d["nosync"]["time_s"] for d in worst["designs"])


def test_every_number_has_its_address(result: dict[str, Any]) -> None:
    from gordon.parts import KINDS

    own = result["parameters"]
    # No overhead of this space has a power supply.
    assert {p["kind"] for p in own} == {"space", *KINDS} - {"supply"}
    assert all(p["why"] for p in own if p["origin"] != "given")
    # Only what an anchor is called stands for itself.
    assert {p["key"].split(".")[-1] for p in own if p["origin"] == "given"} == {"what"}
    assert any(p["key"] == "ratio" and "19 W" in p["why"] for p in own)
    assert any(p["key"] == "memory_per" and p["value"] == "processor" for p in own)
