"""An agent without a model: it proposes changes from a list, reads the answers of `try`, and keeps accepted changes.

    agent.py path/to/ncugate config.toml folder

Ends with status 0 if the final kernel is at least twice as fast as the first one.
"""

import json
import subprocess
import sys
import time

binary, config, folder = sys.argv[1:4]
# Proposed changes in order: a script has no insight.
MUTATIONS = [{"VEC": 4}, {"THREADS": 256}, {"ROWS_PER_BLOCK": 4}, {"THREADS": 512}]

server = subprocess.Popen([binary, "agent", "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
asked = 0


def ask(method, params):
    global asked
    asked += 1
    server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": asked, "method": method, "params": params}) + "\n")
    server.stdin.flush()
    return json.loads(server.stdout.readline())


ask("initialize", {"protocolVersion": "2025-06-18"})
total = {}
for mutation in MUTATIONS:
    started = time.time()
    arguments = {"config": config, "source": "kernels/softmax/softmax.cu", "idea": f"set {mutation}", "params": mutation}
    answer = ask("tools/call", {"name": "try", "arguments": arguments})
    text = answer["result"]["content"][0]["text"]
    print(f"{mutation} in {time.time() - started:.1f} s, {len(text)} bytes: {text[:700]}")
    if answer["result"]["isError"]:
        sys.exit("the call failed")
    said = json.loads(text)
    with open(f"{said['run']}/manifest.json") as manifest:
        print("  " + ", ".join(f"{stage} {spent:.1f} s" for stage, spent in json.load(manifest)["stage_seconds"]))
    if said["accepted"]:
        for shape, speedup in said["speedup"].items():
            total[shape] = total.get(shape, 1.0) * speedup
print("in all:", {shape: round(speedup, 2) for shape, speedup in total.items()})
server.stdin.close()
sys.exit(0 if total and min(total.values()) >= 2.0 else 1)
