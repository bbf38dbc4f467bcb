import torch
from task import input_t, output_t
from utils import make_match_reference


def ref_kernel(data: input_t) -> output_t:
    """A sum of three vectors, two of them scaled."""
    a, b, steps, factor, output = data
    output[...] = factor * a + b + factor * steps
    return output


def generate_input(n: int, seed: int, kind: str = "plain") -> input_t:
    gen = torch.Generator(device="cuda")
    gen.manual_seed(seed)
    a = torch.empty(n, device="cuda", dtype=torch.float32)
    a.uniform_(-1, 3, generator=gen)
    b = torch.empty_like(a).normal_(0, 2, generator=gen)
    steps = torch.empty(n, device="cuda", dtype=torch.float32)
    for at in range(n):
        steps[at] = at
    output = torch.empty_like(steps)
    return a.contiguous(), b, steps, 2.5, output


check_implementation = make_match_reference(ref_kernel, rtol=1e-4, atol=1e-4)
