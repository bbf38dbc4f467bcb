"""A sweep of softmax over sizes with nsight-python."""

import nsight
import torch

METRICS = ["gpu__time_duration.sum", "dram__bytes_read.sum", "smsp__inst_executed.sum"]


@nsight.analyze.kernel(configs=[1024, 2048, 4096], metrics=METRICS, runs=3)
def softmax(n):
    x = torch.randn(n, n, device="cuda")
    with nsight.annotate("softmax"):
        torch.softmax(x, dim=-1)


if __name__ == "__main__":
    for _, row in softmax().to_dataframe().iterrows():
        print(row["n"], row["Metric"], row["AvgValue"], row.get("Unit", ""), sep=",")
