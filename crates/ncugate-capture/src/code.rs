//! The machine code of a captured kernel.

use crate::CaptureError;
use crate::record::{CaptureRecord, CodeImage};
use ncugate_model::cubin::{DeviceCode, device_code, machine_code};
use ncugate_model::demangled;
use std::path::Path;

/// First bytes of an ELF file.
const ELF: &[u8] = b"\x7fELF";
/// First bytes of a fat binary.
const CONTAINER: [u8; 4] = 0xBA55_ED50_u32.to_le_bytes();
/// Functions of the driver that machine code can call, and what they are.
const SYSTEM_CALLS: [(&[u8], &str); 4] = [
    (b"\0malloc\0", "device-side allocation"),
    (b"\0cnpLaunchDevice", "dynamic parallelism"),
    (b"\0cudaCDP2Launch", "dynamic parallelism"),
    (b"\0__cudaCDP2Launch", "dynamic parallelism"),
];
/// Beginnings of the names of NVIDIA's libraries, which load code from memory too.
const LIBRARIES: [&str; 7] = ["libcublas", "libcudnn", "libcufft", "libcusparse", "libcusolver", "libcurand", "libnv"];

/// A kernel's code in the form that a phase names.
#[derive(Debug, PartialEq, Eq)]
pub struct OriginalCode {
    /// The key of the phase: `cubin` or `ptx`.
    pub form: &'static str,
    pub bytes: Vec<u8>,
    /// The library that it belongs to; none of the program itself.
    pub library: Option<String>,
}

/// Finds the code that the driver launched.
pub fn kernel_code(capture: &CaptureRecord) -> Result<OriginalCode, CaptureError> {
    let refused = |reason: String| CaptureError::Refused(format!("`{}`: {reason}", demangled(&capture.kernel)));
    let mut found: Vec<OriginalCode> = Vec::new();
    let mut is_compiled_at_load = false;
    for image in &capture.images {
        let path = capture.folder.join(&image.file);
        let bytes = std::fs::read(&path).map_err(CaptureError::file(&path))?;
        let fitting = if bytes.starts_with(ELF) && holds(&bytes, &capture.kernel) {
            Some(("cubin", bytes))
        } else if bytes.starts_with(&CONTAINER) || bytes.starts_with(ELF) {
            // An image that cannot be read may be another one's than the kernel's.
            let (own, has_text) = of_container(&bytes, capture);
            is_compiled_at_load |= has_text;
            own.map(|own| ("cubin", own))
        } else {
            let text = String::from_utf8_lossy(&bytes);
            let is_its = text.contains(&format!(".entry {}", capture.kernel));
            is_its.then_some(("ptx", bytes))
        };
        if let Some((form, bytes)) = fitting
            && !found.iter().any(|code| code.bytes == bytes)
        {
            found.push(OriginalCode { form, bytes, library: library(image, &capture.program) });
        }
    }
    if found.len() > 1 {
        return Err(refused(format!("{} modules of the program have a kernel of this name", found.len())));
    }
    let Some(code) = found.pop() else {
        return Err(refused(if is_compiled_at_load {
            let arch = capture.capability.to_string().replace('.', "");
            format!("the driver compiles its PTX when it is loaded; build the program for the GPU (-arch=sm_{arch})")
        } else {
            "its machine code was not among the modules that the program loaded; report the library that loads it"
                .to_owned()
        }));
    };
    match SYSTEM_CALLS.iter().find(|(name, _)| code.bytes.windows(name.len()).any(|part| part == *name)) {
        Some((_, what)) => Err(refused(format!("its machine code uses {what}, which is not captured"))),
        None => Ok(code),
    }
}

fn holds(cubin: &[u8], kernel: &str) -> bool {
    machine_code(cubin, kernel).is_ok_and(|code| code.is_some())
}

/// The machine code that the driver takes for the GPU: of its major version, the nearest minor one; and whether there is PTX.
fn of_container(bytes: &[u8], capture: &CaptureRecord) -> (Option<Vec<u8>>, bool) {
    let (Ok(codes), gpu) = (device_code(bytes), capture.capability) else { return (None, false) };
    let mut best = None;
    let mut has_text = false;
    for code in codes {
        match code {
            DeviceCode::Cubin { capability, bytes }
                if capability.major == gpu.major
                    && capability.minor <= gpu.minor
                    && best.as_ref().is_none_or(|(minor, _)| *minor <= capability.minor)
                    && holds(&bytes, &capture.kernel) =>
            {
                best = Some((capability.minor, bytes.into_owned()));
            }
            DeviceCode::Ptx { kernels, .. } => has_text |= kernels.contains(&capture.kernel),
            DeviceCode::Cubin { .. } | DeviceCode::Other { .. } => {}
        }
    }
    (best.map(|(_, bytes)| bytes), has_text)
}

/// The library whose code an image is.
fn library(image: &CodeImage, program: &str) -> Option<String> {
    let name = |path: &str| Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned());
    let is_program = |path: &str| Path::new(path).canonicalize().is_ok_and(|path| path == Path::new(program));
    match &image.origin {
        Some(origin) if is_program(origin) => None,
        // Another file that the program loads by its path, such as a cubin, belongs to the program.
        Some(origin) => name(origin).filter(|name| name.contains(".so")),
        None => {
            let caller = image.caller.as_deref().and_then(name)?;
            LIBRARIES.iter().any(|library| caller.starts_with(library)).then_some(caller)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The code of a kernel among files of `tests/data/library`.
    fn found(kernel: &str, capability: [u32; 2], files: &[&str], more: &[u8]) -> Result<OriginalCode, String> {
        let folder = tempfile::tempdir().unwrap();
        let data = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/library"));
        let image = |name: &&str| {
            let bytes = [&std::fs::read(data.join(name)).unwrap(), more].concat();
            std::fs::write(folder.path().join(name), bytes).unwrap();
            CodeImage { file: (*name).to_owned(), origin: None, caller: None }
        };
        let images: Vec<CodeImage> = files.iter().map(image).collect();
        let record = serde_json::json!({
            "kernel": kernel, "program": "", "capability": capability, "grid": [1, 1, 1], "block": [1, 1, 1],
            "shared": 0, "attributes": [], "parameters": [], "maps": [], "arrays": [], "variables": [],
            "images": [], "allocations": []
        });
        let record: CaptureRecord = serde_json::from_value(record).unwrap();
        let record = CaptureRecord { images, folder: folder.path().to_owned(), ..record };
        kernel_code(&record).map_err(|error| error.to_string())
    }

    #[test]
    fn the_code_is_that_of_the_gpu_in_a_container_a_library_or_a_cubin() {
        let newest = found("bounded", [9, 0], &["kernels.fatbin"], &[]).unwrap();
        assert_eq!(found("bounded", [9, 0], &["architectures.fatbin", "kernels.so"], &[]).unwrap(), newest);
        let older = found("bounded", [8, 9], &["kernels.fatbin"], &[]).unwrap();
        assert!(older.form == "cubin" && older.bytes != newest.bytes && holds(&older.bytes, "bounded"));
        assert!(found("bounded", [9, 0], &["kernels.cubin"], &[]).is_ok());
    }

    #[test]
    fn code_that_cannot_be_replayed_is_refused_with_its_reason() {
        for (kernel, capability, more, reason) in [
            (
                "bounded",
                [12, 0],
                &b""[..],
                "the driver compiles its PTX when it is loaded; build the program for the GPU (-arch=sm_120)",
            ),
            ("bound", [9, 0], b"", "not among the modules"),
        ] {
            let error = found(kernel, capability, &["kernels.fatbin"], more).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
        for (call, reason) in
            [(&b"\0malloc\0"[..], "device-side allocation"), (b"\0cnpLaunchDeviceV2", "dynamic parallelism")]
        {
            let error = found("bounded", [9, 0], &["kernels.cubin"], call).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
    }

    #[test]
    fn code_of_a_shared_library_has_its_name() {
        let library = |origin: Option<&str>, caller: Option<&str>| {
            let [origin, caller] = [origin, caller].map(|path| path.map(str::to_owned));
            library(&CodeImage { file: String::new(), origin, caller }, "/proc/self/exe")
        };
        assert_eq!(library(Some("/usr/lib/libtorch_cuda.so"), None).as_deref(), Some("libtorch_cuda.so"));
        assert_eq!(library(None, Some("/usr/lib/libcublasLt.so.13")).as_deref(), Some("libcublasLt.so.13"));
        assert_eq!(library(None, Some("/cache/cuda_utils.so")), None, "a compiler's code in memory");
        assert_eq!(library(Some("/data/kernel.cubin"), None), None);
    }
}
