//! Every polars frame of the program: typed in, typed out.
