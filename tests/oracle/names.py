"""Lists the metric names of GPU chips, as NVIDIA's libnvperf_host knows them, for units.py.

usage: names.py LIBNVPERF_HOST.so OUT

The library comes with ncu and with the package ncu_report. OUT gets a line `CHIP NAME` for every counter, ratio and
throughput, with every rollup and suffix that it has, of one chip of each compute capability.
"""
import ctypes
import sys

CHIPS = ("GH100", "TU102", "GA100", "GA102", "AD102", "GB100", "GB202")
COUNTER, RATIO, THROUGHPUT = range(3)
# NVPW_Submetric of nvperf_host.h, in its order.
SUFFIXES = (
    "", ".peak_sustained", ".peak_sustained_active", ".peak_sustained_active.per_second", ".peak_sustained_elapsed",
    ".peak_sustained_elapsed.per_second", ".peak_sustained_frame", ".peak_sustained_frame.per_second",
    ".peak_sustained_region", ".peak_sustained_region.per_second", ".per_cycle_active", ".per_cycle_elapsed",
    ".per_cycle_in_frame", ".per_cycle_in_region", ".per_second", ".pct_of_peak_sustained_active",
    ".pct_of_peak_sustained_elapsed", ".pct_of_peak_sustained_frame", ".pct_of_peak_sustained_region", ".max_rate",
    ".pct", ".ratio",
)


class Call:
    """One function of the library; its structure has a size and a private pointer before the named fields."""

    def __init__(self, library, name, *fields):
        self.function = getattr(library, name)
        head = [("size", ctypes.c_size_t), ("private", ctypes.c_void_p)]
        self.kind = type(name, (ctypes.Structure,), {"_fields_": head + list(fields)})

    def __call__(self, **values):
        parameters = self.kind(**values)
        last, kind = self.kind._fields_[-1]
        parameters.size = getattr(self.kind, last).offset + ctypes.sizeof(kind)
        status = self.function(ctypes.byref(parameters))
        if status:
            sys.exit(f"{self.kind.__name__}: status {status}")
        return parameters


def main():
    library = ctypes.CDLL(sys.argv[1])
    pointer, size, byte, text = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint8, ctypes.c_char_p
    Call(library, "NVPW_InitializeHost")()
    scratch = Call(library, "NVPW_CUDA_MetricsEvaluator_CalculateScratchBufferSize",
                   ("chip", text), ("image", pointer), ("bytes", size))
    start = Call(library, "NVPW_CUDA_MetricsEvaluator_Initialize",
                 ("buffer", pointer), ("bytes", size), ("chip", text), ("image", pointer), ("data", pointer),
                 ("data_bytes", size), ("evaluator", pointer))
    list_names = Call(library, "NVPW_MetricsEvaluator_GetMetricNames",
                      ("evaluator", pointer), ("kind", byte), ("names", pointer), ("starts", ctypes.POINTER(size)),
                      ("count", size))
    list_suffixes = Call(library, "NVPW_MetricsEvaluator_GetSupportedSubmetrics",
                         ("evaluator", pointer), ("kind", byte), ("suffixes", ctypes.POINTER(ctypes.c_uint16)),
                         ("count", size))
    with open(sys.argv[2], "w") as out:
        for chip in CHIPS:
            name = chip.encode()
            buffer = ctypes.create_string_buffer(scratch(chip=name).bytes)
            evaluator = start(buffer=ctypes.addressof(buffer), bytes=len(buffer), chip=name).evaluator
            for kind in (COUNTER, RATIO, THROUGHPUT):
                found = list_suffixes(evaluator=evaluator, kind=kind)
                suffixes = [SUFFIXES[found.suffixes[i]] for i in range(found.count)]
                rollups = ("",) if kind == RATIO else (".sum", ".avg", ".min", ".max")
                forms = [rollup + suffix for rollup in rollups for suffix in suffixes]
                names = list_names(evaluator=evaluator, kind=kind)
                for i in range(names.count):
                    base = ctypes.string_at(names.names + names.starts[i]).decode()
                    out.writelines(f"{chip} {base}{form}\n" for form in forms)


main()
