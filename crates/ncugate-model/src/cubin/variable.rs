//! Variables of a cubin (`__constant__` and `__device__`) that the host can write.

use super::{CubinError, Elf, damaged};
use crate::{demangled, nearest};
use object::{Object as _, ObjectSection as _, ObjectSymbol as _, SymbolKind};

/// A variable of a cubin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleVariable {
    /// Its name in the cubin: mangled, if it is in a namespace or static.
    pub symbol: String,
    /// Its size in bytes.
    pub bytes: u64,
}

/// The variables of a cubin, in the order of their names.
///
/// # Errors
/// The cubin is damaged.
pub fn variables(cubin: &[u8]) -> Result<Vec<ModuleVariable>, CubinError> {
    let elf = Elf::parse(cubin).map_err(damaged)?;
    let is_kept = |name: &str| name.starts_with(".nv.constant3") || name.starts_with(".nv.global");
    let mut found = Vec::new();
    for symbol in elf.symbols().filter(|symbol| symbol.kind() == SymbolKind::Data && symbol.size() > 0) {
        let section = symbol.section_index().and_then(|index| elf.section_by_index(index).ok());
        if !section.is_some_and(|section| section.name().is_ok_and(is_kept)) {
            continue;
        }
        let name = symbol.name().map_err(damaged)?;
        // Names with a dollar sign belong to the compiler.
        if !name.contains('$') {
            found.push(ModuleVariable { symbol: name.to_owned(), bytes: symbol.size() });
        }
    }
    found.sort_by(|a, b| a.symbol.cmp(&b.symbol));
    Ok(found)
}

/// The variable that a user names `name`: an exact symbol, else the one with that C++ name. Scopes can be omitted if
/// only one variable fits.
///
/// # Errors
/// None fits, or several do; lists the variables.
pub fn variable<'v>(variables: &'v [ModuleVariable], name: &str) -> Result<&'v ModuleVariable, String> {
    if let Some(found) = variables.iter().find(|variable| variable.symbol == name) {
        return Ok(found);
    }
    let inner = format!("::{name}");
    let means = |full: &str| full == name || full.ends_with(&inner);
    let fitting: Vec<&ModuleVariable> =
        variables.iter().filter(|variable| means(&demangled(&variable.symbol))).collect();
    match fitting.as_slice() {
        [only] => Ok(only),
        [] => {
            let known: Vec<String> = variables.iter().map(|variable| demangled(&variable.symbol)).collect();
            let hint = nearest(name, known.iter().map(String::as_str))
                .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            Err(format!("no variable `{name}` in the cubin; variables: {known}{hint}"))
        }
        several => {
            let fitting: Vec<String> = several.iter().map(|variable| demangled(&variable.symbol)).collect();
            Err(format!(
                "`{name}` matches {} variables of the cubin: {}; hint: add namespaces, or use the mangled name",
                fitting.len(),
                fitting.join(", ")
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Vec<ModuleVariable> {
        ["weights", "_ZN2ns5tableE", "_ZL6filter", "_ZN1a4biasE", "_ZN1b4biasE"]
            .map(|symbol| ModuleVariable { symbol: symbol.to_owned(), bytes: 64 })
            .to_vec()
    }

    #[test]
    fn a_variable_is_found_by_its_symbol_or_as_cpp_names_it() {
        let known = known();
        let found = |name: &str| variable(&known, name).map(|found| found.symbol.clone());
        assert_eq!(found("weights").unwrap(), "weights");
        assert_eq!(found("ns::table").unwrap(), "_ZN2ns5tableE");
        assert_eq!(found("table").unwrap(), "_ZN2ns5tableE");
        assert_eq!(found("_ZN2ns5tableE").unwrap(), "_ZN2ns5tableE");
        assert_eq!(found("filter").unwrap(), "_ZL6filter");
    }

    #[test]
    fn what_does_not_name_one_variable_is_refused_with_what_there_is() {
        let known = known();
        let refused = variable(&known, "weight").unwrap_err();
        assert!(refused.starts_with("no variable `weight` in the cubin; variables: weights, ns::table"), "{refused}");
        assert!(refused.ends_with("did you mean `weights`?"), "{refused}");
        assert_eq!(
            variable(&known, "bias").unwrap_err(),
            "`bias` matches 2 variables of the cubin: a::bias, b::bias; hint: add namespaces, or use the mangled name"
        );
        assert!(variable(&[], "x").unwrap_err().contains("variables: none"));
        assert!(variables(b"no ELF").is_err());
    }
}
