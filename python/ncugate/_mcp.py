"""`ncugate-mcp`: the tools of `ncugate agent` over the Model Context Protocol, on standard input and output.

Arguments, paths and answers are checked by the program. A call is a process; calls run one at a time, and other messages are
answered meanwhile.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from ._binary import binary, output

try:
    import anyio
    import mcp.server.stdio
    from mcp import types
    from mcp.server.lowlevel import Server
    from mcp.shared.exceptions import MCPError
except ImportError as error:
    sys.exit(f"error: {error}; hint: pip install 'ncugate[mcp]'")


def refusal(message: str) -> MCPError:
    """The error of a call that was not made."""
    return MCPError(code=types.INVALID_PARAMS, message=message.strip())


async def called(tool: str, arguments: "dict[str, Any] | None") -> types.CallToolResult:
    """The result of a tool. A cancelled call ends its process."""
    if tool.startswith("-"):
        raise refusal(f"unknown tool `{tool}`")
    command = [str(binary()), "agent", "call", tool]
    process = await anyio.open_process(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    read = {"stdout": b"", "stderr": b""}

    async def drain(name: str) -> None:
        async for part in getattr(process, name):
            read[name] += part

    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(drain, "stdout")
            tasks.start_soon(drain, "stderr")
            await process.stdin.send(json.dumps(arguments or {}).encode())
            await process.stdin.aclose()
            await process.wait()
    finally:
        if process.returncode is None:
            process.terminate()
            with anyio.CancelScope(shield=True):
                await process.wait()
        with anyio.CancelScope(shield=True):
            await process.aclose()
    if not read["stdout"]:
        raise refusal(read["stderr"].decode("utf-8", "replace"))
    return types.CallToolResult.model_validate_json(read["stdout"])


async def serve() -> None:
    """Serves standard input and output until the input ends."""
    tools = [types.Tool.model_validate(tool) for tool in json.loads(output(["agent", "tools"]))]
    version = output(["--version"]).decode().split()[1]
    turn = anyio.Lock()

    async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools)

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        async with turn:
            return await called(params.name, params.arguments)

    server = Server("ncugate", version=version, on_list_tools=list_tools, on_call_tool=call_tool)
    async with mcp.server.stdio.stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def main() -> None:
    """The console script."""
    anyio.run(serve)


if __name__ == "__main__":
    main()
