"""What tasks share."""


def make_match_reference(reference, **bounds):
    return lambda data, output: (reference(data), bounds)
