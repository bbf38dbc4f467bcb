//! The fields of structs that kernels take by value: `.debug_info` of a cubin that was compiled with `-G`.

use super::{CubinError, Elf, damaged};
use gimli::constants as dw;
use gimli::{
    AttributeValue, DebuggingInformationEntry, Dwarf, EndianSlice, EntriesTreeNode, LittleEndian, Operation, SectionId,
    Unit, UnitOffset,
};
use object::{Object as _, ObjectSection as _};
use std::ops::Range;

type Bytes<'a> = EndianSlice<'a, LittleEndian>;

/// Maximum depth of types within types; deeper ones are not real code.
const DEEPEST: usize = 16;
/// Maximum number of fields of a parameter, which has at most 32,764 bytes.
const MOST_FIELDS: usize = 4096;
/// Bytes of a pointer.
const POINTER: u64 = 8;

/// A field of a parameter. Fields of a struct in it are listed instead of that struct; an array is one field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParameterField {
    /// Its name, with those of the structs around it: `box.low`.
    pub name: String,
    /// Its bytes in the parameter.
    pub place: Range<u64>,
}

/// The fields of a kernel's parameter, counted from 0. Empty if the cubin does not describe it, as without `-G`.
///
/// # Errors
/// Not a cubin, or damaged.
pub fn parameter_fields(cubin: &[u8], symbol: &str, parameter: usize) -> Result<Vec<ParameterField>, CubinError> {
    let elf = Elf::parse(cubin).map_err(damaged)?;
    let section = |id: SectionId| -> Result<Bytes<'_>, CubinError> {
        let found = elf.section_by_name(id.name()).map(|section| section.data().map_err(damaged)).transpose()?;
        Ok(EndianSlice::new(found.unwrap_or_default(), LittleEndian))
    };
    let dwarf = Dwarf::load(section)?;
    read(&dwarf, symbol, parameter).map_err(|error| CubinError::Damaged { reason: format!("`.debug_info`: {error}") })
}

fn read(dwarf: &Dwarf<Bytes<'_>>, symbol: &str, parameter: usize) -> gimli::Result<Vec<ParameterField>> {
    let mut units = dwarf.units();
    while let Some(header) = units.next()? {
        let types = UnitTypes { dwarf, unit: dwarf.unit(header)? };
        let mut tree = types.unit.entries_tree(None)?;
        let mut children = tree.root()?.children();
        while let Some(child) = children.next()? {
            if child.entry().tag() == dw::DW_TAG_subprogram && types.is_named(child.entry(), symbol)? {
                let Some(of) = nth_parameter(child, parameter)? else { return Ok(Vec::new()) };
                let mut fields = Vec::new();
                types.add_fields(of, (String::new(), 0), DEEPEST, &mut fields)?;
                fields.sort_by_key(|field| field.place.start);
                return Ok(fields);
            }
        }
    }
    Ok(Vec::new())
}

/// The type of a function's parameter.
fn nth_parameter(function: EntriesTreeNode<'_, '_, Bytes<'_>>, at: usize) -> gimli::Result<Option<UnitOffset>> {
    let (mut children, mut left) = (function.children(), at);
    while let Some(child) = children.next()? {
        if child.entry().tag() == dw::DW_TAG_formal_parameter {
            if left == 0 {
                return Ok(type_of(child.entry()));
            }
            left -= 1;
        }
    }
    Ok(None)
}

fn type_of(entry: &DebuggingInformationEntry<Bytes<'_>>) -> Option<UnitOffset> {
    match entry.attr_value(dw::DW_AT_type)? {
        AttributeValue::UnitRef(offset) => Some(offset),
        _ => None,
    }
}

fn number(entry: &DebuggingInformationEntry<Bytes<'_>>, of: dw::DwAt) -> Option<u64> {
    entry.attr_value(of)?.udata_value()
}

struct UnitTypes<'d, 'a> {
    dwarf: &'d Dwarf<Bytes<'a>>,
    unit: Unit<Bytes<'a>>,
}

impl UnitTypes<'_, '_> {
    fn text(&self, entry: &DebuggingInformationEntry<Bytes<'_>>, of: dw::DwAt) -> gimli::Result<Option<String>> {
        let Some(value) = entry.attr_value(of) else { return Ok(None) };
        Ok(Some(self.dwarf.attr_string(&self.unit, value)?.to_string_lossy().into_owned()))
    }

    fn is_named(&self, entry: &DebuggingInformationEntry<Bytes<'_>>, symbol: &str) -> gimli::Result<bool> {
        for of in [dw::DW_AT_linkage_name, dw::DW_AT_MIPS_linkage_name, dw::DW_AT_name] {
            if self.text(entry, of)?.as_deref() == Some(symbol) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The bytes of a type; none if they are unknown.
    fn bytes(&self, of: UnitOffset, depth: usize) -> gimli::Result<Option<u64>> {
        let entry = self.unit.entry(of)?;
        if let Some(bytes) = number(&entry, dw::DW_AT_byte_size) {
            return Ok(Some(bytes));
        }
        if entry.tag() == dw::DW_TAG_pointer_type {
            return Ok(Some(POINTER));
        }
        let (Some(inner), Some(depth)) = (type_of(&entry), depth.checked_sub(1)) else { return Ok(None) };
        let Some(bytes) = self.bytes(inner, depth)? else { return Ok(None) };
        if entry.tag() != dw::DW_TAG_array_type {
            return Ok(Some(bytes));
        }
        let (mut tree, mut total) = (self.unit.entries_tree(Some(of))?, Some(bytes));
        let mut axes = tree.root()?.children();
        while let Some(axis) = axes.next()? {
            if axis.entry().tag() == dw::DW_TAG_subrange_type {
                let last = number(axis.entry(), dw::DW_AT_upper_bound).and_then(|last| last.checked_add(1));
                let count = number(axis.entry(), dw::DW_AT_count).or(last);
                total = total.zip(count).and_then(|(total, count)| total.checked_mul(count));
            }
        }
        Ok(total)
    }

    /// Adds the fields of a type at a place of the parameter; the type itself, if it has none.
    fn add_fields(
        &self,
        of: UnitOffset,
        (name, start): (String, u64),
        depth: usize,
        fields: &mut Vec<ParameterField>,
    ) -> gimli::Result<()> {
        let entry = self.unit.entry(of)?;
        let Some(depth) = depth.checked_sub(1).filter(|_| fields.len() < MOST_FIELDS) else { return Ok(()) };
        let is_struct = matches!(entry.tag(), dw::DW_TAG_structure_type | dw::DW_TAG_class_type);
        if !is_struct {
            // A typedef, or a const type.
            let is_other_name = entry.tag() != dw::DW_TAG_array_type && entry.tag() != dw::DW_TAG_pointer_type;
            if let Some(inner) = type_of(&entry).filter(|_| is_other_name) {
                return self.add_fields(inner, (name, start), depth, fields);
            }
            if let Some(end) = self.bytes(of, depth)?.and_then(|bytes| start.checked_add(bytes)) {
                fields.push(ParameterField { name, place: start..end });
            }
            return Ok(());
        }
        let mut tree = self.unit.entries_tree(Some(of))?;
        let mut members = tree.root()?.children();
        while let Some(member) = members.next()? {
            let member = member.entry();
            if !matches!(member.tag(), dw::DW_TAG_member | dw::DW_TAG_inheritance) {
                continue;
            }
            // A static member has no place.
            let (Some(inner), Some(offset)) = (type_of(member), self.offset(member)?) else { continue };
            let own = self.text(member, dw::DW_AT_name)?.filter(|_| member.tag() == dw::DW_TAG_member);
            let path = [Some(name.clone()).filter(|name| !name.is_empty()), own];
            let path = path.into_iter().flatten().collect::<Vec<_>>().join(".");
            self.add_fields(inner, (path, start.saturating_add(offset)), depth, fields)?;
        }
        Ok(())
    }

    /// The place of a member: a number, or the expression of DWARF 2 that adds one.
    fn offset(&self, member: &DebuggingInformationEntry<Bytes<'_>>) -> gimli::Result<Option<u64>> {
        let Some(value) = member.attr_value(dw::DW_AT_data_member_location) else { return Ok(None) };
        if let Some(offset) = value.udata_value() {
            return Ok(Some(offset));
        }
        let Some(expression) = value.exprloc_value() else { return Ok(None) };
        Ok(match expression.operations(self.unit.encoding()).next()? {
            Some(Operation::PlusConstant { value }) => Some(value),
            _ => None,
        })
    }
}
