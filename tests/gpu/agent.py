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

calls = 0


def call(tool, **arguments):
    global calls
    calls += 1
    started = time.time()
    called = subprocess.run([binary, "agent", "call", tool], input=json.dumps(arguments), stdout=subprocess.PIPE, text=True)
    result = json.loads(called.stdout)["structuredContent"]
    print(f"{calls}. {tool} {arguments}: {result['outcome']}, {time.time() - started:.1f} s")
    if result["answer"] is None:
        sys.exit(result["stderr"] or "the call has no answer")
    print(f"   {json.dumps(result['answer'])}")
    return result["answer"]


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
print(f"{calls} calls; speedup over the start: {({shape: round(value, 2) for shape, value in total.items()})}")
sys.exit(0 if total and min(total.values()) >= SPEEDUP else 1)
