"""The pytest plugin, in separate pytest processes."""

import pathlib
import re

import pytest

pytest_plugins = ["pytester"]
ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/how-to/use-from-python.md").read_text()


def project(pytester, **ini):
    """A project with the phase softmax and its recording; the recording fails a gate."""
    (pytester.path / "kernels").symlink_to(ROOT / "kernels")
    (pytester.path / "profiles").symlink_to(ROOT / "profiles")
    (pytester.path / "ncugate.toml").write_text("")
    (pytester.path / "phases").mkdir()
    for phase in ("softmax", "cheats"):
        (pytester.path / "phases" / f"{phase}.toml").write_text((ROOT / f"configs/{phase}.toml").read_text())
    lines = "".join(f"{name} = {value}\n" for name, value in ini.items())
    pytester.makeini(f"[pytest]\naddopts = -p no:cacheprovider\n{lines}")


def test_each_gate_of_a_phase_is_a_test(pytester):
    project(pytester, ncugate_phases="phases/*.toml", ncugate_source="recorded")
    ran = pytester.runpytest_subprocess("-v", "-rx", "phases/softmax.toml")
    ran.assert_outcomes(failed=2, passed=2)
    lines = ["*softmax.toml::verdict FAILED*", "*softmax.toml::no slower than plain FAILED*", "*softmax.toml::no spills PASSED*"]
    ran.stdout.fnmatch_lines([*lines, "*softmax.toml::memory bound PASSED*"])
    ran.stdout.fnmatch_lines(["softmax: fail (required)  no slower than plain: *"])
    collected = pytester.runpytest_subprocess("--collect-only", "-q")
    collected.stdout.fnmatch_lines_random(["*cheats.toml::verdict", "*softmax.toml::memory bound"])


def test_the_project_of_the_documentation_has_a_test_for_each_gate(pytester):
    project(pytester)
    ini, test = (re.search(rf"^```{begin}.*?(?=^```)", PAGE, re.MULTILINE | re.DOTALL)[0] for begin in (r"ini\n", r"python\ndef test_"))
    pytester.makeini(ini.split("\n", 1)[1])
    (pytester.path / "softmax.toml").write_text((ROOT / "configs/softmax.toml").read_text())
    pytester.makepyfile(test.split("\n", 1)[1])
    ran = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-v", "-rs")
    if "no GPU to measure on" not in ran.stdout.str():
        pytest.skip("this machine has a GPU")
    ran.stdout.fnmatch_lines_random(["*::test_softmax SKIPPED*", "*softmax.toml::memory bound SKIPPED*", "*cheats.toml::verdict SKIPPED*"])
    assert set(ran.parseoutcomes()) == {"skipped"}


def test_a_phase_is_judged_once_a_session(pytester):
    project(pytester, ncugate_source="recorded")
    pytester.makeconftest(
        """
        import ncugate.pytest_plugin as plugin
        calls, run = [], plugin.run
        plugin.run = lambda *given, **named: calls.append(given) or run(*given, **named)

        def pytest_unconfigure():
            print("calls", len(calls))
        """
    )
    pytester.makepyfile("def test_phase(ncugate_gate):\n    ncugate_gate('phases/softmax.toml', source='recorded')")
    ran = pytester.runpytest_subprocess("-s", "phases/softmax.toml", "test_a_phase_is_judged_once_a_session.py")
    ran.assert_outcomes(failed=3, passed=2)
    ran.stdout.fnmatch_lines(["calls 1"])


@pytest.mark.parametrize("choice, outcome", [("fail", {"failed": 5}), ("skip", {"skipped": 5})])
def test_without_a_gpu_a_phase_fails_or_is_skipped(pytester, choice, outcome):
    project(pytester, ncugate_without_gpu=choice)
    pytester.makepyfile("def test_phase(ncugate_gate):\n    ncugate_gate('phases/softmax.toml', source='gpu')")
    ran = pytester.runpytest_subprocess("-rs", "test_without_a_gpu_a_phase_fails_or_is_skipped.py", "phases/softmax.toml")
    if "no GPU to measure on" not in ran.stdout.str():
        pytest.skip("this machine has a GPU")
    # the advisory gate is an expected failure
    ran.assert_outcomes(**(outcome if choice == "skip" else {"failed": 4, "xfailed": 1}))
    ran.stdout.fnmatch_lines(["*libcuda.so.1*was not found*"])


def test_paths_of_the_fixture_are_relative_to_the_test(pytester):
    project(pytester)
    (pytester.path / "tests").mkdir()
    body = "def test_phase(ncugate_gate):\n    ncugate_gate('../phases/softmax.toml', source='recorded', reports='out')"
    (pytester.path / "tests" / "test_phase.py").write_text(body)
    ran = pytester.runpytest_subprocess()
    ran.assert_outcomes(failed=1)
    ran.stdout.fnmatch_lines(["softmax: fail: *Required gate*", "*fail (required)  no slower than plain: *"])
    assert (pytester.path / "tests" / "out" / "softmax").is_dir()


def test_an_error_of_the_program_has_its_message_and_no_source(pytester):
    project(pytester)
    pytester.makepyfile("def test_phase(ncugate_gate):\n    ncugate_gate('absent.toml')")
    (pytester.path / "phases" / "bad.toml").write_text("[phase]\nname = 3\n")
    ran = pytester.runpytest_subprocess("test_an_error_of_the_program_has_its_message_and_no_source.py", "phases/bad.toml")
    ran.assert_outcomes(failed=2)
    ran.stdout.fnmatch_lines(["absent.toml: status 2", "error: cannot read the phase: *", "*phase.name*"])
    ran.stdout.no_fnmatch_line("*_result.py*")


def test_an_unknown_choice_is_an_error(pytester):
    project(pytester, ncugate_without_gpu="ignore")
    assert "it is one of fail, skip" in pytester.runpytest_subprocess().stderr.str()
