//! What a file is that is not a report, in words.

/// Describes the content of a file that is not a report, with what to do.
pub(crate) fn described(data: &[u8]) -> String {
    let known = MAGICS.iter().find(|(magic, _)| data.starts_with(magic)).map(|(_, kind)| (*kind).to_owned());
    let start = data.get(..data.len().min(TEXT)).unwrap_or_default();
    known.or_else(|| of_text(start)).unwrap_or_else(|| {
        let found: Vec<String> = data.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        format!("it starts with `{}`, not with `NVR\\0` or a zstd frame", found.join(" "))
    })
}

/// Characters of a foreign text in a message.
const LONGEST: usize = 200;
/// Bytes that are searched.
const TEXT: usize = 1 << 20;

/// The first bytes of files that are taken for reports.
const MAGICS: [(&[u8], &str); 8] = [
    (
        b"\xff\xfe",
        "it is text in UTF-16; hint: in PowerShell, `ncu ... | Out-File -Encoding utf8`, or ncu's `--log-file`",
    ),
    (b"\xfe\xff", "it is text in UTF-16; hint: save it as UTF-8"),
    (b"SQLite format 3\0", "it is an SQLite database, as Nsight Systems exports; profile with ncu"),
    (b"\x7fELF", "it is a program, a library or a cubin; profile it with `ncu -o NAME`"),
    (b"PK\x03\x04", "it is a zip archive; unpack it first"),
    (b"\x1f\x8b", "it is a gzip file; unpack it first"),
    (b"version https://git-lfs", "it is a pointer of Git LFS; run `git lfs pull`"),
    (b"{", "it is JSON"),
];

fn of_text(data: &[u8]) -> Option<String> {
    if data.is_empty() {
        return Some("the file is empty; look for an error of ncu, and profile again".to_owned());
    }
    let text = match std::str::from_utf8(data) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => std::str::from_utf8(data.get(..error.valid_up_to())?).ok()?,
        Err(_) => return None,
    };
    if text.contains('\0') {
        return None;
    }
    let text = text.trim_start_matches('\u{feff}');
    let line = |start: &str| text.lines().find(|line| line.starts_with(start));
    // A CSV holds messages of ncu too, before its header.
    if let Some(header) = line("\"").filter(|header| header.contains("\",\"")) {
        let columns: Vec<&str> = header.trim_matches('"').split("\",\"").collect();
        return Some(match () {
            () if columns.contains(&"ID") && columns.contains(&"Kernel Name") => {
                "it is CSV that ncu printed; hint: `ncugate show` and `ncugate export` read it, everything else needs \
                 the report of `ncu -o NAME`"
                    .to_owned()
            }
            () if columns.contains(&"Invocations") => {
                "it is a summary of ncu (`--print-summary`), which has no single launches; print it without that option"
                    .to_owned()
            }
            () => format!(
                "it is a table with the columns {}; hint: print `--csv` with `--page raw`, or keep the report with \
                 `ncu -o NAME`",
                columns.iter().take(3).map(|name| format!("`{}`", shortened(name))).collect::<Vec<_>>().join(", ")
            ),
        });
    }
    if line("ID,").is_some_and(|header| header.contains("Kernel Name")) {
        return Some(
            "it is CSV of ncu that another program saved: its header is not quoted; use ncu's own file".to_owned(),
        );
    }
    if let Some(error) = line("==ERROR==") {
        return Some(format!("it is output of ncu, which failed: `{}`", shortened(error.trim_end())));
    }
    if text.contains("==WARNING== No kernels were profiled") {
        return Some("it is output of ncu, which profiled no kernel".to_owned());
    }
    if line("==PROF==").is_some() || (text.contains("Metric Name") && text.contains("Metric Value")) {
        return Some(
            "it is ncu's output for people; keep the report with `ncu -o NAME`, or print `--csv --page raw`".to_owned(),
        );
    }
    let start: String = text.lines().next().unwrap_or_default().chars().take(40).collect();
    Some(format!("it is text that starts with `{start}`"))
}

/// The start of a text of somebody else's file.
fn shortened(text: &str) -> String {
    text.chars().take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_no_report_is_named() {
        let cases: [(&[u8], &str); 12] = [
            (b"", "is empty"),
            (b"==PROF== 1\n\"ID\",\"Kernel Name\",\"CC\"\n", "CSV that ncu printed"),
            (b"\"Process ID\",\"Invocations\",\"Average\"\n", "summary of ncu"),
            (b"\"#\",\"Source\",\"Samples\",\"x\"\n", "columns `#`, `Source`, `Samples`"),
            (b"ID,Process ID,Kernel Name\n0,1,f\n", "another program saved"),
            (b"==PROF== x\n==ERROR== ERR_NVGPUCTRPERM - no permission\n", "`==ERROR== ERR_NVGPUCTRPERM"),
            (b"==PROF== x\n==WARNING== No kernels were profiled.\n", "profiled no kernel"),
            (b"  f (1, 1, 1)\n Metric Name  Metric Unit Metric Value\n", "output for people"),
            (b"\xff\xfe\"\0I\0", "UTF-16"),
            (b"\x7fELF\x02", "a cubin"),
            (b"hello\nyou\n", "text that starts with `hello`"),
            (b"\0\0\0\0", "starts with `00 00 00 00`"),
        ];
        for (data, said) in cases {
            assert!(described(data).contains(said), "{said}: {}", described(data));
        }
    }
}
