"""Lists the metric names of GPU chips, as NVIDIA's libnvperf_host knows them, for units.py.

usage: names.py OUT LIBNVPERF_HOST.so...

The library comes with ncu and with the packages ncu_report and nvidia-cuda-cupti. OUT gets a line `CHIP NAME` for every
counter, ratio and throughput, with every rollup and suffix that it has, of one chip of each compute capability, by
every library that knows the chip.
"""
import ctypes
import sys

CHIPS = ("GH100", "TU102", "GA100", "GA102", "GA10B", "AD102", "GB100", "GB110", "GB10B", "GB202", "GB20B", "GR100")
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
POINTER, SIZE, BYTE, TEXT = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint8, ctypes.c_char_p


class Call:
    """One function of the library; its structure has a size and a private pointer before the named fields."""

    def __init__(self, library, name, *fields):
        self.function = getattr(library, name)
        head = [("size", SIZE), ("private", POINTER)]
        self.kind = type(name, (ctypes.Structure,), {"_fields_": head + list(fields)})

    def __call__(self, **values):
        parameters = self.kind(**values)
        last, kind = self.kind._fields_[-1]
        parameters.size = getattr(self.kind, last).offset + ctypes.sizeof(kind)
        status = self.function(ctypes.byref(parameters))
        if status:
            sys.exit(f"{self.kind.__name__}: status {status}")
        return parameters


class Library:
    """libnvperf_host.so at a path."""

    def __init__(self, path):
        library = ctypes.CDLL(path)
        Call(library, "NVPW_InitializeHost")()
        self.scratch = Call(library, "NVPW_CUDA_MetricsEvaluator_CalculateScratchBufferSize",
                            ("chip", TEXT), ("image", POINTER), ("bytes", SIZE))
        self.start = Call(library, "NVPW_CUDA_MetricsEvaluator_Initialize",
                          ("buffer", POINTER), ("bytes", SIZE), ("chip", TEXT), ("image", POINTER), ("data", POINTER),
                          ("data_bytes", SIZE), ("evaluator", POINTER))
        self.list_names = Call(library, "NVPW_MetricsEvaluator_GetMetricNames",
                               ("evaluator", POINTER), ("kind", BYTE), ("names", POINTER),
                               ("starts", ctypes.POINTER(SIZE)), ("count", SIZE))
        self.list_suffixes = Call(library, "NVPW_MetricsEvaluator_GetSupportedSubmetrics",
                                  ("evaluator", POINTER), ("kind", BYTE), ("suffixes", ctypes.POINTER(ctypes.c_uint16)),
                                  ("count", SIZE))
        chips = Call(library, "NVPW_GetSupportedChipNames", ("names", ctypes.POINTER(TEXT)), ("count", SIZE))()
        self.chips = [chips.names[i].decode() for i in range(chips.count)]

    def bases(self, chip):
        """Every base of a chip with its rollups and suffixes, in the library's order."""
        name = chip.encode()
        buffer = ctypes.create_string_buffer(self.scratch(chip=name).bytes)
        evaluator = self.start(buffer=ctypes.addressof(buffer), bytes=len(buffer), chip=name).evaluator
        for kind in (COUNTER, RATIO, THROUGHPUT):
            found = self.list_suffixes(evaluator=evaluator, kind=kind)
            suffixes = [SUFFIXES[found.suffixes[i]] for i in range(found.count)]
            rollups = ("",) if kind == RATIO else (".sum", ".avg", ".min", ".max")
            forms = [rollup + suffix for rollup in rollups for suffix in suffixes]
            names = self.list_names(evaluator=evaluator, kind=kind)
            for i in range(names.count):
                yield ctypes.string_at(names.names + names.starts[i]).decode(), forms


def main():
    libraries = [Library(path) for path in sys.argv[2:]]
    with open(sys.argv[1], "w") as out:
        for chip in CHIPS:
            known = {base: forms for library in libraries if chip in library.chips for base, forms in library.bases(chip)}
            for base, forms in known.items():
                out.writelines(f"{chip} {base}{form}\n" for form in forms)


if __name__ == "__main__":
    main()
