"""`ncugate-mcp` as a client of the official SDK meets it."""

import json
import os
import pathlib
import subprocess
import sys
import time

import pytest

pytest.importorskip("mcp", reason="the server needs `pip install ncugate[mcp]`")

import anyio  # noqa: E402
from mcp import Client, MCPError, StdioServerParameters  # noqa: E402

import ncugate  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUN = "profiles/softmax/h200"


def served(folder, act, **environment):
    """Runs `act` with a client of the server in a folder."""
    package = str(pathlib.Path(ncugate.__file__).parents[1])
    variables = {**os.environ, "PYTHONPATH": package, "NCUGATE_BINARY": str(ncugate.binary()), **environment}
    server = StdioServerParameters(command=sys.executable, args=["-m", "ncugate._mcp"], cwd=str(folder), env=variables)

    async def run():
        async with Client(server) as client:
            return await act(client)

    return anyio.run(run)


def test_the_script_is_installed_with_the_package():
    script = pathlib.Path(sys.executable).with_name("ncugate-mcp")
    ended = subprocess.run([script], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout) == (0, ""), ended.stderr


def test_tools_are_those_of_the_program():
    listed = json.loads(subprocess.run([ncugate.binary(), "agent", "tools"], check=True, stdout=subprocess.PIPE).stdout)

    async def act(client):
        return (await client.list_tools()).tools

    tools = served(ROOT, act)
    assert [tool.name for tool in tools] == [tool["name"] for tool in listed]
    assert all(tool.output_schema and tool.input_schema == own["inputSchema"] for tool, own in zip(tools, listed))


def test_a_call_has_the_answer_and_the_status_of_its_command():
    async def act(client):
        return [await client.call_tool("next", {"run": RUN}), await client.call_tool("next", {"run": "nowhere"})]

    advised, failed = served(ROOT, act)
    assert not advised.is_error and advised.structured_content["status"] == 0
    assert advised.structured_content["answer"]["verdict"] in ("pass", "fail", "inconclusive")
    assert failed.is_error and failed.structured_content["status"] == 2


@pytest.mark.parametrize(
    "tool, arguments, said",
    [
        ("next", {"run": "../.."}, "outside the working directory"),
        ("check", {"config": "/etc/passwd"}, "outside the working directory"),
        ("show", {"path": "*.ncu-rep"}, "is a pattern"),
        ("try", {"config": "--profiles=/", "source": "k.cu"}, "does not begin with `-`"),
        ("worker", {}, "unknown tool"),
        ("--help", {}, "unknown tool"),
    ],
)
def test_the_program_refuses_arguments_that_lead_elsewhere(tool, arguments, said):
    async def act(client):
        with pytest.raises(MCPError) as refused:
            await client.call_tool(tool, arguments)
        return str(refused.value)

    assert said in served(ROOT, act)


def test_a_cancelled_call_ends_its_process_while_others_are_answered(tmp_path):
    nvcc = tmp_path / "bin" / "nvcc"
    nvcc.parent.mkdir()
    nvcc.write_text("#!/bin/sh\n[ \"$1\" = --version ] && echo 'release 13.0, V13.0.88' && exit\necho $$ > started\nexec sleep 60\n")
    nvcc.chmod(0o755)
    (tmp_path / "ncugate.toml").write_text("")
    (tmp_path / "copy.cu").write_text('extern "C" __global__ void copy() {}\n')
    variant = '[[variant]]\nname = "copy"\nparams = { THREADS = 128 }\n'
    gate = '[[gate]]\nname = "latency"\nrequire = "latency_p50 <= 10.5"\n'
    (tmp_path / "phase.toml").write_text((ROOT / "tests/data/copy.toml").read_text() + variant + gate)

    async def act(client):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, "check", {"config": "phase.toml"})
            with anyio.fail_after(60):
                while not (tmp_path / "started").exists() or not (tmp_path / "started").read_text().strip():
                    await anyio.sleep(0.05)
                listed = await client.list_tools()
            tasks.cancel_scope.cancel()
        compiler = pathlib.Path("/proc", (tmp_path / "started").read_text().strip())
        until = time.monotonic() + 20
        while compiler.exists() and time.monotonic() < until:
            await anyio.sleep(0.05)
        return listed.tools, compiler.exists()

    path = f"{nvcc.parent}:/usr/bin:/bin"
    tools, is_left = served(tmp_path, act, PATH=path, NCUGATE_CACHE=str(tmp_path / "cache"), CUDA_VISIBLE_DEVICES="", CUDA_HOME="")
    assert tools and not is_left
