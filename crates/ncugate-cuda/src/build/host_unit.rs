//! The shared object of a host function: a generated file includes the function's and calls it with the plan's arguments.

use ncugate_phase::plan::{FunctionPlan, HostCode, ShapeProgram};
use std::io;

/// The part of the file that does not depend on the call. It compiles without CUDA's headers.
const BASE: &str = r#"#include <cstdio>
#include <cstring>
#include <exception>

namespace ncugate {
/// A pointer of any type.
struct Pointer {
    void* address;
    template <class T> operator T*() const { return static_cast<T*>(address); }
};

template <class T> struct Taken { typedef T type; };
template <> struct Taken<void*> { typedef Pointer type; };

template <class T> typename Taken<T>::type argument(const unsigned long long& word) {
    T value;
    std::memcpy(&value, &word, sizeof(T));
    return typename Taken<T>::type{value};
}

/// 0 for a function without a result, else the result as a number.
template <class F> auto status(const F& call, int) -> decltype(static_cast<int>(call())) { return static_cast<int>(call()); }
template <class F> int status(const F& call, long) { return call(), 0; }
}

struct CUstream_st;

"#;

/// The text of the generated file.
///
/// # Errors
/// The path of the function's file cannot be made absolute.
pub(crate) fn text(function: &FunctionPlan, host: &HostCode) -> io::Result<String> {
    let source = std::path::absolute(&function.file)?;
    let source = source.display().to_string().replace('\\', "\\\\").replace('"', "\\\"");
    let args = host.programs.iter().flat_map(ShapeProgram::launches).next().map_or(&[][..], |call| &call.args);
    let argument = |(at, arg): (usize, &ncugate_phase::plan::Arg)| {
        // The plan has refused arguments without a type.
        let kind = arg.host_type().unwrap_or("void*");
        format!("ncugate::argument<{kind}>(words[{at}]), ")
    };
    let args: String = args.iter().enumerate().map(argument).collect();
    let name = &function.function;
    Ok(format!(
        r#"{BASE}#include "{source}"

extern "C" int ncugate_call(const unsigned long long* words, CUstream_st* stream, char* message, int capacity) {{
    try {{
        int status = ncugate::status([&] {{ return {name}({args}stream); }}, 0);
        if (status != 0) std::snprintf(message, capacity, "it returned %d", status);
#ifdef __CUDACC__
        cudaError_t error = cudaGetLastError();
        if (error != cudaSuccess) {{
            status = static_cast<int>(error);
            std::snprintf(message, capacity, "%s: %s", cudaGetErrorName(error), cudaGetErrorString(error));
        }}
#endif
        return status;
    }} catch (const std::exception& error) {{
        std::snprintf(message, capacity, "%s", error.what());
    }} catch (...) {{
        std::snprintf(message, capacity, "it threw an exception");
    }}
    return -1;
}}
"#
    ))
}
