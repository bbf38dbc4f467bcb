"""SASS, source lines, samples and rules of a report, compared with NVIDIA's `ncu_report`."""

import collections
import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

import ncugate

ROOT = pathlib.Path(__file__).resolve().parents[2]
REPORTS = [ROOT / "tests/data/source.ncu-rep.zst", ROOT / "tests/data/full1.ncu-rep.zst"]
STATE = "smsp__pcsamp_warps_issue_stalled_"

NVIDIAS = """
import json, re, sys
import ncu_report

launches = []
for action in ncu_report.load_report(sys.argv[1]).range_by_idx(0):
    def instances(name):
        metric = action.metric_by_name(name)
        ids = metric.correlation_ids()
        return {ids.as_uint64(i): metric.as_uint64(i) for i in range(metric.num_instances())}
    executed = instances("inst_executed")
    states = [name for name in action.metric_names() if name.startswith(sys.argv[2]) and not name.endswith("_not_issued")]
    states = {name: instances(name) for name in states}
    code = []
    first = min(executed)
    for address in sorted({*executed, *(address for counts in states.values() for address in counts)}):
        place = action.source_info(address)
        file, line = (place.file_name().rpartition("/")[2], place.line()) if place else (None, None)
        stalls = {name[len(sys.argv[2]):]: counts.get(address, 0) for name, counts in states.items()}
        # targets of branches are addresses in memory
        text = re.sub("0x[0-9a-f]{9,}", lambda target: hex(int(target[0], 16) - first), action.sass_by_pc(address))
        code.append([file, line, " ".join(text.split()), executed.get(address, 0), stalls])
    files = {name: len(text.splitlines()) for name, text in action.source_files().items() if text}
    launches.append({"files": files, "code": code, "rules": action.rule_results_as_dicts()})
print(json.dumps(launches))
"""


@pytest.fixture(scope="module", params=REPORTS, ids=lambda path: path.name)
def both(request, tmp_path_factory):
    """A report, and each of its launches as `ncu_report` reads it."""
    python = os.environ.get("NCUGATE_ORACLE_PYTHON")
    if not python or shutil.which("zstd") is None:
        pytest.skip("NCUGATE_ORACLE_PYTHON names no Python with ncu_report, or zstd is missing")
    report = tmp_path_factory.mktemp("report") / "report.ncu-rep"
    subprocess.run(["zstd", "-dqo", str(report), str(request.param)], check=True)
    said = subprocess.run([python, "-c", NVIDIAS, str(report), STATE], check=True, stdout=subprocess.PIPE, text=True).stdout
    return report, json.loads(said)


def test_the_messages_of_rules_are_those_of_nvidia(both):
    report, launches = both
    said = re.split(r"^\S.*  launch \d+  .*$", ncugate.read_rules(report), flags=re.MULTILINE)[1:]
    assert len(said) == len(launches)
    for text, launch in zip(said, launches):
        assert len(launch["rules"]) > 5
        for rule in launch["rules"]:
            message = rule["rule_message"]
            # links are `@url:text:address@` and `@section:name:text@`
            plain = re.sub(r"@url:([^:@]*):[^@]*@|@section:[^:@]*:([^@]*)@", r"\1\2", message["message"])
            assert f"  {rule['section_identifier']}: {message['title'] or rule['name']}" in text
            assert " ".join(plain.split()) in " ".join(text.split())


def test_executions_and_samples_of_lines_are_those_of_nvidia(both):
    report, launches = both
    if not any(launch["files"] for launch in launches):
        pytest.skip("a report without its source has no lines to show")
    executed, samples, found = (collections.Counter() for _ in range(3))
    for number, launch in enumerate(launches):
        for file, line, _, count, stalls in launch["code"]:
            if count:
                executed[number, file, line] += count
            samples.update({(number, place, state): count for state, count in stalls.items() for place in ((file, line), (None, None)) if count})
    lines = ncugate.read_detail(report, "metrics", "inst_executed")
    assert {(row["launch"], row["file"], row["line"]): row["inst_executed"] for row in lines} == dict(executed)
    for row in ncugate.read_detail(report, "stalls"):
        found[row["launch"], (row["file"], row["line"]), row["state"]] += row["samples"]
    assert found == samples and sum(samples.values()) > 0
    sources = [(row["name"], row["lines"]) for row in ncugate.read_detail(report, "sources") if row["kind"] == "source"]
    assert set(sources) == {(name, count) for launch in launches for name, count in launch["files"].items()}


def test_instructions_are_those_of_nvidia(both, monkeypatch):
    report, launches = both
    triton = pathlib.Path(os.environ.get("NCUGATE_TEST_TRITON", "")).parents[1:2]
    beside = [str(path.parent) for folder in triton for path in folder.glob("lib/*/site-packages/triton/backends/nvidia/bin/nvdisasm")]
    monkeypatch.setenv("PATH", os.pathsep.join([*beside, os.environ["PATH"]]))
    if shutil.which("nvdisasm") is None:
        pytest.skip("nvdisasm is missing; NCUGATE_TEST_TRITON names a Python with Triton, which has one")
    rows = ncugate.read_detail(report, "disasm")
    for number, launch in enumerate(launches):
        own = [row for row in rows if row["launch"] == number and (row["executed"] or row["samples"])]
        # ncu leaves out hints for the cache of operands
        texts = [" ".join(row["instruction"].replace(".reuse", "").split()) for row in own]
        ours = [(row["file"], row["line"], text, row["executed"] or 0, row["samples"] or 0) for row, text in zip(own, texts)]
        nvidias = [(file, line, text, count, sum(stalls.values())) for file, line, text, count, stalls in launch["code"]]
        assert ours == [row for row in nvidias if row[-2] or row[-1]] and len(ours) > 5
