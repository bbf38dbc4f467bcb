//! Short names of kernels that stay distinct among the kernels of one report.

use ncugate_model::KernelName;

/// For each full name the function's name, with the template arguments in which functions of the same name differ.
/// If that leaves two kernels with one name, both keep their full names.
pub fn short_names(full: &[&str]) -> Vec<String> {
    let parsed: Vec<KernelName> = full.iter().map(|name| KernelName::parse(name)).collect();
    let shorts: Vec<String> = full.iter().zip(&parsed).map(|(name, own)| short(name, own, &parsed)).collect();
    let is_shared = |at: usize| shorts.iter().zip(full).any(|(short, name)| *short == shorts[at] && *name != full[at]);
    (0..full.len()).map(|at| if is_shared(at) { full[at].to_owned() } else { shorts[at].clone() }).collect()
}

fn short(full: &str, own: &KernelName, all: &[KernelName]) -> String {
    // A range or a graph has a name in brackets.
    if full.starts_with('<') || own.function().is_empty() {
        return full.to_owned();
    }
    let siblings = || all.iter().filter(|other| other.function() == own.function());
    let arguments = own.arguments();
    let differs = |at: usize| siblings().any(|other| other.arguments().get(at) != arguments.get(at));
    let apart: Vec<String> =
        (0..arguments.len()).filter(|at| differs(*at)).map(|at| arguments[at].replace(',', ", ")).collect();
    if apart.is_empty() { own.function().to_owned() } else { format!("{}<{}>", own.function(), apart.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_distinct() {
        let full = [
            "void at::native::fill<float, (int)4>(int, T1)",
            "void at::native::fill<float, (int)8>(int, T1)",
            "attn",
            "<graph>",
            "void flash::fwd<flash::Traits<64>, (bool)1>(flash::Params)",
        ];
        assert_eq!(short_names(&full), ["fill<4>", "fill<8>", "attn", "<graph>", "fwd"]);
        // Equal names and arguments in different scopes cannot be shortened.
        let scopes = ["void a::f<1>(int)", "void b::f<1>(int)"];
        assert_eq!(short_names(&scopes), scopes);
    }
}
