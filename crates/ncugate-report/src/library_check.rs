//! Resources of the kernels of a built library, for people and programs.

use super::document::{Column, DocumentBlock, DocumentTable, Section, TableCell};
use super::error::RenderError;
use super::{number, text};
use ncugate_judge::architectures::{self, ArchitectureGap};
use ncugate_judge::kernel_ratchet::{KernelResources, LibraryResources, RatchetResult};
use ncugate_model::{KernelName, Verdict};
use std::path::Path;

/// Most kernels in the table; those with the most registers are chosen.
const SHOWN: usize = 20;
/// Most changes listed for each kind.
const LISTED: usize = 50;

/// The kernels with the highest resource use, and the number of kernels.
pub fn kernels(library: &LibraryResources) -> Vec<DocumentBlock> {
    let mut most: Vec<&KernelResources> = library.kernels.iter().collect();
    most.sort_by(|a, b| {
        (b.spills, b.local, b.registers).cmp(&(a.spills, a.local, a.registers)).then(a.name.cmp(&b.name))
    });
    let names = names(&most[..most.len().min(SHOWN)]);
    let numbers = ["registers", "spills", "local", "stack", "shared", "occupancy"].map(Column::number);
    let mut table = table(["kernel", "arch"].map(Column::text).into_iter().chain(numbers));
    for (kernel, name) in most.iter().zip(names) {
        let KernelResources { arch, registers, spills, local, stack, shared, .. } = kernel;
        let occupancy = kernel.occupancy.map_or_else(|| "n/a".to_owned(), |percent| format!("{percent} %"));
        let numbers = [registers, spills, local, stack, shared].map(ToString::to_string);
        let cells = [name, arch.clone()].into_iter().chain(numbers).chain([occupancy]);
        table.row(cells.map(TableCell::new).collect());
    }
    let mut blocks: Vec<DocumentBlock> = table.block().into_iter().chain(more(library.kernels.len(), SHOWN)).collect();
    blocks.push(Section::new("", unjudged(library), Vec::new()).into());
    blocks
}

fn table(columns: impl IntoIterator<Item = Column>) -> DocumentTable {
    DocumentTable { is_whole: true, ..DocumentTable::new("Kernels", columns.into_iter().collect()) }
}

fn more(all: usize, shown: usize) -> Option<DocumentBlock> {
    (all > shown).then(|| DocumentBlock::Aside(format!("{} more; --format json has all", all - shown)))
}

/// What a library holds, and how it gets a baseline.
pub fn unjudged(library: &LibraryResources) -> String {
    format!("{}\nnothing was compared with a baseline: --baseline FILE --update writes one", summary(library))
}

/// Kernels in rows, architectures in columns, then what an architecture lost. `title` shows a kernel's name.
pub fn by_architecture(
    library: &LibraryResources,
    gaps: &[ArchitectureGap],
    title: fn(&str) -> String,
) -> Vec<DocumentBlock> {
    let (archs, kernels) = architectures::by_kernel(library);
    let mut builds = table(std::iter::once("kernel").chain(archs.iter().copied()).map(Column::text));
    let lost = |name: &&str| !gaps.iter().any(|gap| gap.kernel == **name);
    let mut names: Vec<&str> = kernels.keys().copied().collect();
    names.sort_by_key(lost);
    for name in names.into_iter().take(SHOWN) {
        let on = |arch: &&str| {
            let build = kernels[name].iter().find(|build| build.arch == **arch);
            let absent = if library.ptx_kernels.contains(name) { "PTX" } else { "-" };
            build.map_or_else(|| absent.to_owned(), |build| build_cell(build))
        };
        let cells = std::iter::once(text::line(&title(name))).chain(archs.iter().map(on));
        builds.row(cells.map(TableCell::new).collect());
    }
    let mut losses = table(["", ""].map(Column::text));
    for gap in gaps.iter().take(LISTED) {
        let what = format!("{}: {}: {}", gap.arch, text::line(&title(&gap.kernel)), gap.what);
        losses.row(["lost", &what].map(TableCell::new).to_vec());
    }
    let equal = match (gaps.is_empty(), archs.len()) {
        (false, _) => None,
        (true, 2..) => Some("no architecture lost what another has"),
        (true, _) => Some("nothing was compared: the machine code is of fewer than two chips"),
    };
    let equal = equal.map(|words| DocumentBlock::Text(words.to_owned()));
    let builds = builds.block().into_iter().chain(more(kernels.len(), SHOWN));
    builds.chain(losses.block()).chain(more(gaps.len(), LISTED)).chain(equal).collect()
}

/// `96 registers, 24 spills, 50 % by registers, mma ldmatrix`: the first of the resources that limit the occupancy
fn build_cell(build: &KernelResources) -> String {
    let KernelResources { registers, spills, local, shared, .. } = build;
    let mut parts = vec![number::counted(*registers as usize, "register")];
    match (spills, local) {
        (0, 0) => {}
        (0, local) => parts.push(format!("{local} local")),
        (spills, _) => parts.push(number::counted(*spills as usize, "spill")),
    }
    parts.extend((*shared > 0).then(|| format!("{shared} B shared")));
    parts.extend(build.occupancy.map(|percent| format!("{percent} % by {}", build.limiters.first().unwrap_or(&"?"))));
    let features: Vec<&str> = build.features.iter().map(|feature| feature.name()).collect();
    parts.extend((!features.is_empty()).then(|| features.join(" ")));
    parts.join(", ")
}

/// The name of each kernel of a table: scopes, function and template arguments. Parameters are added if kernels of one
/// architecture differ in nothing else.
fn names(kernels: &[&KernelResources]) -> Vec<String> {
    let short = |kernel: &KernelResources| KernelName::parse(&kernel.name).to_string();
    let is_alone = |kernel: &KernelResources| {
        kernels.iter().filter(|other| other.arch == kernel.arch && short(other) == short(kernel)).count() == 1
    };
    let called = |kernel: &&KernelResources| if is_alone(kernel) { short(kernel) } else { kernel.title() };
    kernels.iter().map(|kernel| text::line(&called(kernel))).collect()
}

/// `414 kernels in 12 entries of machine code; 11 entries of PTX are not judged`
pub fn summary(library: &LibraryResources) -> String {
    let kernels = number::counted(library.kernels.len(), "kernel");
    let ptx = match library.ptx {
        0 => String::new(),
        1 => "; 1 entry of PTX is not judged: the driver compiles it".to_owned(),
        many => format!("; {many} entries of PTX are not judged: the driver compiles them"),
    };
    let other = match library.other {
        0 => String::new(),
        many => format!("; {many} of another kind (for link-time optimisation, say) are not judged either"),
    };
    let entries = if library.cubins == 1 { "1 entry".to_owned() } else { format!("{} entries", library.cubins) };
    format!("{kernels} in {entries} of machine code{ptx}{other}")
}

/// A library compared with its baseline; the verdict last.
pub fn result(library: &LibraryResources, result: &RatchetResult, baseline: &Path) -> Vec<DocumentBlock> {
    let RatchetResult { worse, better, new, gone, .. } = result;
    let kinds = [("worse", worse), ("better", better), ("new", new), ("gone", gone)];
    let mut changed = table(["", "", "", ""].map(Column::text));
    for (word, change) in kinds.iter().flat_map(|(word, all)| all.iter().take(LISTED).map(move |one| (word, one))) {
        let cells = [*word, change.arch.as_str(), &text::line(&change.kernel), &change.changes.join(", ")];
        changed.row(cells.map(TableCell::new).to_vec());
    }
    let counts: Vec<String> = kinds.iter().map(|(word, all)| format!("{} {word}", all.len())).collect();
    let other = match result.verdict {
        Verdict::Pass | Verdict::Fail => String::new(),
        Verdict::Inconclusive => format!(
            "; {} belongs to another library: review the difference, then rewrite it with --update",
            baseline.display()
        ),
    };
    let verdict = result.verdict.word().to_uppercase();
    let compared = number::counted(result.compared, "kernel");
    let mut blocks: Vec<DocumentBlock> = changed.block().into_iter().collect();
    blocks.extend(kinds.iter().filter_map(|(_, all)| more(all.len(), LISTED)));
    blocks.push(DocumentBlock::Text(summary(library)));
    blocks.push(DocumentBlock::Text(format!("{verdict} {compared} compared: {}{other}", counts.join(", "))));
    blocks
}

/// All kernels as JSON, and what an architecture lost.
///
/// # Errors
/// A value that JSON cannot hold.
pub fn json(library: &LibraryResources, gaps: &[ArchitectureGap]) -> Result<String, RenderError> {
    #[derive(serde::Serialize)]
    struct Checked<'l> {
        #[serde(flatten)]
        library: &'l LibraryResources,
        lost: &'l [ArchitectureGap],
    }
    Ok(serde_json::to_string(&Checked { library, lost: gaps })?)
}

/// The comparison with the baseline, as JSON.
///
/// # Errors
/// A value that JSON cannot hold.
pub fn result_json(result: &RatchetResult) -> Result<String, RenderError> {
    Ok(serde_json::to_string(result)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(name: &str, arch: &str) -> KernelResources {
        let (registers, stack, spills, local, shared, threads) = (32, 0, 0, 0, 0, 256);
        KernelResources {
            name: name.to_owned(),
            arch: arch.to_owned(),
            registers,
            stack,
            spills,
            local,
            shared,
            occupancy: None,
            threads,
            limiters: Vec::new(),
            features: Vec::new(),
        }
    }

    #[test]
    fn kernels_are_told_apart_by_template_arguments_and_by_parameters_where_nothing_else_differs() {
        let reduce = "_ZN2ns7reduce6IfLj512ELb1EEEvPT_S2_j";
        let kernels =
            [used(reduce, "sm_90"), used("_Z3addPfi", "sm_90"), used("_Z3addPdi", "sm_90"), used("_Z3addPfi", "sm_80")];
        let named = names(&kernels.iter().collect::<Vec<_>>());
        assert_eq!(named, ["ns::reduce6<float, 512, 1>", "add(float*, int)", "add(double*, int)", "add"]);
    }
}
