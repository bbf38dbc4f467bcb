//! Variables of a module that are written before a launch, evaluated at a shape.

use super::arg::Arg;
use super::fault::Faults;
use super::launch::StepContext;
use super::program::SymbolFill;
use crate::config::SymbolTemplate;

impl StepContext<'_> {
    /// The values of the module's variables.
    pub(super) fn symbols(&self, symbols: &[SymbolTemplate], faults: &mut Faults) -> Option<Vec<SymbolFill>> {
        let fills: Vec<Option<SymbolFill>> = symbols.iter().map(|symbol| self.symbol(symbol, faults)).collect();
        fills.into_iter().collect()
    }

    fn symbol(&self, symbol: &SymbolTemplate, faults: &mut Faults) -> Option<SymbolFill> {
        let value = self.value(&format!("symbols.{}", symbol.name), &symbol.value, faults)?;
        let bytes = match &value {
            Arg::Buffer(name) => self.own_bytes(name)?,
            value => value.layout().0 as u64,
        };
        Some(SymbolFill { symbol: symbol.name.clone(), value, bytes })
    }
}
