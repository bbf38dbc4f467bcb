"""Writes every metric of every launch of a report, as NVIDIA's ncu_report reads it, as JSON lines.

usage: dump.py REPORT.ncu-rep [INSTANCES]

Instances are written for the first INSTANCES launches (all of them when it is not given). A value is a pair of type
and text: doubles and floats as the hexadecimal of their bits, integers in decimal, strings as they are.
"""
import json
import struct
import sys
import ncu_report

M = ncu_report.IMetric


def value(metric, index=None):
    """Type and text of a metric's value, or of one of its instances."""
    at = () if index is None else (index,)
    if index is None and not metric.has_value():
        return ["missing", ""]
    kind = metric.kind(*at)
    if kind == M.ValueKind_STRING:
        return ["string", metric.as_string(*at)]
    if kind == M.ValueKind_DOUBLE:
        return ["double", struct.pack(">d", metric.as_double(*at)).hex()]
    if kind == M.ValueKind_FLOAT:
        return ["float", struct.pack(">f", metric.as_double(*at)).hex()]
    if kind == M.ValueKind_UINT32:
        return ["u32", str(metric.as_uint64(*at))]
    if kind == M.ValueKind_UINT64:
        return ["u64", str(metric.as_uint64(*at))]
    return ["missing", ""]


def instances(metric):
    """Pairs of correlation id and value."""
    ids = metric.correlation_ids() if metric.has_correlation_ids() else None
    return [
        [value(ids, i) if ids else ["missing", ""], value(metric, i)]
        for i in range(metric.num_instances())
    ]


def ranges(state):
    """NVTX ranges of a launch: domain and name."""
    out = []
    for domain_id in state.domains() if state else ():
        domain = state.domain_by_id(domain_id)
        out += [[domain.name(), name] for name in domain.push_pop_ranges()]
        out += [[domain.name(), name] for name in domain.start_end_ranges()]
    return out


def bits(number):
    """A double as the hexadecimal of its bits."""
    return struct.pack(">d", number).hex()


def rules(action):
    """Messages of the rules, with speedups and focus metrics. What has no message is left out."""
    out = []
    for rule in action.rule_results_as_dicts():
        message = rule.get("rule_message", {})
        if not message.get("message"):
            continue
        speedup = rule.get("speedup_estimation")
        out.append({
            "rule": rule["rule_identifier"],
            "section": rule["section_identifier"],
            "text": message["message"],
            "title": message["title"],
            "speedup": [int(speedup["type"]), bits(speedup["speedup"])] if speedup else None,
            "focus": [[f["name"], bits(f["value"]), f["info"]] for f in rule.get("focus_metrics", ())],
        })
    return out


def main():
    context = ncu_report.load_report(sys.argv[1])
    limit = int(sys.argv[2]) if len(sys.argv) > 2 else 1 << 62
    launch = 0
    for r in range(context.num_ranges()):
        actions = context.range_by_idx(r)
        for a in range(actions.num_actions()):
            action = actions.action_by_idx(a)
            head = {
                "launch": launch,
                "function": action.name(action.NameBase_FUNCTION),
                "mangled": action.name(action.NameBase_MANGLED),
                "demangled": action.name(action.NameBase_DEMANGLED),
                "nvtx": ranges(action.nvtx_state()),
                "rules": rules(action),
            }
            print(json.dumps(head))
            for name in action.metric_names():
                metric = action[name]
                row = {"launch": launch, "name": name, "value": value(metric), "unit": metric.unit()}
                if launch < limit:
                    row["instances"] = instances(metric)
                print(json.dumps(row))
            launch += 1


main()
