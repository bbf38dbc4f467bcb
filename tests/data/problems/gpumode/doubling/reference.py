import torch
from task import input_t, output_t
from utils import make_match_reference


def ref_kernel(data: input_t) -> output_t:
    """Twice the matrix, plus the vector."""
    matrix, vector, output = data
    output[...] = 2 * matrix + vector
    return output


def generate_input(rows: int, size: int, seed: int) -> input_t:
    gen = torch.Generator(device="cuda")
    gen.manual_seed(seed)
    matrix = torch.randn(rows, size, device="cuda", dtype=torch.float16, generator=gen).contiguous()
    vector = torch.rand(size, device="cuda", dtype=torch.float16, generator=gen) * 2 - 1
    output = torch.empty(rows, size, device="cuda", dtype=torch.float16)
    return matrix, vector, output


check_implementation = make_match_reference(ref_kernel, rtol=1e-3, atol=1e-3)
