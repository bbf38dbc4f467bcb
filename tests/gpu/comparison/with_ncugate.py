"""A sweep of softmax over sizes with ncugate."""

import ncugate
import torch

METRICS = ["gpu__time_duration.sum", "dram__bytes_read.sum", "smsp__inst_executed.sum"]


@ncugate.profile(configs=[1024, 2048, 4096], metrics=METRICS, runs=3)
def softmax(n):
    x = torch.randn(n, n, device="cuda")
    with ncugate.annotate("softmax"):
        torch.softmax(x, dim=-1)


if __name__ == "__main__":
    for row in softmax().summary():
        print(row["n"], row["metric"], row["mean"], row["unit"], sep=",")
