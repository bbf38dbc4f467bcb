"""Tables of autotuners, and the phase of a bucket. Measurements are tests of the program."""

import json

import pytest

from ncugate.verify_tuning import TuningError, phase_of, speedup, standing_of, summary, table_of


def table(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    return table_of(tmp_path / name)


def test_a_cache_of_triton_has_its_fastest_configuration_and_a_runner_up(tmp_path):
    def row(block, warps, time):
        left_out = '"num_ctas": 1, "num_stages": 3, "maxnreg": null, "pre_hook": null, "ir_override": null'
        return f'[{{"kwargs": {{"BLOCK": {block}}}, "num_warps": {warps}, {left_out}}}, {time}]'

    rows = [row(64, 4, "[Infinity, Infinity, Infinity]"), row(128, 4, "[0.2, 0.19, 0.3]"), row(256, 8, "[0.1, 0.1, 0.1]")]
    text = f'{{"key": ["4096", "NaN", "torch.float16"], "configs_timings": [{", ".join(rows)}]}}'
    found = table(tmp_path, "softmax.autotune.json", text)
    [bucket] = found.buckets
    assert (found.format, bucket.key, bucket.extents) == ("triton", "4096, NaN, torch.float16", [4096, None, None])
    assert bucket.pick == {"BLOCK": 256, "num_warps": 8, "num_stages": 3}
    assert bucket.rivals[0].configuration == {"BLOCK": 128, "num_warps": 4, "num_stages": 3}
    for pins, block in (({}, 256), ({bucket.key: bucket.rivals[0].entry}, 128)):
        again = table(tmp_path, "pinned.json", found.pinned(pins)).buckets[0]
        assert (again.pick["BLOCK"], again.rivals, again.key) == (block, [], bucket.key)
    with pytest.raises(TuningError, match="timed"):
        table(tmp_path, "untimed.json", f'{{"key": [], "configs_timings": [{rows[0]}]}}')


def test_a_table_of_vllm_has_its_gpu_and_neighbours_as_rivals(tmp_path):
    text = """{"triton_version": "3.4.0", "64": {"BLOCK_SIZE_M": 64, "num_warps": 4},
        "1": {"BLOCK_SIZE_M": 16, "num_warps": 4}, "2": {"BLOCK_SIZE_M": 16, "num_warps": 4}}"""
    found = table(tmp_path, "E=8,N=7168,device_name=NVIDIA_H200,dtype=fp8_w8a8.json", text)
    assert (found.gpu, [bucket.key for bucket in found.buckets]) == ("NVIDIA_H200", ["1", "2", "64"])
    assert found.is_for("NVIDIA H200") and found.is_for("NVIDIA H200 NVL") and not found.is_for("NVIDIA H20")
    assert found.buckets[0].rivals == [], "its neighbour has the same configuration"
    assert [rival.name for rival in found.buckets[1].rivals] == ["of_bucket_after"]
    pinned = json.loads(found.pinned({"2": found.buckets[1].rivals[0].entry}))
    assert pinned["2"] == pinned["64"]
    assert (pinned["1"]["BLOCK_SIZE_M"], pinned["triton_version"]) == (16, "3.4.0")


def test_a_file_of_flashinfer_has_runner_and_tactic_by_operation(tmp_path):
    text = """{"_metadata": {"gpu": "NVIDIA B200"},
        "('fp4_gemm', 'CudnnFp4GemmRunner', ((4, 7168), (7168, 4608)))": ["CudnnFp4GemmRunner", 3],
        "('moe', 'MoERunner', ((8, 7168), (8, 256)))": ["MoERunner", [8, 34]],
        "('moe', 'MoERunner', ((1, 7168), (1, 256)))": ["MoERunner", -1]}"""
    found = table(tmp_path, "my_configs.json", text)
    assert (found.format, found.gpu) == ("flashinfer", "NVIDIA B200")
    moe = found.buckets[-1]
    assert (moe.extents, moe.pick) == ([8, 7168, 8, 256], {"RUNNER": "MoERunner", "TACTIC": "[8,34]"})
    assert moe.rivals[0].configuration == {"RUNNER": "MoERunner", "TACTIC": -1}
    assert json.loads(found.pinned({moe.key: moe.rivals[0].entry}))[moe.key] == ["MoERunner", -1]


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "[]",
        "x",
        '{"a": 1}',
        '{"64": {"BLOCK": [1]}}',
        '{"64": {"BLOCK": 1}, "2": 3}',
        '{"64": {"BLOCK": 1}, "2": null}',
        "\udc80",
    ],
)
def test_other_files_are_refused(tmp_path, text):
    (tmp_path / "table.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(TuningError):
        table_of(tmp_path / "table.json")


def test_a_row_that_is_no_bucket_is_an_error(tmp_path):
    for text, key in (
        ('{"64": {"BLOCK": 1}, "128 ": {"BLOCK": 2}}', "128 "),
        ('{"64": {"BLOCK": 1}, "default": null}', "default"),
        ("""{"('moe', 'R', ((8, 7),))": ["R", 1], " ('moe', 'R', ((9, 7),))": ["R", 2]}""", " ('moe', 'R', ((9, 7),))"),
    ):
        with pytest.raises(TuningError) as refused:
            table(tmp_path, "table.json", text)
        assert f"table.json: `{key}` is not " in str(refused.value)
    found = table(tmp_path, "table.json", '{"triton_version": "3.4.0", "64": {"BLOCK": NaN}}')
    assert found.buckets[0].pick == {"BLOCK": "NaN"}, "not a parameter that the table leaves out"


PHASE = {
    "phase": {"name": "copy", "recording": "r", "objective_shape": "only"},
    "workload": {"shapes": {"only": {"S": 64}, "other": {"S": 8}}},
    "sweep": {"THREADS": [32, 64]},
    "baseline": [{"name": "usual", "params": {"THREADS": 128}}, {"name": "second"}],
    "gate": [{"require": "correct == 1"}],
}


def test_a_bucket_is_measured_at_its_shape_against_the_default_and_its_neighbour(tmp_path):
    bucket = table(tmp_path, "E=1,N=1,device_name=X.json", '{"256": {"THREADS": 32}, "512": {"THREADS": 64}}').buckets[0]
    made = phase_of(PHASE, bucket, ["S"], "speedup() >= 0.99")
    assert made["variant"] == [{"name": "pick", "params": {"THREADS": 32}}]
    assert made["baseline"] == [PHASE["baseline"][0], {"name": "of_bucket_after", "params": {"THREADS": 64}}]
    assert made["workload"]["shapes"] == {"bucket": {"S": 256}} and "sweep" not in made
    assert [gate["require"] for gate in made["gate"]] == [
        "speedup() >= 0.99",
        'speedup("usual") >= 1',
        'speedup("of_bucket_after") >= 1',
    ]
    assert made["phase"] == {"name": "copy.tuning"}
    for change, dimensions, why in (
        ({"baseline": []}, ["S"], r"\[\[baseline\]\]"),
        ({"workload": {}}, ["S"], "no shape"),
        ({}, ["M"], "no dimension `M`"),
        ({}, ["_", "S"], "no number for `S` at place 2"),
    ):
        with pytest.raises(TuningError, match=why):
            phase_of({**PHASE, **change}, bucket, dimensions, "speedup() >= 1")
    bucket.extents = [256, None, 4096]
    with pytest.raises(TuningError, match="no dimension for 4096 at place 3"):
        phase_of(PHASE, bucket, ["S"], "speedup() >= 1")
    assert phase_of(PHASE, bucket, ["S", "_", "_"], "speedup() >= 1")


def test_runs_that_differ_are_ties_and_a_missing_latency_is_no_result():
    slower, tied = [0.5, 0.4, 0.6], [1.0, 0.9, 1.1]
    assert standing_of([slower, slower]) == ("slower", True)
    assert standing_of([slower, tied]) == ("tied", False)
    assert standing_of([slower, None]) == standing_of([]) == ("unknown", False)
    assert summary([slower, tied, [2.0, 1.9, 2.1]]) == (1.0, 0.4, 2.1) and summary([slower, None]) is None
    same = {"measured": 1.0, "interval": None, "verdict": "pass"}
    assert speedup(same) == [1.0, 1.0, 1.0]
    assert speedup({**same, "verdict": "inconclusive"}) is None and speedup({**same, "measured": 2.0}) is None
