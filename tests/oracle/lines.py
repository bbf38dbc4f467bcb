"""Writes source line and text of every executed instruction of a report, as NVIDIA's ncu_report gives them, as JSON lines.

usage: lines.py REPORT.ncu-rep

A line an instruction: launch, bytes from the kernel's first instruction, file, line (null where there is none), text.
"""
import json
import sys
import ncu_report

context = ncu_report.load_report(sys.argv[1])
launch = 0
for r in range(context.num_ranges()):
    for action in context.range_by_idx(r):
        executed = action.metric_by_name("inst_executed")
        if executed is not None and executed.has_correlation_ids():
            ids = executed.correlation_ids()
            addresses = sorted(ids.as_uint64(i) for i in range(executed.num_instances()))
            for address in addresses:
                place = action.source_info(address)
                file, line = (place.file_name(), place.line()) if place else (None, None)
                text = " ".join(action.sass_by_pc(address).split())
                print(json.dumps([launch, address - addresses[0], file, line, text]))
        launch += 1
