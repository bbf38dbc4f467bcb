from task import input_t, output_t


def custom_kernel(data: input_t) -> output_t:
    matrix, vector, output = data
    output[...] = 2 * matrix + vector
    return output
