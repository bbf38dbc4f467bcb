//! The functions of a job: Python's, and host code in shared objects.

use super::job::{FunctionLanguage, WorkerJob};
use super::python::PythonFunctions;
use crate::gpu::{DeviceError, FunctionCall, FunctionCaller, ResultCopy};
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW, Symbol};
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int};
use std::path::{Path, PathBuf};

/// The function of a shared object; [`crate::build`] generates it.
const CALL: &[u8] = b"ncugate_call\0";
/// Maximum size of its message, in bytes.
const MESSAGE: usize = 4096;

/// Reads the arguments, 8 bytes each, queues work on the stream, and returns 0 or else writes a message.
type Call = unsafe extern "C" fn(*const u64, u64, *mut c_char, c_int) -> c_int;

/// All functions of a job, by the index of their variant.
pub(super) struct Functions {
    python: Option<PythonFunctions>,
    objects: HashMap<u32, PathBuf>,
    loaded: RefCell<HashMap<PathBuf, Result<Object, DeviceError>>>,
}

/// A loaded shared object. It stays loaded as long as the process: kernels of it may be in use.
struct Object {
    call: Symbol<Call>,
    _library: Library,
}

impl Functions {
    pub fn of(job: &WorkerJob, python: Option<PythonFunctions>) -> Self {
        let objects = job.functions(FunctionLanguage::Cpp);
        let objects = objects.map(|(index, function)| (index as u32, function.file.clone())).collect();
        Self { python, objects, loaded: RefCell::default() }
    }

    fn python(&self) -> Result<&PythonFunctions, DeviceError> {
        self.python.as_ref().ok_or_else(|| DeviceError::Launch("this process cannot call Python functions".to_owned()))
    }
}

impl FunctionCaller for Functions {
    fn call(&self, call: &FunctionCall<'_>) -> Result<Vec<ResultCopy>, DeviceError> {
        let Some(object) = self.objects.get(&call.function) else { return self.python()?.call(call) };
        let mut loaded = self.loaded.borrow_mut();
        match loaded.entry(object.clone()).or_insert_with(|| Object::open(object)) {
            Ok(object) => object.call(call).map(|()| Vec::new()),
            Err(error) => Err(error.clone()),
        }
    }

    fn begin_graph(&self) -> Result<(), DeviceError> {
        self.python.as_ref().map_or(Ok(()), FunctionCaller::begin_graph)
    }

    fn end_graph(&self) -> Result<(), DeviceError> {
        self.python.as_ref().map_or(Ok(()), FunctionCaller::end_graph)
    }
}

impl Object {
    fn open(path: &Path) -> Result<Self, DeviceError> {
        let failed =
            |error: libloading::Error| DeviceError::Function(format!("cannot load its shared object: {error}"));
        // SAFETY: the object is the variant's own code, which runs in this process as its kernels run on the device.
        let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }.map_err(failed)?;
        // SAFETY: the generated function has this type.
        let call = unsafe { library.get(CALL) }.map_err(failed)?;
        Ok(Self { call, _library: library })
    }

    fn call(&self, call: &FunctionCall<'_>) -> Result<(), DeviceError> {
        let mut message = vec![0_u8; MESSAGE];
        let capacity = MESSAGE as c_int;
        // SAFETY: the generated function reads as many words as the plan has arguments, and writes at most `capacity` bytes.
        let status =
            unsafe { (self.call)(call.words.as_ptr(), call.stream, message.as_mut_ptr().cast::<c_char>(), capacity) };
        if status == 0 {
            return Ok(());
        }
        let text = CStr::from_bytes_until_nul(&message).map(|text| text.to_string_lossy().into_owned());
        let text = text.ok().filter(|text| !text.is_empty());
        Err(DeviceError::Function(text.unwrap_or_else(|| format!("it returned {status}"))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::host_unit;
    use ncugate_model::ShapeName;
    use ncugate_phase::plan::{Arg, FunctionPlan, HostCode, ScalarValue, ShapeProgram, Step, reference_launch};
    use std::fs;
    use std::process::Command;

    const LIBRARY: &str = r#"
#include <stdexcept>
namespace lib {
enum class Status { Success, Failure = 3 };
template <class T> Status add(const T* from, T* to, T value, bool fails, long long count, CUstream_st* stream) {
    for (long long i = 0; i < count; ++i) to[i] = from[i] + value;
    to[count] = static_cast<T>(reinterpret_cast<unsigned long long>(stream));
    return fails ? Status::Failure : Status::Success;
}
template <class T> void without(const T* from, T* to, T value, bool, long long count, bool more = false) {
    for (long long i = 0; i < count; ++i) to[i] = more ? 0 : from[i] - value;
}
struct Params { const float* from; float* to; short by; long long count; };
void by_reference(Params& params, bool fails, CUstream_st* stream) {
    if (fails) throw std::runtime_error("fails");
    params.to[--params.count] = params.from[1] + params.by + (stream ? 1 : 0);
}
void by_value(const Params params, bool, CUstream_st* stream) { Params copy = params; by_reference(copy, false, stream); }
void by_address(const Params* params, bool, CUstream_st*) {}
void throws(void*, void*, float, bool, long long, CUstream_st*) { throw std::runtime_error("no room"); }
}
#ifdef __CUDACC__
void is_refused(const float*, float*, float, bool, long long) { errors = 1; }
#endif
"#;

    /// A runtime with an error.
    const RUNTIME: &str = r#"
typedef int cudaError_t;
enum { cudaSuccess };
static int errors = 0;
inline int cudaGetLastError() { int error = errors; return errors = 0, error; }
inline const char* cudaGetErrorName(int) { return "cudaErrorInvalidValue"; }
inline const char* cudaGetErrorString(int) { return "invalid argument"; }
"#;

    /// The result of a call of `function`, whose arguments are the buffers, 0.5, `fails` and 2.
    fn call(function: &str, fails: u64, from: &[f32; 2], to: &mut [f32; 3]) -> Result<(), String> {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("runtime.h"), RUNTIME).unwrap();
        fs::write(path("lib.cu"), LIBRARY).unwrap();
        let scalars = [ScalarValue::F32(0.0), ScalarValue::Bool(false), ScalarValue::I64(0)].map(Arg::Scalar);
        let args = ["x", "y"].map(|name| Arg::Buffer(name.to_owned())).into_iter().chain(scalars).collect();
        let launch = Step::Launch(reference_launch(function, ([1; 3], [1; 3]), args));
        let programs = vec![ShapeProgram::new(ShapeName("s".into()), vec![launch])];
        let host = HostCode { flags: Vec::new(), defines: Vec::new(), programs };
        let plan =
            FunctionPlan { file: path("lib.cu"), function: function.to_owned(), kernel_filter: None, host: None };
        fs::write(path("unit.cpp"), host_unit::text(&plan, &host).unwrap()).unwrap();
        let mut compiler = Command::new("c++");
        if function == "is_refused" {
            compiler.arg("-D__CUDACC__").arg("-include").arg(path("runtime.h"));
        }
        compiler.args(["-shared", "-fPIC", "-o"]).args([path("lib.so"), path("unit.cpp")]);
        assert!(compiler.status().unwrap().success());
        let objects = HashMap::from([(4, path("lib.so"))]);
        let functions = Functions { python: None, objects, loaded: RefCell::default() };
        let words = [from.as_ptr() as u64, to.as_mut_ptr() as u64, u64::from(0.5_f32.to_bits()), fails, 2];
        let called = functions.call(&FunctionCall { function: 4, shape: 0, words: &words, stream: 7 });
        called.map(|copies| assert_eq!(copies, [])).map_err(|error| error.to_string())
    }

    #[test]
    fn host_code_gets_its_arguments_and_the_stream_and_says_why_it_fails() {
        let mut to = [0.0; 3];
        assert_eq!(call("lib::add<float>", 0, &[1.0, 2.0], &mut to), Ok(()));
        assert_eq!(to, [1.5, 2.5, 7.0]);
        assert_eq!(call("lib::without<float>", 0, &[1.0, 2.0], &mut to), Ok(()));
        assert_eq!(to, [0.5, 1.5, 7.0]);
        let said = call("lib::add<float>", 1, &[1.0, 2.0], &mut to).unwrap_err();
        assert!(said.contains("it returned 3"), "{said}");
        let said = call("lib::throws", 0, &[1.0, 2.0], &mut to).unwrap_err();
        assert!(said.contains("no room"), "{said}");
        let said = call("is_refused", 0, &[1.0, 2.0], &mut to).unwrap_err();
        assert!(said.contains("cudaErrorInvalidValue: invalid argument"), "{said}");
    }

    #[test]
    fn a_struct_is_passed_by_reference_or_value_and_its_size_is_compared() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("lib.cu"), LIBRARY).unwrap();
        let compiled = |function: &str, count: ScalarValue| {
            let fields = vec![
                Arg::Buffer("x".to_owned()),
                Arg::Buffer("y".to_owned()),
                Arg::Scalar(ScalarValue::I16(40)),
                Arg::Scalar(count),
            ];
            let args = vec![Arg::Struct { align: None, fields }, Arg::Scalar(ScalarValue::Bool(false))];
            let launch = Step::Launch(reference_launch(function, ([1; 3], [1; 3]), args));
            let programs = vec![ShapeProgram::new(ShapeName("s".into()), vec![launch])];
            let host = HostCode { flags: Vec::new(), defines: Vec::new(), programs };
            let (file, function) = (path("lib.cu"), function.to_owned());
            let plan = FunctionPlan { file, function, kernel_filter: None, host: None };
            fs::write(path("unit.cpp"), host_unit::text(&plan, &host).unwrap()).unwrap();
            let mut compiler = Command::new("c++");
            let output = compiler.args(["-shared", "-fPIC", "-o"]).args([path("lib.so"), path("unit.cpp")]).output();
            let output = output.unwrap();
            output.status.success().then_some(()).ok_or_else(|| String::from_utf8_lossy(&output.stderr).into_owned())
        };
        for function in ["lib::by_reference", "lib::by_value"] {
            compiled(function, ScalarValue::I64(0)).unwrap();
            let objects = HashMap::from([(4, path("lib.so"))]);
            let functions = Functions { python: None, objects, loaded: RefCell::default() };
            let (from, mut to) = ([1.0_f32, 2.0], [0.0_f32; 3]);
            let words = [from.as_ptr() as u64, to.as_mut_ptr() as u64, 40, 3, 0];
            functions.call(&FunctionCall { function: 4, shape: 0, words: &words, stream: 7 }).unwrap();
            assert_eq!((to, words[3]), ([0.0, 0.0, 43.0], 3), "{function} gets a copy");
        }
        let said = compiled("lib::by_value", ScalarValue::I32(0)).unwrap_err();
        assert!(said.contains("another size (GIVEN) than the function takes (TAKEN)") && said.contains("24"), "{said}");
        assert!(compiled("lib::by_address", ScalarValue::I64(0)).unwrap_err().contains("another size"));
    }

    #[test]
    fn an_object_that_cannot_be_loaded_is_an_error_of_its_variant() {
        let objects = HashMap::from([(0, PathBuf::from("/nowhere/lib.so"))]);
        let functions = Functions { python: None, objects, loaded: RefCell::default() };
        let called = |function| functions.call(&FunctionCall { function, shape: 0, words: &[], stream: 0 });
        assert!(called(0).unwrap_err().to_string().contains("cannot load its shared object"));
        assert!(called(1).unwrap_err().to_string().contains("cannot call Python functions"));
    }
}
