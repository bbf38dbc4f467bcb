"""A sweep of softmax over sizes with ncu and its module ncu_report."""

import statistics
import subprocess
import sys

METRICS = ["gpu__time_duration.sum", "dram__bytes_read.sum", "smsp__inst_executed.sum"]
OPTIONS = ["--nvtx", "--nvtx-include", "regex:softmax-.*/", "--clock-control", "none", "--metrics", ",".join(METRICS)]


def sweep():
    import torch

    for _ in range(3):
        for n in (1024, 2048, 4096):
            x = torch.randn(n, n, device="cuda")
            torch.cuda.nvtx.range_push(f"softmax-{n}")
            torch.softmax(x, dim=-1)
            torch.cuda.nvtx.range_pop()


def table():
    import ncu_report

    command = ["ncu", *OPTIONS, "--force-overwrite", "--export", "sweep.ncu-rep", sys.executable, __file__, "sweep"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    found = {}
    for action in ncu_report.load_report("sweep.ncu-rep").range_by_idx(0):
        state = action.nvtx_state()
        ranges = [name for domain in state.domains() for name in state.domain_by_id(domain).push_pop_ranges()]
        n = next(int(name.split("-")[1]) for name in ranges if name.startswith("softmax-"))
        for metric in METRICS:
            found.setdefault((n, metric), []).append((action[metric].value(), action[metric].unit()))
    return found


if __name__ == "__main__":
    if sys.argv[1:] == ["sweep"]:
        sweep()
    else:
        for (n, metric), values in table().items():
            print(n, metric, statistics.mean(value for value, _ in values), values[0][1], sep=",")
