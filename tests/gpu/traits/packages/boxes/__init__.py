raise ImportError("headers are found without an import")
