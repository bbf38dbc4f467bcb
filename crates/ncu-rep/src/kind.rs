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

/// What to do with a page that has no launches.
const AGAIN: &str = "run with `--page raw --csv`, or keep the report with `ncu -o NAME`";

/// ` over 12 launches`, from the rows of a summary. Each kernel has several rows.
fn launches<'t>(columns: &[&str], rows: impl Iterator<Item = &'t str>) -> String {
    let Some(at) = columns.iter().position(|column| *column == "Invocations") else { return String::new() };
    let mut kernels = std::collections::HashMap::new();
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('"').split("\",\"").collect();
        if let (Some(kernel), Some(Ok(count))) =
            (cells.get(..at), cells.get(at).map(|cell| cell.replace(',', "").parse::<u64>()))
        {
            kernels.insert(kernel.to_vec(), count);
        }
    }
    match kernels.values().fold(0_u64, |sum, count| sum.saturating_add(*count)) {
        0 => String::new(),
        1 => " over 1 launch".to_owned(),
        count => format!(" over {count} launches"),
    }
}

/// Characters of a foreign text in a message.
const LONGEST: usize = 200;
/// Bytes that are searched.
const TEXT: usize = 1 << 20;

/// The first bytes of files that are taken for reports.
const MAGICS: [(&[u8], &str); 6] = [
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
    // A character can be cut at the end of the part that is searched.
    let text = (0..4).find_map(|cut| crate::csv::text_of(data.get(..data.len() - cut)?))?;
    if text.contains('\0') {
        return None;
    }
    let line = |start: &str| text.lines().find(|line| line.starts_with(start));
    // A CSV holds messages of ncu too, before its header.
    if let Some(header) = line("\"").filter(|header| header.contains("\",\"")) {
        let columns: Vec<&str> = header.trim_matches('"').split("\",\"").collect();
        let has = |column: &str| columns.contains(&column);
        return Some(match () {
            () if has("ID") && has("Kernel Name") => "it is CSV that ncu printed".to_owned(),
            () if has("Invocations") => {
                let rows = text.lines().skip_while(|line| *line != header).skip(1);
                format!("it is a summary{}: it has no single launch; {AGAIN}", launches(&columns, rows))
            }
            () if has("Source") && (has("#") || has("Address")) => {
                format!("it is ncu's source page, with a row for each instruction; {AGAIN}")
            }
            () if ["Session", "Launch Settings", "Device Attributes"].iter().any(|one| text.contains(one)) => {
                format!("it is ncu's session page, without launches; {AGAIN}")
            }
            () => format!(
                "it is a table with the columns {}; if it is ncu's, {AGAIN}",
                columns.iter().take(3).map(|name| format!("`{}`", shortened(name))).collect::<Vec<_>>().join(", ")
            ),
        });
    }
    if let Some(error) = line("==ERROR==") {
        return Some(format!("it is output of ncu, which failed: `{}`", shortened(error.trim_end())));
    }
    if text.contains("==WARNING== No kernels were profiled") {
        return Some("it is output of ncu, which profiled no kernel".to_owned());
    }
    if line("==PROF==").is_some() || (text.contains("Metric Name") && text.contains("Metric Value")) {
        return Some(format!("it is ncu's output for people; {AGAIN}"));
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
        let summary = b"\"Kernel Name\",\"Invocations\",\"Metric Name\",\"Average\"\n\"f\",\"4\",\"a\",\"1\"\n\"f\",\"4\",\"b\",\"1\"\n\"g\",\"8\",\"a\",\"2\"\n";
        let cases: [(&[u8], &str); 14] = [
            (b"", "is empty"),
            (b"==PROF== 1\n\"ID\",\"Kernel Name\",\"CC\"\n", "CSV that ncu printed"),
            (summary, "a summary over 12 launches: it has no single launch; run with `--page raw --csv`"),
            (b"\"Process ID\",\"Invocations\",\"Average\"\n", "a summary: it has no single launch"),
            (b"\"#\",\"Source\",\"Samples\",\"x\"\n", "source page"),
            (b"\"Session\",\"Value\"\n\"Device Attributes\",\"0\"\n", "session page"),
            (b"\"Time (%)\",\"Total Time (ns)\",\"Name\"\n", "columns `Time (%)`, `Total Time (ns)`, `Name`"),
            (b"==PROF== x\n==ERROR== ERR_NVGPUCTRPERM - no permission\n", "`==ERROR== ERR_NVGPUCTRPERM"),
            (b"==PROF== x\n==WARNING== No kernels were profiled.\n", "profiled no kernel"),
            (b"  f (1, 1, 1)\n Metric Name  Metric Unit Metric Value\n", "output for people"),
            (b"\xff\xfeh\0i\0", "text that starts with `hi`"),
            (b"\x7fELF\x02", "a cubin"),
            (b"hello\nyou\n", "text that starts with `hello`"),
            (b"\0\0\0\0", "starts with `00 00 00 00`"),
        ];
        for (data, said) in cases {
            assert!(described(data).contains(said), "{said}: {}", described(data));
        }
    }
}
