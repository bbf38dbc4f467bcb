//! The workload of a kernel: extents of its buffers, sizes to try, expected outputs.

use super::family::KernelFamily;
use super::source::{ArgumentKind, KernelArgument, KernelSource, plain};
use super::symbol::{DraftSymbol, SymbolOrigin};
use super::types::{ElementType, element, is_whole};
use super::usage::{Division, PointerUse};
use ncugate_model::Dtype;

/// The source of the right answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DraftReference {
    /// A built-in, as in a phase.
    Builtin(String),
    /// A Python function: the lines of its body. The kernel's name determines the computation.
    Python(Vec<String>),
    /// A Python function that the user has to write.
    Unwritten,
}

/// A dimension, with its extent in each shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DraftDimension {
    pub name: String,
    /// Its extent in the timed shape.
    pub large: i64,
    /// Its extent in the shape with tails.
    pub ragged: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DraftBuffer {
    pub name: String,
    /// Type of an element.
    pub dtype: Dtype,
    pub shape: Vec<String>,
    /// Its role, if it is not an input.
    pub role: Option<&'static str>,
    /// Its content before a launch, as in a phase.
    pub init: Option<String>,
    /// How partial results are combined.
    pub reduce: Option<&'static str>,
}

/// The drafted workload of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DraftWorkload {
    /// Dimensions in order.
    pub dimensions: Vec<DraftDimension>,
    /// Buffers in the order of the signature.
    pub buffers: Vec<DraftBuffer>,
    pub reference: DraftReference,
    pub flops: Option<String>,
    /// Extent of rows, for the grid.
    pub rows: String,
    /// Extent of columns, for the grid.
    pub columns: String,
}

/// Extents of the rows and columns of a kernel, and a dimension that is not one of its arguments.
struct Axes {
    rows: String,
    columns: String,
    added: Option<&'static str>,
}

/// Drafts the workload. An output with one element per block has the extent 1 here, and states how its elements are combined.
pub fn workload(kernel: &KernelSource<'_>) -> DraftWorkload {
    let family = family(kernel);
    let axes = axes(kernel, family);
    let reference = reference(kernel, family, &axes);
    let extents = kernel.extents();
    let names: Vec<&str> = extents.iter().copied().chain(axes.added).collect();
    let dimensions = names.iter().map(|name| dimension(kernel, family, name, &axes, names.len())).collect();
    let mut buffers: Vec<DraftBuffer> =
        kernel.buffers().map(|(name, of, used)| buffer(kernel, family, &axes, (name, of, used), &names)).collect();
    if let KernelFamily::Reduce(operation) = family {
        buffers.iter_mut().filter(|b| b.role == Some("output") && b.init.is_none() && b.shape == ["1"]).for_each(|b| {
            b.reduce = Some(operation);
        });
    }
    buffers.extend(kernel.symbols.iter().filter_map(|symbol| symbol_buffer(kernel, symbol, &names)));
    let is_real = kernel.buffers().all(|(_, of, _)| !is_whole(of.dtype));
    let flops = match family {
        KernelFamily::Gemm => {
            let inner = gemm_extents(&extents).map_or("K", |[_, _, k]| k);
            Some(format!("2 * {} * {} * {inner}", axes.rows, axes.columns))
        }
        KernelFamily::Gemv if is_real => Some(format!("2 * {} * {}", axes.rows, axes.columns)),
        KernelFamily::Dot | KernelFamily::Axpy if is_real => Some(format!("2 * {}", axes.rows)),
        _ => None,
    };
    DraftWorkload { dimensions, buffers, reference, flops, rows: axes.rows, columns: axes.columns }
}

/// The buffer that fills a variable: an array of real numbers with extents that the source gives. The values of any other
/// variable can have a meaning that no draft knows.
fn symbol_buffer(kernel: &KernelSource<'_>, symbol: &DraftSymbol, dimensions: &[&str]) -> Option<DraftBuffer> {
    let of = element(kernel.tokens, &symbol.of).filter(|of| !is_whole(of.dtype) && of.dtype != Dtype::Bool)?;
    let name = plain(&symbol.name);
    let taken = dimensions.contains(&name.as_str()) || kernel.arguments.iter().any(|argument| argument.name == name);
    let mut shape = symbol.extents.iter().cloned().collect::<Option<Vec<String>>>().filter(|_| !taken)?;
    let last = shape.last_mut()?;
    if of.lanes > 1 {
        *last = format!("{} * ({last})", of.lanes);
    }
    let is_filled = symbol.origin != SymbolOrigin::Zeroed;
    is_filled.then_some(DraftBuffer { name, dtype: of.dtype, shape, role: None, init: None, reduce: None })
}

/// The family of the name, if its parameters match.
fn family(kernel: &KernelSource<'_>) -> KernelFamily {
    let read = kernel.used(|used| used == PointerUse::Read);
    let written = kernel.used(|used| used != PointerUse::Read);
    let extents = kernel.extents();
    let one = |inputs: usize| read.len() == inputs && written.len() == 1;
    let in_place = read.is_empty() && written.len() == 1;
    let whole = |name: &str| kernel.buffers().any(|(own, of, _)| own == name && is_whole(of.dtype));
    let changes = kernel.used(|used| used == PointerUse::Changed);
    let strange = kernel.arguments.iter().any(|argument| argument.kind == ArgumentKind::Unknown);
    let fits = !strange
        && match kernel.family {
            KernelFamily::Gemm => one(2) && gemm_extents(&extents).is_some(),
            KernelFamily::Softmax => (one(1) || in_place) && !extents.is_empty(),
            KernelFamily::Reduce(_) => one(1) && (1..=2).contains(&extents.len()),
            KernelFamily::Copy => one(1) && !extents.is_empty(),
            KernelFamily::LayerNorm | KernelFamily::RmsNorm => {
                !read.is_empty() && !written.is_empty() && extents.len() >= 2
            }
            KernelFamily::Transpose => one(1) && (1..=2).contains(&extents.len()),
            KernelFamily::Histogram => one(1) && whole(read[0]) && !extents.is_empty(),
            KernelFamily::Gemv => one(2) && (1..=2).contains(&extents.len()),
            KernelFamily::Axpy => one(1) && extents.len() == 1 && changes.len() == 1,
            KernelFamily::Dot => {
                one(2) && extents.len() == 1 && kernel.used(|used| used == PointerUse::Added).len() == 1
            }
            KernelFamily::Elementwise(text) => {
                let inputs = 1 + usize::from(text.contains("{1}"));
                (one(inputs) || in_place && inputs == 1 && changes.len() == 1) && !extents.is_empty()
            }
            KernelFamily::Unknown => false,
        };
    if fits { kernel.family } else { KernelFamily::Unknown }
}

/// M, N and K of a matrix product, by their names, else by their order; a single extent is all three.
fn gemm_extents<'e>(extents: &[&'e str]) -> Option<[&'e str; 3]> {
    let named = |letter: &str| {
        extents.iter().copied().find(|name| {
            let name = name.to_lowercase();
            name == letter || name.starts_with(&format!("{letter}_")) || name.ends_with(&format!("_{letter}"))
        })
    };
    match (named("m"), named("n"), named("k"), extents) {
        (Some(m), Some(n), Some(k), _) => Some([m, n, k]),
        (.., [m, n, k]) => Some([m, n, k]),
        (.., [one]) => Some([one; 3]),
        _ => None,
    }
}

fn axes(kernel: &KernelSource<'_>, family: KernelFamily) -> Axes {
    let extents = kernel.extents();
    let plain = |rows: &str, columns: &str| Axes { rows: rows.to_owned(), columns: columns.to_owned(), added: None };
    if let (KernelFamily::Gemm, Some([m, n, _])) = (family, gemm_extents(&extents)) {
        return plain(m, n);
    }
    let by_row = kernel.usage.bounds().find(|(_, index)| index.division != Division::Threads).map(|(extent, _)| extent);
    let block_a_row = kernel.usage.indices.iter().any(|index| index.axis == 0 && index.division == Division::Blocks);
    match extents.as_slice() {
        [] => Axes { rows: "N".to_owned(), columns: "N".to_owned(), added: Some("N") },
        [one] if family == KernelFamily::Transpose => plain(one, one),
        [one]
            if by_row.is_none()
                && block_a_row
                && !matches!(family, KernelFamily::Unknown | KernelFamily::Reduce(_)) =>
        {
            Axes { rows: "ROWS".to_owned(), columns: (*one).to_owned(), added: Some("ROWS") }
        }
        [one] => plain(one, one),
        [first, second] => {
            let is_column = |name: &str| {
                let name = name.to_lowercase();
                ["col", "width", "dim", "hidden"].iter().any(|part| name.contains(part))
                    || matches!(name.as_str(), "c" | "d" | "w")
            };
            let swapped = by_row.map_or(is_column(first) && !is_column(second), |rows| rows == *second);
            if swapped { plain(second, first) } else { plain(first, second) }
        }
        [rows @ .., columns] => plain(&rows.join(" * "), columns),
    }
}

fn dimension(kernel: &KernelSource<'_>, family: KernelFamily, name: &str, axes: &Axes, count: usize) -> DraftDimension {
    let extents = kernel.extents();
    let (large, ragged) = match (family, gemm_extents(&extents)) {
        (KernelFamily::Gemm, Some([m, n, _])) => (
            1024,
            if extents.len() == 1 || name == m {
                70
            } else if name == n {
                130
            } else {
                65
            },
        ),
        (KernelFamily::Histogram, _) if name.to_lowercase().contains("bin") => (256, 256),
        (KernelFamily::Histogram, _) => (1 << 22, 100_004),
        (KernelFamily::Unknown, _) if count > 2 => (16, 5),
        (_, _) if count == 1 && axes.rows == axes.columns && family == KernelFamily::Transpose => (2048, 1021),
        (_, _) if count == 1 => (1 << 22, 100_004),
        (_, _) if count == 2 && name == axes.columns => (1024, 260),
        (_, _) if count == 2 => (4096, 1021),
        (_, _) => {
            let at = extents.iter().position(|extent| *extent == name).unwrap_or(0);
            let sizes: &[(i64, i64)] =
                if count == 3 { &[(8, 3), (512, 173), (1024, 260)] } else { &[(2, 2), (8, 3), (512, 173), (64, 64)] };
            sizes.get(at).copied().unwrap_or((16, 5))
        }
    };
    DraftDimension { name: name.to_owned(), large, ragged }
}

fn buffer(
    kernel: &KernelSource<'_>,
    family: KernelFamily,
    axes: &Axes,
    (name, of, used): (&str, ElementType, PointerUse),
    names: &[&str],
) -> DraftBuffer {
    let extents = kernel.extents();
    let inputs = kernel.used(|used| used == PointerUse::Read);
    let place = inputs.iter().position(|input| *input == name);
    let (rows, columns) = (axes.rows.clone(), axes.columns.clone());
    let is_vector = rows == columns
        && family != KernelFamily::Transpose
        && family != KernelFamily::Gemm
        && family != KernelFamily::Gemv;
    let matrix = || if is_vector { vec![rows.clone()] } else { vec![rows.clone(), columns.clone()] };
    let bins = bins(&extents);
    let lower = name.to_lowercase();
    let is_row_statistic = ["mean", "rstd", "inv", "var"].iter().any(|part| lower.contains(part));
    let mut shape = match (family, place) {
        (KernelFamily::Gemm, Some(at)) => {
            let k = gemm_extents(&extents).map_or("K", |[_, _, k]| k).to_owned();
            if at == 0 { vec![rows.clone(), k] } else { vec![k, columns.clone()] }
        }
        (KernelFamily::Transpose, None) => vec![columns.clone(), rows.clone()],
        (KernelFamily::Reduce(_), None) if is_vector => vec!["1".to_owned()],
        (KernelFamily::Reduce(_), None) => vec![rows.clone()],
        (KernelFamily::LayerNorm | KernelFamily::RmsNorm, Some(at)) if at > 0 => vec![columns.clone()],
        (KernelFamily::LayerNorm | KernelFamily::RmsNorm, None) if is_row_statistic => vec![rows.clone()],
        (KernelFamily::Histogram, None) => vec![bins.to_owned()],
        (KernelFamily::Histogram, Some(_)) => {
            vec![extents.iter().copied().find(|name| *name != bins).unwrap_or("N").to_owned()]
        }
        (KernelFamily::Gemv, Some(1)) => vec![columns.clone()],
        (KernelFamily::Gemv, None) => vec![rows.clone()],
        (KernelFamily::Dot, None) => vec!["1".to_owned()],
        (KernelFamily::Unknown, _) => names.iter().map(|name| (*name).to_owned()).collect(),
        _ => matrix(),
    };
    if let (true, Some(last)) = (of.lanes > 1, shape.last_mut()) {
        *last = format!("{} * {last}", of.lanes);
    }
    let role = match used {
        PointerUse::Read => None,
        PointerUse::Changed if family != KernelFamily::Histogram => Some("inout"),
        PointerUse::Written | PointerUse::Changed | PointerUse::Added => Some("output"),
    };
    let init = match (family, used) {
        (KernelFamily::Histogram, PointerUse::Read) => Some(format!("{{ indices = {} }}", extent_text(bins))),
        (_, PointerUse::Read | PointerUse::Changed) if role != Some("output") && is_whole(of.dtype) => {
            Some("{ indices = 100 }".to_owned())
        }
        (KernelFamily::Reduce("max"), PointerUse::Added) => Some("\"-inf\"".to_owned()),
        (_, PointerUse::Added) | (KernelFamily::Histogram, PointerUse::Changed) => Some("{ constant = 0 }".to_owned()),
        (_, PointerUse::Read | PointerUse::Written | PointerUse::Changed) => None,
    };
    DraftBuffer { name: name.to_owned(), dtype: of.dtype, shape, role, init, reduce: None }
}

/// The extent of a histogram.
fn bins<'e>(extents: &[&'e str]) -> &'e str {
    extents.iter().copied().find(|name| name.to_lowercase().contains("bin")).unwrap_or("256")
}

/// A literal for a number, else an expression.
pub fn extent_text(extent: &str) -> String {
    if extent.parse::<i64>().is_ok() { extent.to_owned() } else { format!("{extent:?}") }
}

fn reference(kernel: &KernelSource<'_>, family: KernelFamily, axes: &Axes) -> DraftReference {
    let inputs = kernel.used(|used| used == PointerUse::Read);
    let outputs = kernel.used(|used| used != PointerUse::Read);
    let input = |at: usize| inputs.get(at).or(outputs.first()).copied().unwrap_or("x");
    let returns = |text: String| DraftReference::Python(vec![format!("return {text}")]);
    let real = |part: &str| {
        let named = |argument: &&KernelArgument| {
            matches!(argument.kind, ArgumentKind::Real(_)) && argument.name.to_lowercase().contains(part)
        };
        kernel.arguments.iter().find(named).map(|argument| argument.name.as_str())
    };
    match family {
        KernelFamily::Gemm => DraftReference::Builtin("\"gemm\"".to_owned()),
        KernelFamily::Softmax => DraftReference::Builtin("\"softmax\"".to_owned()),
        KernelFamily::Copy => DraftReference::Builtin("\"copy\"".to_owned()),
        KernelFamily::Reduce("sum") => DraftReference::Builtin("\"reduce\"".to_owned()),
        KernelFamily::Reduce(operation) => {
            DraftReference::Builtin(format!("{{ builtin = \"reduce\", op = \"{operation}\" }}"))
        }
        KernelFamily::Transpose => returns(format!("{}.T", input(0))),
        KernelFamily::Histogram => {
            returns(format!("np.bincount({}.astype(int), minlength={})", input(0), bins(&kernel.extents())))
        }
        KernelFamily::Gemv => returns(format!("{} @ {}", input(0), input(1))),
        KernelFamily::Dot => returns(format!("np.array([({} * {}).sum()])", input(0), input(1))),
        KernelFamily::Axpy => {
            let factor = kernel.arguments.iter().find(|a| matches!(a.kind, ArgumentKind::Real(_)));
            match factor {
                Some(factor) => returns(format!("{} * {} + {}", factor.name, input(0), outputs[0])),
                None => DraftReference::Unwritten,
            }
        }
        KernelFamily::Elementwise(text) => returns(text.replace("{0}", input(0)).replace("{1}", input(1))),
        KernelFamily::LayerNorm | KernelFamily::RmsNorm => normal(kernel, family, axes, real("eps")),
        KernelFamily::Unknown => DraftReference::Unwritten,
    }
}

/// Rows over their deviation, scaled and shifted by the other inputs; means and deviations too, if the kernel writes them.
fn normal(kernel: &KernelSource<'_>, family: KernelFamily, axes: &Axes, eps: Option<&str>) -> DraftReference {
    let inputs = kernel.used(|used| used == PointerUse::Read);
    let outputs = kernel.used(|used| used != PointerUse::Read);
    let [x, weights @ ..] = inputs.as_slice() else { return DraftReference::Unwritten };
    if weights.len() > 2 || axes.rows == axes.columns {
        return DraftReference::Unwritten;
    }
    let eps = eps.unwrap_or("1e-5");
    let is_layer = family == KernelFamily::LayerNorm;
    let mean = if is_layer { format!("{x}.mean(-1, keepdims=True)") } else { "0".to_owned() };
    let mut lines = vec![
        format!("mean = {mean}"),
        format!("rstd = 1 / np.sqrt((({x} - mean) ** 2).mean(-1, keepdims=True) + {eps})"),
        format!("normal = ({x} - mean) * rstd"),
    ];
    let shifts = |name: &&&str| matches!(name.to_lowercase().as_str(), "beta" | "bias" | "b" | "shift");
    let shift = weights.iter().find(shifts).or(weights.get(1));
    if let Some(weight) = weights.iter().find(|name| Some(*name) != shift) {
        lines.push(format!("normal = normal * {weight}"));
    }
    if let Some(shift) = shift {
        lines.push(format!("normal = normal + {shift}"));
    }
    let value = |name: &&str| {
        let lower = name.to_lowercase();
        let of = if lower.contains("mean") {
            "mean[:, 0]"
        } else if lower.contains("rstd") || lower.contains("inv") {
            "rstd[:, 0]"
        } else if lower.contains("var") {
            "1 / rstd[:, 0] ** 2"
        } else {
            "normal"
        };
        format!("\"{name}\": {of}")
    };
    lines.push(format!("return {{{}}}", outputs.iter().map(value).collect::<Vec<_>>().join(", ")));
    DraftReference::Python(lines)
}
