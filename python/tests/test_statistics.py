"""Repeats, derived columns and plots of tables."""

import math
import pathlib
import statistics

import pytest

import ncugate
from ncugate import _statistics

ROOT = pathlib.Path(__file__).resolve().parents[2]


def launches():
    """Three launches under each of two annotations, at two sizes."""
    rows = [
        {"annotation": name, "n": n, "run": run, "kernel": f"{name}_kernel", "duration": scale * n + run, "ipc": 1.0}
        for name, scale in (("torch", 10.0), ("mine", 5.0))
        for n in (1, 2)
        for run in range(3)
    ]
    return ncugate.LaunchTable(rows, {"duration": "ns"}, groups=["annotation", "n", "kernel"])


def test_repeats_are_summarised_with_their_spread():
    summary = launches().summary("duration")
    assert len(summary) == 4
    row = summary.rows[0]
    assert (row["annotation"], row["n"], row["metric"], row["unit"]) == ("torch", 1, "duration", "ns")
    assert (row["count"], row["mean"], row["median"], row["std"], row["min"], row["max"]) == (3, 11, 11, 1, 10, 12)
    # Student's t of two degrees of freedom
    assert row["high"] - row["mean"] == row["mean"] - row["low"] == pytest.approx(4.3027 / math.sqrt(3))
    assert {row["metric"] for row in launches().summary()} == {"duration", "ipc"}
    one = ncugate.LaunchTable([{"kernel": "k", "duration": 1.0}, {"kernel": "l", "duration": None}]).summary()
    assert [(row["count"], row["std"], row["low"]) for row in one] == [(1, None, None), (0, None, None)]
    with pytest.raises(KeyError, match="no column 'duratoin'; it has annotation"):
        launches().summary("duratoin")


@pytest.mark.parametrize("degrees, quantile", [(1, 12.706), (5, 2.571), (9, 2.262), (20, 2.086), (1000, 1.962)])
def test_student_is_that_of_the_tables(degrees, quantile):
    assert _statistics.student(degrees) == pytest.approx(quantile, abs=1e-3)


def test_the_interval_covers_the_mean_as_often_as_it_says():
    draw = statistics.NormalDist(100, 10).samples(4000, seed=1)
    sets = [_statistics.summarize(draw[at : at + 4]) for at in range(0, 4000, 4)]
    covered = sum(one["low"] <= 100 <= one["high"] for one in sets) / len(sets)
    assert 0.93 < covered < 0.97


def test_repeats_of_a_recording_are_summarised():
    pytest.importorskip("polars")
    table = ncugate.load_launches(ROOT / "profiles/softmax/h200", "duration")
    summary = table.summary()
    assert {row["unit"] for row in summary} == {"ns"} and sum(row["count"] for row in summary) == len(table)
    assert max(row["count"] for row in summary) > 1


def test_a_derived_column_has_its_unit_and_no_value_for_a_missing_one():
    table = ncugate.LaunchTable([{"bytes": 10.0, "duration": 5.0}, {"bytes": None, "duration": 5.0}, {"bytes": 1.0, "duration": 0.0}])
    more = table.derive("bandwidth", lambda row: row["bytes"] / row["duration"], "byte/ns")
    assert [row["bandwidth"] for row in more] == [2.0, None, None] and more.units == {"bandwidth": "byte/ns"}
    with pytest.raises(KeyError):
        table.derive("x", lambda row: row["byts"])
    with pytest.raises(ValueError, match="has a column 'bytes'"):
        table.derive("bytes", lambda row: 1)


def test_metrics_are_divided_by_those_of_a_reference_in_the_same_configuration():
    table = launches().normalize_against("duration", annotation="torch")
    ratios = {(row["annotation"], row["n"], row["run"]): row["duration_ratio"] for row in table}
    assert ratios["torch", 1, 1] == 1 and ratios["mine", 1, 1] == 6 / 11 and ratios["mine", 2, 1] == 11 / 21
    with pytest.raises(ValueError, match="no row has annotation='jax'"):
        launches().normalize_against(annotation="jax")


def test_a_plot_has_a_line_for_each_group():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    axes = launches().plot(x="n", by="annotation")
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["torch", "mine"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("n", "duration (ns)")
    assert list(axes.containers[1].lines[0].get_ydata()) == [6.0, 11.0]


def test_details_of_a_report_are_tables():
    report = ROOT / "tests/data/source.ncu-rep.zst"
    lines = ncugate.read_detail(report, "metrics")
    assert {"launch", "kernel", "file", "line", "inst_executed"} <= set(lines.columns)
    assert any(row["line"] == 12 and row["inst_executed"] == 128 for row in lines)
    assert {"state", "samples"} <= set(ncugate.read_detail(report, "stalls").columns)
    assert any(row["name"] == "kernels.cu" for row in ncugate.read_detail(report, "sources"))
    assert "SchedulerStats: Issue Slot Utilization" in ncugate.read_rules(ROOT / "tests/data/full1.ncu-rep.zst")
    assert not any(row["share_pct"] is None for row in ncugate.read_detail(report, "stalls")) and "notes" not in lines.columns
    with pytest.raises(ValueError, match="detail is one of sources, metrics, stalls, disasm, not 'rules'"):
        ncugate.read_detail(report, "rules")


@pytest.mark.parametrize("detail, section", [("metrics", "no counter per instruction: .*SourceCounters"), ("stalls", "no warp was sampled")])
def test_a_detail_that_was_not_collected_is_an_error_and_no_empty_table(detail, section):
    with pytest.raises(ncugate.NcugateError, match=section):
        ncugate.read_detail(ROOT / "tests/data/g12.ncu-rep.zst", detail)


def test_a_detail_that_some_launches_lack_is_a_warning(monkeypatch):
    sheets = '[{"launch": 0, "rows": [{"state": "wait"}], "notes": []}, {"launch": 1, "rows": [], "notes": ["no warp was sampled"]}]'
    monkeypatch.setattr("ncugate._table.output", lambda arguments: sheets)
    with pytest.warns(UserWarning, match="x.ncu-rep: no warp was sampled"):
        assert ncugate.read_detail("x.ncu-rep", "stalls").rows == [{"launch": 0, "state": "wait"}]
