"""Prints for a results.json how many variants are proven, timed and counted, and the names of the others.

    counted.py RESULTS.json
"""
import json
import sys

results = json.load(open(sys.argv[1]))
variants = results["variants"]


def has(variant, metric):
    return any(shape["values"].get(metric) is not None for shape in variant["shapes"].values())


proven = [variant["id"] for variant in variants if variant["correct"] == "pass"]
lacking = {}
for variant in variants:
    if variant["correct"] != "pass":
        lacking[variant["id"]] = variant["correctness"]
    elif not has(variant, "latency_p50"):
        lacking[variant["id"]] = "not timed"
    else:
        # Requested values that are missing at the timed shapes.
        timed = [shape for shape in variant["shapes"].values() if shape["values"].get("latency_p50") is not None]
        reasons = {reason for shape in timed for reason in shape["missing"].values()}
        if reasons:
            lacking[variant["id"]] = "; ".join(sorted(reasons))
counted = len(variants) - len(lacking)
print(f"{len(proven)} of {len(variants)} proven, {counted} with every counter, selected {results['selected']}")
for name, reason in list(lacking.items())[:4]:
    print(f"    {name}: {reason}")
sys.exit(0 if variants and not lacking else 1)
