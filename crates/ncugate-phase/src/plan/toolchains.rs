//! The candidates of each toolchain.

use super::fault::Faults;
use super::program::KernelCode;
use super::variants::{Method, Plan, Variant, VariantRole};
use crate::config::{Phase, TOOLCHAIN_PARAM};
use ncugate_model::VariantId;
use ncugate_model::expr::Value;

/// The plan with the compiled candidates of every toolchain after those of the first, whose ids stay.
pub fn with_toolchains(phase: &Phase, plan: Plan, faults: &mut Faults) -> Plan {
    let Some((first, others)) = phase.toolchains.split_first() else { return plan };
    if phase.search.is_some() && phase.sweep.points.is_none() {
        let help = "remove [search], or list its finalists as `points` of [sweep]";
        faults.add("toolchains", "cannot be compared in a search".to_owned(), help, "");
    }
    let (mut candidates, baselines): (Vec<Variant>, Vec<Variant>) =
        plan.variants.into_iter().partition(|variant| variant.standing == VariantRole::Candidate);
    let compiled: Vec<Variant> = candidates.iter().filter(|variant| variant.method.is_compiled()).cloned().collect();
    if compiled.is_empty() && faults.is_empty() {
        let help = "remove the table: Python functions, commands and given machine code are not compiled";
        faults.add("toolchains", "has no candidate to compile".to_owned(), help, "");
    }
    let param = |name: &str| (TOOLCHAIN_PARAM.to_owned(), Value::Text(name.to_owned()));
    candidates.iter_mut().filter(|v| v.method.is_compiled()).for_each(|v| v.params.push(param(&first.name)));
    for toolchain in others {
        candidates.extend(compiled.iter().cloned().map(|mut variant| {
            variant.id = VariantId(format!("{}{}", variant.id, suffix(&toolchain.name)).into());
            variant.params.push(param(&toolchain.name));
            variant
        }));
    }
    Plan { variants: candidates.into_iter().chain(baselines).collect() }
}

/// The end of the ids of a toolchain other than the first.
fn suffix(toolchain: &str) -> String {
    format!(",{TOOLCHAIN_PARAM}={toolchain}")
}

impl Variant {
    /// Its toolchain, if the phase compares several.
    pub fn toolchain(&self) -> Option<&str> {
        self.params.iter().find_map(|(name, value)| match value {
            Value::Text(text) if name == TOOLCHAIN_PARAM => Some(text.as_str()),
            _ => None,
        })
    }

    /// Its toolchain and the id of the same candidate by the first toolchain; none for that candidate itself.
    pub fn counterpart(&self, phase: &Phase) -> Option<(&str, VariantId)> {
        let toolchain =
            self.toolchain().filter(|name| phase.toolchains.iter().skip(1).any(|own| own.name == **name))?;
        Some((toolchain, self.first_id()))
    }

    /// The id of the same candidate by the first toolchain; its own id without toolchains.
    pub(super) fn first_id(&self) -> VariantId {
        let first = self.toolchain().and_then(|name| self.id.0.strip_suffix(&suffix(name)));
        first.map_or_else(|| self.id.clone(), |first| VariantId(first.into()))
    }
}

impl Method {
    /// Whether its machine code comes from a compiler that a phase can name.
    fn is_compiled(&self) -> bool {
        let is_given = matches!(self, Self::Kernel(kernel) if matches!(kernel.code, KernelCode::Cubin));
        self.is_built() && !is_given
    }
}
