"""An agent without a model and without a list of changes: it measures the phase, and tries what each answer proposes.

    agent.py path/to/ncugate config.toml source.cu [speedup]

Ends with status 0 if within two calls a kernel is accepted that is at least this much (2) faster than the start at every timed shape.
"""

import json
import subprocess
import sys
import time

binary, config, source = sys.argv[1:4]
SPEEDUP = float(sys.argv[4]) if len(sys.argv) > 4 else 2.0
CALLS = 2

server = subprocess.Popen([binary, "agent", "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
requests = 0
calls = 0


def ask(method, params):
    global requests
    requests += 1
    server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": requests, "method": method, "params": params}) + "\n")
    server.stdin.flush()
    return json.loads(server.stdout.readline())


def call(tool, **arguments):
    global calls
    calls += 1
    started = time.time()
    result = ask("tools/call", {"name": tool, "arguments": arguments})["result"]["structuredContent"]
    print(f"{calls}. {tool} {arguments}: {result['outcome']}, {time.time() - started:.1f} s")
    if result["answer"] is None:
        sys.exit(result["stderr"] or "the call has no answer")
    print(f"   {json.dumps(result['answer'])}")
    return result["answer"]


ask("initialize", {"protocolVersion": "2025-11-25"})
measured = call("run", config=config)
# The best variant of the sweep first, then the neighbours of the best so far.
queue = [(measured["params"], f"the best of the sweep, {measured['selected']}")]
total = {}
while queue and calls < CALLS:
    params, idea = queue.pop(0)
    tried = call("try", config=config, source=source, params=params, idea=idea)
    if tried["accepted"]:
        for shape, speedup in tried["speedup"].items():
            total[shape] = total.get(shape, 1.0) * (speedup or 0.0)
        queue = [(point["params"], "a neighbour of the best") for point in tried["proposals"]]
print(f"{calls} calls, {requests} requests; speedup over the start: {({shape: round(value, 2) for shape, value in total.items()})}")
server.stdin.close()
sys.exit(0 if total and min(total.values()) >= SPEEDUP else 1)
