//! The shared object of a host function: a generated file includes the function's and calls it with the plan's arguments.

use ncugate_phase::plan::{Arg, FunctionPlan, HostCode, ShapeProgram};
use std::io;

/// The part of the file that does not depend on the call. It compiles without CUDA's headers.
const BASE: &str = r#"#include <cstdio>
#include <cstring>
#include <exception>
#include <type_traits>

struct CUstream_st;

namespace ncugate {
/// A pointer of any type.
struct Pointer {
    void* address;
    template <class T> operator T*() const { return static_cast<T*>(address); }
};

template <class T> struct Taken { typedef T type; };
template <> struct Taken<void*> { typedef Pointer type; };

/// A stream that converts to nothing else, such as `bool`.
struct Stream {
    CUstream_st* stream;
    template <class T, class = typename std::enable_if<std::is_same<T, CUstream_st*>::value>::type>
    operator T() const { return stream; }
};

/// `S` makes a call depend on a template.
template <class T, class S> typename Taken<T>::type argument(const unsigned long long& word) {
    T value;
    std::memcpy(&value, &word, sizeof(T));
    return typename Taken<T>::type{value};
}

/// Sizes of a struct in the phase and in the source, for the compiler's message.
template <unsigned long long GIVEN, unsigned long long TAKEN> struct Size {
    static_assert(GIVEN == TAKEN, "a struct in `args` has another size (GIVEN) than the function takes (TAKEN)");
};

/// A struct of any type of that size, also by a reference that the function changes.
template <unsigned long long BYTES, class S> struct Struct {
    alignas(64) mutable unsigned char bytes[BYTES];
    explicit Struct(const unsigned long long* words) { std::memcpy(bytes, words, BYTES); }
    template <class T> operator T&() const { return (void)sizeof(Size<BYTES, sizeof(T)>), reinterpret_cast<T&>(bytes); }
};

/// 0 for a function without a result, else the result as a number.
template <class F> auto status(const F& call, int) -> decltype(static_cast<int>(call())) { return static_cast<int>(call()); }
template <class F> int status(const F& call, long) { return call(), 0; }
}

"#;

/// The text of the generated file.
///
/// # Errors
/// The path of the function's file cannot be made absolute.
pub(crate) fn text(function: &FunctionPlan, host: &HostCode) -> io::Result<String> {
    let source = std::path::absolute(&function.file)?;
    let source = source.display().to_string().replace('\\', "\\\\").replace('"', "\\\"");
    let args = host.programs.iter().flat_map(ShapeProgram::launches).next().map_or(&[][..], |call| &call.args);
    let mut at = 0;
    let argument = |arg: &Arg| {
        let (word, bytes) = (at, arg.layout().0);
        at += bytes.div_ceil(8);
        match arg {
            Arg::Struct { .. } => format!("ncugate::Struct<{bytes}, S>(words + {word})"),
            // The plan has refused arguments without a type.
            _ => format!("ncugate::argument<{}, S>(words[{word}])", arg.host_type().unwrap_or("void*")),
        }
    };
    let args = args.iter().map(argument).collect::<Vec<_>>().join(", ");
    let name = &function.function;
    // The first overload that fits is called; the compiler's message about other arguments is about the last.
    Ok(format!(
        r#"{BASE}#include "{source}"

template <class S> auto ncugate_run(const unsigned long long* words, S stream, int) -> decltype({name}({args}, stream)) {{
    return {name}({args}, stream);
}}
template <class S> auto ncugate_run(const unsigned long long* words, S, long) -> decltype({name}({args})) {{
    return {name}({args});
}}
template <class S> int ncugate_run(const unsigned long long* words, S stream, ...) {{
    return ncugate::status([&] {{ return {name}({args}, stream.stream); }}, 0);
}}

extern "C" int ncugate_call(const unsigned long long* words, CUstream_st* stream, char* message, int capacity) {{
    int status = -1;
    bool has_thrown = true;
    try {{
        status = ncugate::status([&] {{ return ncugate_run(words, ncugate::Stream{{stream}}, 0); }}, 0);
        has_thrown = false;
        if (status != 0) std::snprintf(message, capacity, "it returned %d", status);
    }} catch (const std::exception& error) {{
        std::snprintf(message, capacity, "%s", error.what());
    }} catch (...) {{
        std::snprintf(message, capacity, "it threw an exception");
    }}
#ifdef __CUDACC__
    cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess && !has_thrown) {{
        status = static_cast<int>(error);
        std::snprintf(message, capacity, "%s: %s", cudaGetErrorName(error), cudaGetErrorString(error));
    }}
#endif
    return status;
}}
"#
    ))
}
