"""Attention without a mask in Triton: `o = softmax(q k^T * scale) v`, with the softmax computed tile by tile (online).

    q, k, v, o: [B * H, S, D] f16, contiguous; D is 16, 32, 64 or 128; products and sums are in f32.

Constexprs: HEAD_DIM (D), BLOCK_M (queries of a program) and BLOCK_N (keys of a tile), powers of two, at least 16. Options: num_warps and
num_stages (tiles of k and v that are loaded ahead). Launch: grid = [ceil(S / BLOCK_M), B * H].
"""

import triton
import triton.language as tl


@triton.jit
def attention(q, k, v, o, S, scale, HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    head = tl.program_id(1).to(tl.int64) * S * HEAD_DIM
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.arange(0, HEAD_DIM)
    query_places = head + rows[:, None] * HEAD_DIM + columns[None, :]
    queries = tl.load(q + query_places, mask=rows[:, None] < S, other=0.0)
    # exp2 is what the hardware has: scores are scaled by log2(e) once.
    scale = scale * 1.4426950408889634
    highest = tl.full([BLOCK_M], -float("inf"), tl.float32)
    total = tl.zeros([BLOCK_M], tl.float32)
    result = tl.zeros([BLOCK_M, HEAD_DIM], tl.float32)
    for start in range(0, S, BLOCK_N):
        keys = start + tl.arange(0, BLOCK_N)
        inside = keys < S
        places = head + keys[:, None] * HEAD_DIM + columns[None, :]
        tile = tl.load(k + places, mask=inside[:, None], other=0.0)
        scores = tl.dot(queries, tl.trans(tile)) * scale
        scores = tl.where(inside[None, :], scores, -float("inf"))
        above = tl.maximum(highest, tl.max(scores, axis=1))
        weights = tl.exp2(scores - above[:, None])
        shrink = tl.exp2(highest - above)
        total = total * shrink + tl.sum(weights, axis=1)
        values = tl.load(v + places, mask=inside[:, None], other=0.0)
        result = tl.dot(weights.to(tl.float16), values, result * shrink[:, None])
        highest = above
    tl.store(o + query_places, (result / total[:, None]).to(tl.float16), mask=rows[:, None] < S)
